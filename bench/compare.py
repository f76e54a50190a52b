#!/usr/bin/env python3
"""Measures Weir, its peers and what the machine can do at best, in turns and in one run.

  bench/compare.py [--only PATTERN] [--rounds N] [--seconds S] [--threads 1,2] [--peers tensorflow,torch]
                   [--clock wall|cpu] [--json FILE] [--check] [--list]

  --only PATTERN  only benches whose name holds PATTERN (a regular expression); first_step is one of them
  --rounds N      turns of each contestant (default 10): the least and the 10th percentile of them are shown
  --seconds S     of each turn (default 0.3)
  --threads LIST  thread counts, one after the other (default 1 and the number of cores)
  --clock cpu     compares processor seconds instead of time: for a machine where others are at work; one thread only
  --json FILE     writes all turns there
  --check         exit status 1 when a bar is missed

Contestants are build/bench/worker (Weir), bench/peer_*.py in two modes of TensorFlow and one of torch (which are left
out where they are not installed, and named), and build/bench/ceilings, from which each bench's floor is computed: the
time that the machine would need for nothing but its floating point operations, its bytes, or its calls.
"""
import argparse
import datetime
import json
import os
import re
import select
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("WEIR_BUILD_DIR", os.path.join(os.path.dirname(HERE), "build"))

# Memory stays with the process: a peer that gives it back measures the kernel's fresh pages.
KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "8589934592", "MALLOC_TRIM_THRESHOLD_": "8589934592",
               "MALLOC_TOP_PAD_": "268435456"}
PRESETS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TF_ENABLE_ONEDNN_OPTS")

MLP_FLOP, MLP_BYTES = 0.320e6, 318040
CNN_FLOP, CNN_TUTORIAL_FLOP = 3.02e9, 4.10e9
TEST_FLOP = CNN_TUTORIAL_FLOP - CNN_FLOP
# Of each bench: the ceiling that bounds it, and how much of it one iteration needs (flop, bytes, calls).
FLOORS = {
    "softmax_sgd_b100": ("fma", 3.14e6),
    # One digit: weights are read, read again for their update and written; Adam reads and writes two moments besides.
    "mlp_sgd_b1": ("read_512k", 3 * MLP_BYTES), "mlp_adam_b1": ("read_512k", 7 * MLP_BYTES),
    **{f"mlp_{name}_b{rows}": ("fma", MLP_FLOP * rows) for name in ("adam", "sgd") for rows in (100, 1024)},
    "cnn_adam_b1024": ("fma", CNN_FLOP),
    "cnn_tutorial_b1024": ("fma", CNN_TUTORIAL_FLOP),
    "cnn_5epochs": ("fma", 5 * (53 * CNN_TUTORIAL_FLOP + 10000 / 1024 * TEST_FLOP)),
    "deep_adam_b100": ("fma", 8.2e9),
    "lstm_sgd_b100": ("fma", 5.7e9),
    "chain1000": ("flat_plan", 1000), "chain10000": ("flat_plan", 10000),
    "noopchain10000": ("flat_plan", 10000), "independent1000": ("flat_plan", 1000),
    "ckpt_save_318k": ("file_write", MLP_BYTES), "ckpt_restore_318k": ("file_read", MLP_BYTES),
    "ckpt_save_100m": ("file_write", 1e8), "ckpt_restore_100m": ("file_read", 1e8),
}
ONCE = {"cnn_5epochs"}  # a turn is a whole training: few rounds, and at most threads only
ONCE_ROUNDS, FIRST_STEP_ROUNDS, PEER_FIRST_STEP_ROUNDS = 1, 20, 3

# What is to hold: bench, words, what is compared, at least, goal.
BARS = [
    ("noopchain10000", "a node over the flat plan", "floor", 2.0, 1.2),
    ("noopchain10000", "faster than TensorFlow", "tensorflow", 3.0, None),
    ("chain10000", "an add over the flat plan", "floor", 2.2, 1.5),
    ("chain10000", "faster than the best peer", "peer", 15.0, None),
    ("run_noop", "faster than TensorFlow", "tensorflow", 30.0, 100.0),
    ("run_feed_fetch", "faster than TensorFlow", "tensorflow", 30.0, 100.0),
    ("mlp_sgd_b1", "faster than the best peer", "peer", 3.0, None),
    ("mlp_sgd_b1", "over the floor", "floor", None, 1.2),
    ("mlp_adam_b1", "faster than the best peer", "peer", 3.0, None),
    ("mlp_adam_b1", "over the floor", "floor", None, 1.2),
    ("first_step", "ms from exec to the end of the first step", "ms", 30.0, 5.0),
    ("first_step", "MB resident in training, beyond the data", "mb", 40.0, 10.0),
]


