"""Folders that `tandem checkpoint` cannot read."""

import os

import mistakes


class FolderTest(mistakes.MistakeTest):
    """What every part of the command says of a wrong folder."""

    def spoil(self, folder, *parts):
        for arguments in (["list", folder], ["verify", folder],
                          ["list", folder, "--json"],
                          ["export", folder, "-o", self.path("exported")]):
            self.refuse(["checkpoint", *arguments], *parts)

    def testNone(self):
        self.spoil(self.path("none"), "none' is no folder of checkpoints")

    def testFile(self):
        self.spoil(self.write("file", "x"), "file' is no folder")

    def testNoCheckpoint(self):
        self.spoil(self.model, "holds no checkpoint: neither manifest.json "
                               "nor folders of the name step-N")


class ManifestTest(mistakes.MistakeTest):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("step-3"))

    def spoil(self, text, *parts):
        self.write("step-3/manifest.json", text)
        self.refuse(["checkpoint", "export", self.path("step-3"), "-o",
                     self.path("exported")], "step-3/manifest.json", *parts)

    def testCut(self):
        self.spoil('{"format": "tandem-checkp',
                   "it does not end with its checksum", "cut short or changed")

    def testEmpty(self):
        self.spoil("", "it does not end with its checksum")

    def testChanged(self):
        self.spoil('{"step": 3,\n "checksum": "0123456789abcdef"\n}\n',
                   "its checksum is", "but it ends with 0123456789abcdef",
                   "changed after it was written")

    def testUnfinished(self):
        self.refuse(["checkpoint", "export", self.scratch, "-o",
                     self.path("exported")], "manifest.json")


class FlagsTest(mistakes.MistakeTest):
    def testNoPart(self):
        self.refuse(["checkpoint"], "expected one of: list, verify, export",
                    code=2)

    def testUnknownPart(self):
        self.refuse(["checkpoint", "exprt", "out"], "unknown command 'exprt'",
                    "did you mean 'export'?", code=2)

    def testNoOutput(self):
        self.refuse(["checkpoint", "export", "out"], "--output is required",
                    "`tandem checkpoint export --help`", code=2)


if __name__ == "__main__":
    mistakes.main()
