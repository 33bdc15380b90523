"""Compiled forwards move no more bytes than the textbook's, or another's.

Counts and bytes of the textbook come from the shared table, which also has
what another compiler emits for the same shardings. Annotations of parameters
and tokens, and for tp8sp of the residual stream, stand beside this file.
`docs/strategies.md` shows the same table; it is held to what is measured here.
With `--print` it is printed.
"""

import csv
import json
import os
import re
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "numerics"))
import programs  # noqa: E402
from strategies import STRATEGIES, annotations  # noqa: E402

PAGE = os.path.join(FOLDER, "..", "..", "docs", "strategies.md")
# More than one table of several names would be `ar:9 ag:1`.
SHORT_NAMES = {"ar": "all_reduce", "ag": "all_gather",
               "rs": "reduce_scatter", "a2a": "all_to_all"}


def row_of(model, strategy):
    """A forward's row of the shared table."""
    with open(programs.asset("collectives", "xla-small.csv")) as file:
        for row in csv.DictReader(file):
            if (row["model"], row["mode"], row["strategy"]) == (
                    model, "infer", strategy):
                return row
    raise KeyError(strategy)


def compiled(test, model, mesh, *arguments):
    """The one entry of the compiled forward, as `inspect --json` has it."""
    # As many KV heads as tp where tp is 8.
    if model == "llama" and "tp=8" in mesh:
        arguments += ("--set", "num_key_value_heads=8")
    test.compile(programs.asset("configs", "xla-small-" + model),
                 test.path("plan"), "--entry", "next", "--batch", "8",
                 "--max-seq", "128", "--mesh", mesh, *arguments)
    plan = json.loads(test.tandem("inspect", test.path("plan"), "--json"))
    [entry] = plan["entries"]
    return entry


def moved(entry):
    """({op: count}, wire bytes per device); results stay where they are."""
    counts, wire = {}, 0
    for row in entry["collectives"]:
        if row["cause"] == "output":
            continue
        counts[row["op"]] = counts.get(row["op"], 0) + row["count"]
        wire += row["count"] * row["wire_bytes"]
    return counts, wire


def line(test, model, strategy):
    """A row of the page's table, and whether the bounds hold."""
    row = row_of(model, strategy)
    mesh, path = annotations(model, strategy)
    entry = compiled(test, model, mesh, "--annotate", path)
    wire = moved(entry)[1]
    compute = entry["flops"] / entry["flops_unsharded"]
    text = "| %s | %s | %s | %s | %s | %.3f | %.3f |" % (
        model, strategy, format(wire, ","),
        format(int(row["textbook_bytes"]), ","),
        format(int(row["xla_bytes"]), ","), compute, float(row["xla_compute"]))
    best = min(int(row["textbook_bytes"]), int(row["xla_bytes"]))
    work = 1.08 if strategy == "tp2d" else 1.05
    return text, wire <= 1.02 * best, compute <= work


class TextbookTest(programs.ProgramTest):
    """What the mesh's presets write gives exactly the textbook's."""

    def check(self, model):
        entry = compiled(self, model, "tp=8")
        for row in entry["collectives"]:
            self.assertTrue(row["cause"])
            self.assertTrue(row["location"])
        row = row_of(model, "tp8")
        counts = [c.split(":") for c in row["textbook"].split()]
        expected = {SHORT_NAMES[op]: int(n) for op, n in counts}
        self.assertEqual(moved(entry), (expected, int(row["textbook_bytes"])))
        # Nothing is computed twice.
        self.assertEqual(entry["flops"], entry["flops_unsharded"])

    def test_gpt2(self):
        self.check("gpt2")

    def test_llama(self):
        self.check("llama")


class StrategiesTest(programs.ProgramTest):
    """What annotations of parameters and tokens alone give."""

    def check(self, model):
        with open(PAGE) as file:
            page = file.read()
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                text, bytesHold, workHolds = line(self, model, strategy)
                self.assertTrue(bytesHold, text)
                self.assertTrue(workHolds, text)
                self.assertIn(text, page)

    def test_gpt2(self):
        self.check("gpt2")

    def test_llama(self):
        self.check("llama")

    def printed(self):
        for model in ["gpt2", "llama"]:
            for strategy in STRATEGIES:
                print(line(self, model, strategy)[0])


if __name__ == "__main__":
    programs.asset("collectives", "xla-small.csv")
    if "--print" in sys.argv:
        test = StrategiesTest("printed")
        test.setUp()
        test.printed()
        test.doCleanups()
    else:
        programs.main()