class Missing(Exception):
    """A contestant that cannot be started."""


def processor_seconds(pid):
    """Of all threads of a process, ended ones too: the clock that clock_getcpuclockid() would name."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


class Contestant:
    """A process that speaks the worker's protocol."""

    def __init__(self, name, command, environment, deadline_s=180):
        self.name, self.command, self.environment = name, command, environment
        self.buffer = b""
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, env=environment)
        except OSError as error:
            raise Missing(str(error)) from error
        os.set_blocking(self.process.stderr.fileno(), False)
        try:
            self.benches = json.loads(self.line(deadline_s))["ready"]
        except (Missing, ValueError, KeyError) as error:
            why = self.last_words() or str(error)
            self.close()
            raise Missing(why) from error

    def last_words(self):
        text = (self.process.stderr.read() or b"").decode(errors="replace").strip()
        return text.splitlines()[-1] if text else ""

    def line(self, deadline_s):
        end = time.monotonic() + deadline_s
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Missing(f"no answer in {deadline_s:.0f} s")
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                raise Missing("has ended")
            self.buffer += piece
            self.process.stderr.read()  # nobody must wait for a full pipe
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def turn(self, bench, seconds):
        """{"us", "cpu_us", "n", ...} or {"error"}."""
        before = processor_seconds(self.process.pid)
        try:
            self.process.stdin.write(f"{bench} {seconds:.6f}\n".encode())
            self.process.stdin.flush()
            answer = json.loads(self.line(900 + 20 * seconds))
        except (OSError, ValueError, Missing) as error:
            return {"error": f"{error}"}
        if "us" in answer and "cpu_us" not in answer:
            answer["cpu_us"] = (processor_seconds(self.process.pid) - before) * 1e6 / answer["n"]
        return answer

    def close(self):
        """Lets it end by itself, so that it removes its files."""
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except OSError:
                pass


def commands(options):
    """{contestant: command without its thread count}."""
    python = options.python or sys.executable
    known = {"weir": [os.path.join(options.build, "bench", "worker")]}
    if "tensorflow" in options.peers:
        script = os.path.join(HERE, "peer_tensorflow.py")
        known["tensorflow"] = [python, script, "--mode", "resident"]
        known["tensorflow fed"] = [python, script, "--mode", "feed"]
    if "torch" in options.peers:
        known["torch"] = [python, os.path.join(HERE, "peer_torch.py")]
    return known


def environment(is_peer):
    values = {name: value for name, value in os.environ.items() if name not in PRESETS}
    return {**values, **KEPT_MEMORY} if is_peer else values


# ---- statistics ----

def least(values):
    return min(values) if values else None


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


class Results:
    """All turns: turns[(bench, threads)][contestant] is a list of answers."""

    def __init__(self, clock):
        self.turns, self.missing, self.errors, self.first_steps = {}, {}, {}, {}
        self.key = "cpu_us" if clock == "cpu" else "us"
        self.step_key = "cpu_ms" if clock == "cpu" else "ms"

    def add(self, bench, threads, name, answer):
        if "error" in answer:
            self.errors[f"{bench} {name}"] = answer["error"]
            return
        self.turns.setdefault((bench, threads), {}).setdefault(name, []).append(answer)

    def values(self, bench, threads, name, key=None):
        return [turn[key or self.key] for turn in self.turns.get((bench, threads), {}).get(name, [])]

    def floor(self, bench, threads):
        """Microseconds of one iteration at the ceiling that was measured in the same rounds."""
        turns = self.turns.get((bench, threads), {}).get("ceiling", [])
        if not turns:
            return None
        amount = FLOORS[bench][1]
        if turns[0]["unit"] == "ns":
            return amount * min(turn["value"] * turn[self.key] / turn["us"] for turn in turns) / 1e3
        return amount / max(turn["value"] * turn["us"] / turn[self.key] for turn in turns) / 1e3

    def thread_counts(self, bench):
        return sorted(threads for name, threads in self.turns if name == bench)

    def best(self, bench, names, threads=None):
        """(us, contestant, threads) of the fastest of these, with any number of threads unless told."""
        found = [(least(self.values(bench, count, name)), name, count)
                 for count in ([threads] if threads else self.thread_counts(bench)) for name in names
                 if self.values(bench, count, name)]
        return min(found) if found else None

    def peers(self, bench):
        return sorted({name for (other, _), turns in self.turns.items() if other == bench for name in turns}
                      - {"weir", "ceiling"})


# ---- running ----

def start(options, threads, results):
    contestants = {}
    for name, command in commands(options).items():
        try:
            contestants[name] = Contestant(name, [*command, "--threads", str(threads)], environment(name != "weir"))
        except Missing as why:
            if name == "weir":
                raise
            results.missing[name] = str(why)
    contestants["ceiling"] = Contestant(
        "ceiling", [os.path.join(options.build, "bench", "ceilings"), "--threads", str(threads)], environment(False))
    return contestants


