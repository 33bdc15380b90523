"""How compiling the largest configuration grows with its layers.

    python3 test/bench/compile.py [build/bin]

Compiles and proves llama-3-405b, --entry logits on tp=8,pp=16, with its 126
layers and with twice as many, in turn, and prints the best processor time of
each, their ratio, wall time, peak memory and the plan's size.
"""

import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ASSETS = os.environ.get(
    "TANDEM_ASSETS", os.path.join(HERE, "../../../shared/assets")
)
LAYERS = (126, 252)
ROUNDS = 5


def compile_once(tandem, layers, plan):
    """(processor seconds, wall seconds, peak KiB, bytes of the plan)."""
    arguments = [
        tandem, "compile", os.path.join(ASSETS, "configs/llama-3-405b"),
        "--entry", "logits", "--mesh", "tp=8,pp=16",
        "--set", f"num_hidden_layers={layers}", "-o", plan,
    ]
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(tandem, arguments)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"failed: {' '.join(arguments)}")
    wall = time.monotonic() - start
    return (usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss,
            os.path.getsize(plan))


def main(folder):
    tandem = os.path.join(folder, "tandem")
    best = {}
    with tempfile.TemporaryDirectory() as scratch:
        plan = os.path.join(scratch, "plan")
        for _ in range(ROUNDS):
            for layers in LAYERS:
                run = compile_once(tandem, layers, plan)
                best[layers] = min(best.get(layers, run), run)
    print("layers  processor s  wall s  peak MiB  plan KiB")
    for layers, (processor, wall, peak, size) in best.items():
        print(f"{layers:6}  {processor:11.2f}  {wall:6.2f}  {peak >> 10:8}"
              f"  {size >> 10:8}")
    few, many = (best[layers][0] for layers in LAYERS)
    print(f"twice the layers take {many / few:.2f} x the time")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "build/bin")
