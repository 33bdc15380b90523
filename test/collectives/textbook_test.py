"""Compiled forwards hold exactly the textbook's collectives.

The textbook's count and bytes come from the shared table, which also has what
another compiler emits for the same shardings.
"""

import csv
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "numerics"))
import programs  # noqa: E402

# More than one table of several names would be `ar:9 ag:1`.
SHORT_NAMES = {"ar": "all_reduce", "ag": "all_gather",
               "rs": "reduce_scatter", "a2a": "all_to_all"}


def textbook(model, strategy):
    """({op: count}, wire bytes per device) of a row of the table."""
    with open(programs.asset("collectives", "xla-small.csv")) as file:
        for row in csv.DictReader(file):
            if (row["model"], row["mode"], row["strategy"]) == (
                    model, "infer", strategy):
                counts = [c.split(":") for c in row["textbook"].split()]
                return ({SHORT_NAMES[op]: int(n) for op, n in counts},
                        int(row["textbook_bytes"]))
    raise KeyError(strategy)


class TextbookTest(programs.ProgramTest):
    def inspect(self, model, mesh, *arguments):
        self.compile(programs.asset("configs", "xla-small-" + model),
                     self.path("plan"), "--entry", "next", "--batch", "8",
                     "--max-seq", "128", "--mesh", mesh, *arguments)
        plan = json.loads(self.tandem("inspect", self.path("plan"), "--json"))
        [entry] = plan["entries"]
        return entry

    def check(self, model, mesh, strategy, *arguments):
        entry = self.inspect(model, mesh, *arguments)
        rows = [r for r in entry["collectives"] if r["cause"] != "output"]
        counts, wire = {}, 0
        for row in rows:
            counts[row["op"]] = counts.get(row["op"], 0) + row["count"]
            wire += row["count"] * row["wire_bytes"]
            self.assertTrue(row["cause"])
            self.assertTrue(row["location"])
        expectedCounts, expectedWire = textbook(model, strategy)
        self.assertEqual(counts, expectedCounts, rows)
        self.assertEqual(wire, expectedWire, rows)
        # Nothing is computed twice.
        self.assertEqual(entry["flops"], entry["flops_unsharded"])

    def test_gpt2(self):
        self.check("gpt2", "tp=8", "tp8")

    def test_llama(self):
        self.check("llama", "tp=8", "tp8", "--set", "num_key_value_heads=8")


if __name__ == "__main__":
    programs.asset("collectives", "xla-small.csv")
    programs.main()