def run_bench(bench, threads, contestants, options, results):
    """Rounds of turns of all who know the bench."""
    takers = [name for name, contestant in contestants.items() if name != "ceiling" and bench in contestant.benches]
    ceiling = FLOORS.get(bench, (None,))[0]
    is_once = bench in ONCE
    for name in [] if is_once else list(takers):
        answer = contestants[name].turn(bench, min(options.seconds, 0.1))  # builds it and warms it up
        if "error" in answer:
            results.add(bench, threads, name, answer)
            takers.remove(name)
    for _ in range(min(options.rounds, ONCE_ROUNDS) if is_once else options.rounds):
        for name in takers:
            results.add(bench, threads, name, contestants[name].turn(bench, options.seconds))
        if ceiling:
            seconds = min(options.seconds, 0.1)
            results.add(bench, threads, "ceiling", contestants["ceiling"].turn(ceiling, seconds))


def first_step(command, env):
    """From spawning to the end of the first step, and the memory afterwards; None where it fails."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as process:
        first = process.stdout.readline()
        taken, busy = time.perf_counter() - begin, processor_seconds(process.pid)
        rest = process.stdout.readline()
        process.stdout.read()
    try:
        json.loads(first)["first_step"]
        memory = json.loads(rest)
        return {"ms": taken * 1e3, "cpu_ms": busy * 1e3, "resident": memory["resident_bytes"],
                "data": memory["data_bytes"]}
    except (ValueError, KeyError):
        return None


def run_first_steps(options, results):
    known = {name: command for name, command in commands(options).items() if name != "tensorflow fed"}
    rounds = {name: FIRST_STEP_ROUNDS if name == "weir" else PEER_FIRST_STEP_ROUNDS for name in known}
    for turn in range(max(rounds.values())):
        for name, command in known.items():
            if turn >= min(rounds[name], 2 * options.rounds) or name in results.missing:
                continue
            answer = first_step([*command, "--threads", "1", "--first-step"], environment(name != "weir"))
            if answer is None:
                results.missing.setdefault(name, "its first step failed")
            else:
                results.first_steps.setdefault(name, []).append(answer)


# ---- telling ----

def time_text(us):
    if us is None:
        return "-"
    for limit, factor, unit in ((1, 1e3, "ns"), (1e3, 1, "us"), (1e6, 1e-3, "ms"), (float("inf"), 1e-6, "s")):
        if us < limit:
            return f"{us * factor:.3g} {unit}" if us * factor < 1000 else f"{us * factor:.0f} {unit}"
    return "-"


def ratio_text(a, b):
    return f"{a / b:.3g}" if a and b else "-"


def print_table(results):
    columns = ("bench", "threads", "weir", "p10", "cpu", "best peer", "which", "peer cpu", "ours/peer", "floor",
               "ours/floor")
    rows = [columns]
    for bench, threads in sorted(results.turns, key=lambda key: (list(results.turns).index((key[0], min(
            results.thread_counts(key[0])))), key[1])):
        ours = results.values(bench, threads, "weir")
        peer = results.best(bench, results.peers(bench), threads)
        floor = results.floor(bench, threads)
        rows.append((bench, str(threads), time_text(least(ours)), time_text(percentile(ours, 0.1)),
                     time_text(least(results.values(bench, threads, "weir", "cpu_us"))),
                     time_text(peer and peer[0]), peer[1] if peer else "-",
                     time_text(least(results.values(bench, threads, peer[1], "cpu_us")) if peer else None),
                     ratio_text(least(ours), peer and peer[0]), time_text(floor), ratio_text(least(ours), floor)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    for row in rows:
        print("  ".join(cell.ljust(width) if i in (0, 6) else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    for name, steps in results.first_steps.items():
        print(f"first step of {name}: {min(step[results.step_key] for step in steps):.1f} ms from exec; resident "
              f"{min(step['resident'] for step in steps) / 1e6:.1f} MB, {steps[0]['data'] / 1e6:.1f} of them data")
    for bench, threads in results.turns:
        for name, turns in results.turns[(bench, threads)].items():
            if "accuracy" in turns[-1]:
                print(f"accuracy of {bench} by {name}, {threads} threads: {turns[-1]['accuracy']:.4f}")


def measured(results, bench, against):
    """The number that a bar is about, or None where it was not measured."""
    if against in ("ms", "mb"):
        steps = results.first_steps.get("weir")
        if not steps:
            return None
        if against == "ms":
            return min(step[results.step_key] for step in steps)
        return min(step["resident"] - step["data"] for step in steps) / 1e6
    counts = results.thread_counts(bench)
    if not counts:
        return None
    ours = least(results.values(bench, counts[0], "weir"))
    if against == "floor":
        floor = results.floor(bench, counts[0])
        return ours / floor if ours and floor else None
    peers = [name for name in results.peers(bench) if against == "peer" or name.startswith(against)]
    peer = results.best(bench, peers)
    return peer[0] / ours if ours and peer else None


def judge(results):
    """What became of each bar; "holds" and "reaches_goal" are None where there is no bar or it was not measured."""
    verdicts = []
    for bench, words, against, at_least, goal in BARS:
        value = measured(results, bench, against)
        larger_is_better = against in ("peer", "tensorflow")

        def passes(bar, value=value, larger_is_better=larger_is_better):
            if bar is None or value is None:
                return None
            return value >= bar if larger_is_better else value <= bar

        verdicts.append({"bench": bench, "words": words, "value": value, "larger_is_better": larger_is_better,
                         "bar": at_least, "goal": goal, "holds": passes(at_least), "reaches_goal": passes(goal)})
    return verdicts


def print_verdicts(verdicts):
    print("\nbars (of what was measured in this run):")
    for verdict in verdicts:
        if verdict["value"] is None:
            word, value = "not measured", "-"
        else:
            word = {True: "holds", False: "MISSED", None: "goal only"}[verdict["holds"]]
            word += {True: ", goal reached", False: ", goal not reached", None: ""}[verdict["reaches_goal"]]
            value = f"{verdict['value']:.3g}"
        limit = "at least" if verdict["larger_is_better"] else "at most"
        wanted = [f"{limit} {verdict['bar']:g}" if verdict["bar"] else "",
                  f"goal {verdict['goal']:g}" if verdict["goal"] else ""]
        print(f"  {verdict['bench']:<16} {value:>8} {verdict['words']:<42} ({', '.join(filter(None, wanted))}): {word}")


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
    return found[1] if found else "unknown"


def write_json(path, options, results, verdicts):
    document = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "processor": processor(), "cores": len(os.sched_getaffinity(0)), "load": os.getloadavg(),
        "clock": options.clock, "rounds": options.rounds, "seconds": options.seconds,
        "benches": [{"bench": bench, "threads": threads, "floor_us": results.floor(bench, threads), "turns": turns}
                    for (bench, threads), turns in results.turns.items()],
        "first_step": results.first_steps, "missing": results.missing, "errors": results.errors, "bars": verdicts,
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def parse():
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", type=re.compile)
    parser.add_argument("--rounds", default=10, type=int)
    parser.add_argument("--seconds", default=0.3, type=float)
    parser.add_argument("--threads", default="1" if cores == 1 else f"1,{cores}")
    parser.add_argument("--peers", default="tensorflow,torch")
    parser.add_argument("--python", help="the Python that has the peers (default: the one that runs this)")
    parser.add_argument("--build", default=BUILD)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true", help="only name the benches")
    options = parser.parse_args()
    options.threads = [int(word) for word in options.threads.split(",")]
    options.peers = [word for word in options.peers.split(",") if word]
    if options.clock == "cpu" and options.threads != [1]:
        options.threads = [1]
    return options


def run(options, results):
    for threads in options.threads:
        contestants = start(options, threads, results)
        try:
            benches = [bench for bench in contestants["weir"].benches if options.only.search(bench)]
            for bench in benches:
                if options.list:
                    print(bench)
                elif bench not in ONCE or threads == max(options.threads):
                    print(f"{bench}, {threads} thread{'s' if threads > 1 else ''} ...", file=sys.stderr, flush=True)
                    run_bench(bench, threads, contestants, options, results)
        finally:
            for contestant in contestants.values():
                contestant.close()
        if options.list:
            print("first_step")
            return
    if options.only.search("first_step"):
        print("first_step ...", file=sys.stderr, flush=True)
        run_first_steps(options, results)


def main():
    options = parse()
    results = Results(options.clock)
    try:
        run(options, results)
    except Missing as why:
        print(f"compare: {why} (is it built? `make`)", file=sys.stderr)
        return 2
    if options.list:
        return 0
    print_table(results)
    for name, why in results.missing.items():
        print(f"missing: {name}: {why}")
    for name, why in results.errors.items():
        print(f"failed: {name}: {why}")
    verdicts = judge(results)
    print_verdicts(verdicts)
    load = os.getloadavg()[0]
    if load > len(os.sched_getaffinity(0)) + 1:
        print(f"others are at work here (load {load:.1f}): do not rely on these numbers; --clock cpu may help")
    if options.json:
        write_json(options.json, options, results, verdicts)
    return 1 if options.check and any(verdict["holds"] is False for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
