"""Seconds a step of GPT-2 with 124 M parameters, beside its matrix products.

    python3 test/bench/gpt2.py [build/bin] [--only one,dp,tp,large,pp]
        [--rounds 2] [--steps 5] [--profile]

Trains on random ids with AdamW in float32: batch 4 of 64 tokens on one rank of
2 threads, then on two ranks of one thread each by data (ZeRO 1) and by tensors;
and two stages with 8 microbatches of 8 x 256 tokens beside one rank of that
size. A step's ratio is to the time that its products take at the sgemm peak
that the same runs measure; that of two ranks is to the step of one, and that of
stages to it times what the schedule's closed form says, (m+p-1)/m. Layouts take
turns, and the best step and the best peak of all rounds count, for machines
that others use too. With --profile a trace says which kernels the time goes to.
"""

import argparse
import array
import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile

ASSETS = os.environ.get("TANDEM_ASSETS", os.path.join(
    os.path.dirname(__file__), "..", "..", "..", "shared", "assets"))
CONFIG = os.path.join(ASSETS, "configs", "gpt2-124m")
SMALL = ["--batch", "4", "--max-seq", "64"]
LARGE = ["--batch", "8", "--max-seq", "256"]
MICROBATCHES = 8
# Name, what it is measured against (times a factor), threads, flags.
LAYOUTS = {
    "one": (None, 1, 2, SMALL),
    "dp": ("one", 1, 1, SMALL + ["--mesh", "dp=2", "--zero", "1"]),
    "tp": ("one", 1, 1, SMALL + ["--mesh", "tp=2"]),
    "large": (None, 1, 2, LARGE),
    "pp": ("large", (MICROBATCHES + 1) / MICROBATCHES, 1,
           LARGE + ["--mesh", "pp=2", "--microbatches", str(MICROBATCHES)]),
}
TARGETS = {"one": 1.5, "dp": 1.2, "tp": 1.15, "pp": 1.15}
WARM = 1  # Steps that touch memory for the first time.



class Bench:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.data = self.path("ids.bin")
        draw = random.Random(1)
        ids = array.array("H", [draw.randrange(50257) for _ in range(100000)])
        with open(self.data, "wb") as file:
            file.write(ids.tobytes())
        self.seconds = {}  # The best step of each layout.
        self.flops = {}  # Of a step.
        self.peak = 0  # Flops a second.

    def path(self, name):
        return os.path.join(self.folder, name)

    def tandem(self, *arguments):
        return subprocess.run(
            [os.path.join(self.arguments.bin, "tandem"), "-q", *arguments],
            check=True, stdout=subprocess.PIPE).stdout

    def compile(self, name):
        report = json.loads(self.tandem(
            "compile", CONFIG, "-o", self.path(name + ".plan"), "--entry",
            "train", "--json", *LAYOUTS[name][3]))
        self.flops[name] = report["entries"][0]["flops_unsharded"]

    def run(self, name):
        _, _, threads, flags = LAYOUTS[name]
        log = self.path(name + ".jsonl")
        # The large ones take as much longer as they are larger.
        steps = self.arguments.steps if flags[:4] == SMALL else 1
        trace = ["--trace", self.path(name + ".trace")]
        self.tandem("train", self.path(name + ".plan"), "--init", "1",
                    "--data", self.data, "--steps", str(WARM + steps),
                    "--threads", str(threads), "--log", log,
                    *(trace if self.arguments.profile else []))
        with open(log) as file:
            lines = [json.loads(line) for line in file][WARM:]
        best = min(line["seconds"] for line in lines)
        print(f"{name}: {best:.3f} s", file=sys.stderr, flush=True)
        self.seconds[name] = min(best, self.seconds.get(name, best))
        for line in lines:  # The log's share is of this run's peak.
            self.peak = max(self.peak, self.flops[name] /
                            (line["seconds"] * line["mfu"]))

    def report(self, name):
        against, factor, _, _ = LAYOUTS[name]
        seconds, products = self.seconds[name], self.flops[name] / self.peak
        text = f"{name:6} {seconds:7.3f} s a step, {seconds / products:5.2f}"
        text += f" x its products ({products:.3f} s)"
        if against:
            ratio = seconds / self.seconds[against] / factor
            text += f", {ratio:5.3f} x {against}"
            text += f" x {factor:.3f}" if factor != 1 else ""
        if name in TARGETS:
            text += f"; at most {TARGETS[name]}"
        print(text, flush=True)
        if self.arguments.profile:
            self.profile(self.path(name + ".trace"))

    @staticmethod
    def profile(trace):
        """The time of rank 0 by kernel and collective, behind the first step."""
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        sums = collections.Counter()
        for event in events:
            if event.get("ph") == "X" and event.get("pid") == 0 and \
                    event["args"]["step"] >= WARM:
                sums[event["name"].split(" ")[0]] += event["dur"]
        total = sum(sums.values())
        for kernel, spent in sums.most_common(12):
            print(f"       {100 * spent / total:5.1f} %  {kernel}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", nargs="?", default="build/bin")
    parser.add_argument("--only", default="one,dp,tp,large,pp")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    # So that the program it waits for ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    asked = arguments.only.split(",")
    names = [name for name in LAYOUTS if name in asked or
             any(LAYOUTS[other][0] == name for other in asked)]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        for name in names:
            bench.compile(name)
        for _ in range(arguments.rounds):
            for name in names:
                bench.run(name)
        print(f"sgemm peak {bench.peak * 1e-9:.1f} GFLOP/s")
        for name in names:
            bench.report(name)


if __name__ == "__main__":
    main()
