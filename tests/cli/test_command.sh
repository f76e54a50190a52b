#!/usr/bin/env bash
# The weir command: help, wrong usage, devices, and downloads from a server on loopback that misbehaves.
set -u
weir=${WEIR_BUILD_DIR:-build}/weir
folder=$(mktemp -d)
number=0
check() { # NAME STATUS-OF-THE-CHECK
    number=$((number + 1))
    if [ "$2" -eq 0 ]; then echo "ok $number - $1"; else echo "not ok $number - $1"; fi
}

out=$("$weir" --help); check "help lists the commands" "$([ $? -eq 0 ] && grep -q devices <<< "$out"; echo $?)"
"$weir" > /dev/null 2> "$folder/err"; check "no command is wrong usage" "$([ $? -eq 2 ]; echo $?)"
"$weir" devcies > /dev/null 2> "$folder/err"; status=$?
check "an unknown command names the nearest" "$([ $status -eq 2 ] && grep -q "did you mean 'devices'" "$folder/err"; echo $?)"
"$weir" devices --sim_gps=1 > /dev/null 2> "$folder/err"; status=$?
check "an unknown flag names the nearest" "$([ $status -eq 2 ] && grep -q "sim_gpus" "$folder/err"; echo $?)"
for command in version devices doctor data; do
    "$weir" $command --help > "$folder/out" 2>&1; check "$command --help" "$([ $? -eq 0 ] && [ -s "$folder/out" ]; echo $?)"
done
"$weir" version > "$folder/out"; check "version" "$(grep -qE '^weir [0-9]+\.[0-9]+\.[0-9]+' "$folder/out"; echo $?)"
"$weir" devices --cpu_devices=2 --sim_gpus=2 > "$folder/out"
check "devices lists CPUs and simulated GPUs" "$(grep -q 'device:CPU:1' "$folder/out" && grep -q 'device:GPU:1' "$folder/out"; echo $?)"
"$weir" devices > "$folder/out"; check "devices says why a driver has none" "$(grep -q 'driver sim (GPU): no device: ' "$folder/out"; echo $?)"
"$weir" doctor > "$folder/out"; check "doctor" "$(grep -q 'kernels for' "$folder/out" && grep -q zlib "$folder/out"; echo $?)"
"$weir" data mnits > /dev/null 2> "$folder/err"; check "an unknown data set is wrong usage" "$([ $? -eq 2 ]; echo $?)"

# ---- downloads: the server answers for files of the right sizes; only their digests can be wrong ----
python3 "$(dirname "$0")/mirror.py" "$folder/port" & server=$!
trap 'kill $server 2> /dev/null; rm -rf "$folder"' EXIT
for _ in $(seq 100); do [ -s "$folder/port" ] && break; sleep 0.05; done
url=http://127.0.0.1:$(cat "$folder/port")
get() { timeout 60 "$weir" data mnist --folder "$folder/data" --mirror "$1" > "$folder/out" 2> "$folder/err"; }

get "$url/wrong"; status=$?
check "a wrong digest is refused" "$([ $status -eq 1 ] && grep -q 'MD5' "$folder/err" && [ ! -e "$folder/data/t10k-labels-idx1-ubyte.gz" ]; echo $?)"
check "nothing wrong is left" "$(! ls "$folder/data" | grep -qv part; echo $?)"
get "http://127.0.0.1:1,$url/missing"; status=$?
check "all mirrors down: each one's answer" "$([ $status -eq 1 ] && grep -q '127.0.0.1:1' "$folder/err" && grep -q 404 "$folder/err"; echo $?)"
rm -rf "$folder/data"
get "$url/cut"; status=$?
part=$(stat -c %s "$folder/data/train-images-idx3-ubyte.gz.part" 2> /dev/null || echo 0)
check "a cut connection leaves what came" "$([ $status -eq 1 ] && [ "$part" -gt 0 ] && [ "$part" -lt 9912422 ]; echo $?)"
get "$url/wrong"
check "the rest is asked for, not the whole" "$(grep -q "range bytes=$part-" "$folder/port.log"; echo $?)"
get "$url/endless"; check "more bytes than the file has are refused" "$([ $? -eq 1 ]; echo $?)"
touch "$folder/blocked"
timeout 60 "$weir" data mnist --folder "$folder/blocked/x" --mirror "$url/wrong" > /dev/null 2> "$folder/err"
check "a folder that cannot be made is named" "$([ $? -eq 1 ] && grep -q "$folder/blocked" "$folder/err"; echo $?)"
WEIR_DATA_DIR=/usr/share/datasets/none XDG_CACHE_HOME=$folder/cache timeout 60 "$weir" data mnist --nodownload > "$folder/out" 2> "$folder/err"; status=$?
if [ -e ../shared/data/mnist/t10k-labels-idx1-ubyte.gz ] || [ -e /usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz ]; then
    check "what is on the machine is used" "$([ $status -eq 0 ] && [ -s "$folder/out" ]; echo $?)"
else
    check "nothing on the machine is a failure" "$([ $status -eq 1 ]; echo $?)"
fi
echo "1..$number"
