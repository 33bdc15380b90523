"""Mistakes in schedules: command lines and tables of actions."""

import json

import mistakes

GOOD = "0: F0 F1 B0 B1\n1: F0 B0 F1 B1\n"


class ScheduleFlagsTest(mistakes.MistakeTest):
    def spoil(self, flags, *parts, code=2):
        self.refuse(["schedule", *flags], *parts, code=code)

    def testNothing(self):
        self.spoil([], "expected --stages and --microbatches, or "
                   "--schedule-file")

    def testUnknownSchedule(self):
        self.spoil(["--stages", "2", "--microbatches", "2", "--schedule",
                    "gpip"], "unknown schedule 'gpip'", "known are: gpipe",
                   "did you mean 'gpipe'?", code=1)

    def testNumbers(self):
        for flag, value in (("--stages", "0"), ("--microbatches", "x"),
                            ("--virtual-stages", "-1"), ("--forward", "nan"),
                            ("--slots", "0")):
            self.spoil([flag, value], f"{flag}: expected a number",
                       f"got '{value}'")

    def testTooMany(self):
        self.spoil(["--stages", "1024", "--microbatches", "65536"],
                   "more than 262144 forward actions", "fewer --stages")

    def testVirtualStages(self):
        self.spoil(["--stages", "2", "--microbatches", "2", "--schedule",
                    "zb-v", "--virtual-stages", "3"],
                   "zb-v has 2 virtual stages a coordinate, got 3", code=1)

    def testWeightIsPartOfBackward(self):
        self.spoil(["--stages", "2", "--microbatches", "2", "--weight", "3"],
                   "--weight 3 is part of --backward 2")

    def testSlots(self):
        self.spoil(["--stages", "4", "--microbatches", "8", "--slots", "3"],
                   "coordinate 0: 4 slots, the limit is 3", code=1)

    def testPictureThatCannotBeWritten(self):
        self.spoil(["--stages", "2", "--microbatches", "2", "--svg",
                    self.path("no/such.svg")], "cannot write", "no/such.svg",
                   code=1)


class ScheduleFileTest(mistakes.MistakeTest):
    def spoil(self, text, *parts, flags=(), code=1):
        path = self.write("table", text)
        self.refuse(["schedule", "--schedule-file", path, *flags], *parts,
                    code=code)

    def testGood(self):
        path = self.write("table", GOOD)
        out = self.tandem("schedule", "--schedule-file", path, "--table")
        self.assertEqual("".join(out.splitlines(True)[1:]), GOOD)
        out = self.tandem("schedule", "--schedule-file", path, "--json")
        self.assertEqual(json.loads(out)["makespan"], 9)

    def testWord(self):
        self.spoil(GOOD.replace("F1 B0", "F1 b0"), "table:1: expected an "
                   "action such as F0, B2 or W1.3", "got 'b0'")

    def testMissing(self):
        self.spoil(GOOD[:-4] + "\n", "table:2: B1 is missing")

    def testDeadlock(self):
        self.spoil("0: F0 B0 F1 B1\n1: F0 F1 B0 B1\n", "table:1: deadlock: B0 "
                   "of coordinate 0 waits for B0 of coordinate 1")

    def testTwice(self):
        self.spoil(GOOD + "  F0\n", "table:3: F0 is there twice")

    def testOtherSizes(self):
        self.spoil(GOOD, "table has 2 coordinates, --stages says 3",
                   flags=["--stages", "3"], code=2)
        self.spoil(GOOD, "table has 2 microbatches, --microbatches says 4",
                   flags=["--microbatches", "4"], code=2)

    def testWithAName(self):
        self.spoil(GOOD, "--schedule excludes --schedule-file",
                   flags=["--schedule", "1f1b"], code=2)

    def testBinary(self):
        self.spoil(b"\0\xff\x1b[2J", "table:1: expected coordinate '0:'",
                   "\\x1b")

    def testEmpty(self):
        self.spoil("", "table:1: no coordinate", "'0: F0 B0'")

    def testNoSuchFile(self):
        self.refuse(["schedule", "--schedule-file", self.path("none")],
                    "cannot open", "none")


if __name__ == "__main__":
    mistakes.main()
