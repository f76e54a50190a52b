"""A mirror on loopback for test_command.sh: /wrong sends zeros of the right size (ranges too), /cut breaks off in the
middle, /endless never ends, anything else is 404. Writes its port to the file named, and requests to "<file>.log"."""
import http.server
import sys

SIZES = {"train-images-idx3-ubyte.gz": 9912422, "train-labels-idx1-ubyte.gz": 28881,
         "t10k-images-idx3-ubyte.gz": 1648877, "t10k-labels-idx1-ubyte.gz": 4542}


class Mirror(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        _, mode, name = (self.path.split("/") + ["", ""])[:3]
        asked = self.headers.get("Range")
        with open(sys.argv[1] + ".log", "a") as log:
            log.write(f"{self.path} range {asked}\n")
        size = SIZES.get(name)
        if size is None or mode not in ("wrong", "cut", "endless"):
            self.send_error(404)
            return
        start = int(asked.split("=")[1].split("-")[0]) if asked else 0
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        if mode != "endless":
            self.send_header("Content-Length", str(size - start))
        self.end_headers()
        length = {"wrong": size - start, "cut": (size - start) // 2, "endless": size * 2}[mode]
        try:
            self.wfile.write(bytes(length))
        except OSError:
            pass
        self.close_connection = True

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
with open(sys.argv[1] + ".new", "w") as port:
    port.write(str(server.server_address[1]))
import os

os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
