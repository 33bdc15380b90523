"""Training steps of a tiny model, compiled for a pipeline and run by
schedule_run."""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("numerics", "input"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))
import programs  # noqa: E402
import tiny  # noqa: E402

SCHEDULES = ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-v")


def tandem(*arguments):
    code, out, err = programs.run(list(arguments))
    if code:
        raise RuntimeError(f"tandem {' '.join(arguments)}\n{err}")
    return out


def compile_step(folder, coordinates, microbatches, *schedule):
    """A plan of gradients of a llama with two layers for each coordinate."""
    model = os.path.join(folder, "model")
    os.makedirs(model, exist_ok=True)
    # So that of two stages a coordinate each has a layer, and a backward.
    config = {**tiny.CONFIG, "num_hidden_layers": 2 * coordinates}
    tiny.write_json(os.path.join(model, "config.json"), config)
    plan = os.path.join(folder, "step.plan")
    tandem("-q", "compile", model, "-o", plan, "--entry", "gradients",
           "--mesh", f"pp={coordinates}", "--max-seq", "4",
           "--batch", str(microbatches), "--microbatches", str(microbatches),
           *schedule)
    return plan


def run_step(plan, *seconds):
    """(makespan, for each coordinate what it ran as [(kind, stage, number)])"""
    done = subprocess.run(
        [os.path.join(programs.BIN, "schedule_run"), plan,
         *map(str, seconds)],
        capture_output=True, text=True, timeout=240,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    first, *lines = done.stdout.splitlines()
    orders = []
    for line in lines:
        words = line.split()[1:]
        orders.append([(word[0], int(word.split(".")[1]),
                        int(word[1:].split(".")[0])) for word in words])
    return float(first.split()[1]), orders


def planned(*arguments):
    """What `tandem schedule` says: its object."""
    return json.loads(tandem("schedule", *arguments, "--json"))


def orders_of(schedule):
    return [
        [(action["kind"][0].upper(), action["stage"], action["microbatch"])
         for action in coordinate["actions"]]
        for coordinate in schedule["coordinates"]
    ]
