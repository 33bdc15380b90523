"""The bubble that ranks have beside its closed form.

    python3 test/bench/bubble.py [build/bin]

Compiles a training step for 4 stages and 8 microbatches under each schedule and
runs it with every action taking a set time (test/schedules), best of two.
Forward takes as long as the gradients of inputs and as those of weights.
"""

import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
if len(sys.argv) > 1:
    os.environ["TANDEM_BIN"] = sys.argv[1]
sys.path.insert(0, os.path.join(HERE, "..", "schedules"))
import steps  # noqa: E402

COORDINATES, MICROBATCHES = 4, 8
SECONDS = 0.25  # A coordinate's forward.
ROUNDS = 2


def measure(name, folder):
    """(bubble as executed, closed form)"""
    planned = steps.planned("--stages", str(COORDINATES), "--microbatches",
                            str(MICROBATCHES), "--schedule", name)
    stages = len(planned["stage_coordinates"]) // COORDINATES
    one = SECONDS / stages
    split = planned["split_backward"]
    plan = steps.compile_step(folder, COORDINATES, MICROBATCHES, "--schedule",
                              name)
    best = min(
        steps.run_step(plan, one, one if split else 2 * one, one)[0]
        for _ in range(ROUNDS)
    )
    busy = 3 * SECONDS * MICROBATCHES
    return 1 - busy / best, planned["closed_form"]["bubble"]


def main():
    print("schedule     executed  closed form  ratio")
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in steps.SCHEDULES:
            executed, form = measure(name, folder)
            worst = max(worst, abs(executed / form - 1))
            print(f"{name:11}  {100 * executed:6.2f} %  {100 * form:9.2f} %"
                  f"  {executed / form:5.3f}", flush=True)
    print(f"the largest difference is {100 * worst:.1f} %")
    return 0 if worst <= 0.05 else 1


if __name__ == "__main__":
    sys.exit(main())
