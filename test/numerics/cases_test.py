"""The shared cases: runs each one's commands and checks what is right.

A case is a folder with `expected.json`: `commands` with $C for the folder and
$T for a scratch folder, and `right`. What is checked follows from the fields
that `right` has, so that a new case needs no code where its fields are known.

cases_test.py CASE...  names folders by their numbers or whole.
"""

import glob
import json
import os
import shlex
import sys
import unittest

import programs
import tensors

CASES = ["05", "06", "17", "19", "26", "30", "35"]


class CaseTest(programs.ProgramTest):
    def __init__(self, folder):
        super().__init__("runCommands")
        self.folder = folder

    def id(self):
        return os.path.basename(self.folder)

    __str__ = id

    def setUp(self):
        super().setUp()
        with open(self.folder + "/expected.json") as file:
            self.case = json.load(file)
        self.right = self.case["right"]

    def runCommands(self):
        for command in self.case["commands"]:
            command = command.replace("$C", self.folder)
            command = command.replace("$T", self.scratch)
            program, *words = shlex.split(command)
            self.assertEqual(program, "tandem")
            with self.subTest(command=command):
                self.check(words, *programs.run(words))

    def check(self, words, code, out, err):
        if "wrong-type" in command(words):
            return self.checkRefusal(self.right["wrong_type"], code, err)
        self.assertEqual(code, 0, err)
        if words[0] == "run":
            self.checkOutputs(words[words.index("--outputs") + 1])
        elif words[0] == "generate":
            got = json.loads(out)
            self.assertEqual(got["ids"], self.right["greedy"])
            self.assertEqual(got["prompt_ids"], self.right["prompt_ids"])
        elif words[0] == "inspect":
            self.checkCollectives(json.loads(out))
        elif words[0] == "tokenize":
            self.checkTokens(words, out)

    def checkRefusal(self, right, code, err):
        self.assertEqual(code, right["exit"], err)
        for text in right["stderr_contains"]:
            self.assertIn(text, err)

    def checkClose(self, got, expected, tolerance):
        """Relative, in the norm of the whole tensor."""
        apart = sum((a - b) ** 2 for a, b in zip(got, expected))
        size = sum(b ** 2 for b in expected)
        self.assertLessEqual(apart, tolerance ** 2 * size)

    def checkOutputs(self, path):
        got = tensors.read(path)
        expected = tensors.read(self.folder + "/expected.safetensors")
        expected.pop("input_ids", None)
        expected.pop("labels", None)
        self.assertEqual(len(got), len(expected))
        for (_, a), (_, b) in zip(sorted(got.items()),
                                  sorted(expected.items())):
            self.assertEqual(a.shape, b.shape)
            tolerance = 1e-4 if "logits" in self.right else 1e-6
            if "gradients" in self.right:
                self.checkClose(a.values, b.values, 2e-5)
                continue
            self.assertLessEqual(tensors.distance(a.values, b.values),
                                 tolerance)
        if "last_argmax" in self.right:
            logits = got["logits"]
            row = list(logits.row(0, logits.shape[1] - 1))
            self.assertEqual(row.index(max(row)), self.right["last_argmax"])

    def checkCollectives(self, plan):
        """Bytes on the wire and which collectives, beyond the output's."""
        entries = [e for e in plan["entries"] if e["name"] in self.right]
        for entry in entries:
            self.checkEntry(entry, self.right[entry["name"]])
        if entries:
            return
        rows = [row for entry in plan["entries"]
                for row in entry["collectives"] if row["cause"] != "output"]
        wire = sum(row["count"] * row["wire_bytes"] for row in rows)
        self.assertLessEqual(wire, self.right["wire_bytes_per_device_at_most"])
        self.assertGreaterEqual(wire, self.right["least_possible"])
        self.assertNotIn("all_gather", [row["op"] for row in rows])
        for row in rows:
            self.assertTrue(row["location"], "a collective without a place")

    def checkEntry(self, entry, right):
        """Which collectives of what, by name, and the exact bytes."""
        ops = [row["op"] for row in entry["collectives"]]
        wire = sum(row["count"] * row["wire_bytes"]
                   for row in entry["collectives"])
        self.assertEqual(wire, right["wire_bytes_per_device"])
        expected = ["all_gather"] * ("all_gather_of" in right)
        expected += ["reduce_scatter"] * right.get("reduce_scatter", 0)
        self.assertEqual(ops, expected)

    def checkTokens(self, words, out):
        if "--ids" in words:
            ids = [int(i) for i in words[words.index("--ids") + 1].split(",")]
            [right] = [r["decoded"] for r in self.right["encode"]
                       if r["ids"] == ids]
            self.assertEqual(out.rstrip("\n"), right.rstrip("\n"))
            return
        with open(words[words.index("--file") + 1]) as file:
            text = file.read()
        [right] = [r["ids"] for r in self.right["encode"]
                   if r["text"] == text]
        self.assertEqual(json.loads(out), right)


def command(words):
    return " ".join(words)


if __name__ == "__main__":
    names = sys.argv[1:] or CASES
    root = programs.asset("cases")
    suite = unittest.TestSuite()
    for name in names:
        for folder in sorted(glob.glob(os.path.join(root, name + "*"))):
            suite.addTest(CaseTest(folder))
    good = unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful()
    sys.exit(0 if good else 1)
