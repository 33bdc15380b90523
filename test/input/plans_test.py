"""Plans that are damaged, and what does not belong to a plan."""

import os
import struct

import mistakes
import tensors
import tiny


class DamageTest(mistakes.MistakeTest):
    """Every command that reads plans refuses a damaged one."""

    def spoil(self, content, *parts):
        plan = self.write("bad.plan", content)
        for command in (["inspect", plan], ["verify", plan],
                        ["generate", plan, "--prompt", "a"],
                        ["run", plan, "--inputs", "in", "--outputs",
                         self.path("out")]):
            self.refuse(command, "bad.plan", *parts)

    def testCut(self):
        good = tiny.read_bytes(self.makePlan())
        self.spoil(good[:-4096], "the plan is cut", f"has {len(good) - 4096} "
                   f"bytes, its head says {len(good)}", "compile")

    def testFlippedBytes(self):
        good = tiny.read_bytes(self.makePlan())
        for at in range(20, len(good) - 4096, 7000):
            bad = bytearray(good)
            bad[at] ^= 4
            self.spoil(bytes(bad), "the plan is damaged", "compile the model")

    def testOtherVersion(self):
        bad = bytearray(tiny.read_bytes(self.makePlan()))
        # The root table, its table of fields, the first field.
        root = 4 + struct.unpack_from("<I", bad, 4)[0]
        fields = root - struct.unpack_from("<i", bad, root)[0]
        schema = root + struct.unpack_from("<H", bad, fields + 4)[0]
        self.assertEqual(struct.unpack_from("<I", bad, schema)[0], 2)
        struct.pack_into("<I", bad, schema, 7)
        bad[-8:] = bytes(8)  # No hash.
        self.spoil(bytes(bad), "schema version 7, this runtime reads 2",
                   "compile the model again")

    def testEmpty(self):
        self.spoil(b"", "plan")

    def testFolder(self):
        for command in ("inspect", "verify"):
            self.refuse([command, self.model], "cannot read", "model",
                        "it is a folder; expected a plan")

    def testMissing(self):
        for command in ("inspect", "verify"):
            self.refuse([command, self.path("no.plan")], "no.plan",
                        "No such file")


class WeightsTest(mistakes.MistakeTest):
    """The plan is good; what it was made of is not there any more."""

    def generate(self, plan, *parts, flags=()):
        self.refuse(["generate", plan, "--prompt", "a", *flags], *parts)

    def testChanged(self):
        plan = self.makePlan()
        path = self.model + "/model.safetensors"
        tiny.write_bytes(path, tiny.read_bytes(path)[:-1] + b"\1")
        self.generate(plan, path, "other weights than the plan was compiled",
                      "fingerprint is", "expected", "compile the plan again")

    def testGone(self):
        plan = self.makePlan()
        os.remove(self.model + "/model.safetensors")
        self.generate(plan, "model.safetensors': No such file",
                      "--weights DIR names another place")

    def testNotThereEither(self):
        self.generate(self.makePlan(), "--weights", "nowhere",
                      flags=["--weights", self.path("nowhere")])


class RunTest(mistakes.MistakeTest):
    """Inputs of an entry that are missing or have another shape."""

    def setUp(self):
        super().setUp()
        self.plan = self.makePlan("--entry", "logits", "--mesh", "tp=2")

    def spoil(self, inputs, *parts, outputs=None, flags=(), code=1):
        path = self.path("in.safetensors")
        tensors.write(path, inputs)
        self.refuse(["run", self.plan, "--inputs", path, "--outputs",
                     outputs or self.path("out.safetensors"), *flags],
                    *parts, code=code)

    def ids(self, shape, values=None, dtype="I64"):
        return {"input_ids": tiny.zeros(shape, dtype) if values is None
                else tensors.Tensor(dtype, shape, values)}

    def testMissing(self):
        self.spoil({}, "input 'input_ids': missing",
                   "entry 'logits' needs input_ids")

    def testUnknown(self):
        self.spoil({"inputids": tiny.zeros([1, 3], "I64")},
                   "no input 'inputids'; its inputs are input_ids",
                   "did you mean 'input_ids'?")

    def testDimensions(self):
        self.spoil(self.ids([3]), "the shape is [3], expected at most [1, 32]")

    def testTooLong(self):
        self.spoil(self.ids([1, 33]), "the shape is [1, 33]", "--max-seq")

    def testTooManyRows(self):
        self.spoil(self.ids([2, 3]), "the shape is [2, 3]", "--batch")

    def testEmptyInput(self):
        self.spoil(self.ids([1, 0]), "the shape is [1, 0]")

    def testIdBeyondTheVocabulary(self):
        self.spoil(self.ids([1, 3], [0, 1, 9]),
                   "element 2 is 9, outside the vocabulary of 5")

    def testFractions(self):
        self.spoil(self.ids([1, 2], [0.5, 1], "F32"),
                   "element 0 is 0.5, which i32 cannot hold")

    def testEntryTypo(self):
        self.spoil(self.ids([1, 3]), "no entry 'logit'; its entries are logits",
                   "did you mean 'logits'?", flags=["--entry", "logit"])

    def testNoInputs(self):
        self.refuse(["run", self.plan, "--inputs", self.path("none"),
                     "--outputs", self.path("out")], "none", "No such file")

    def testOutputIsAFolder(self):
        self.spoil(self.ids([1, 3]), "cannot write", "model",
                   "it is a folder", outputs=self.model)

    def testOutputWithoutFolder(self):
        self.spoil(self.ids([1, 3]), "no/out", "No such file",
                   outputs=self.path("no/out"))

    def testFullDevice(self):
        self.spoil(self.ids([1, 3]), "cannot write '/dev/full'",
                   "No space left", outputs="/dev/full")

    def testGenerateFromLogits(self):
        self.refuse(["generate", self.plan, "--prompt", "a"],
                    "the plan does not generate", "--entry generate",
                    "its entries are logits")


class WrongKindTest(mistakes.MistakeTest):
    """A plan where a model is wanted, and flags that a plan cannot follow."""

    def testCompileAPlan(self):
        self.refuse(["compile", self.makePlan(), "-o", self.path("b.plan")],
                    "good.plan", "expected a Hugging Face directory or a .gguf")

    def testFlagsOfModels(self):
        plan = self.makePlan()
        for flag, value in (("--mesh", "tp=4"), ("--dtype", "f16"),
                            ("--max-seq", "3")):
            self.refuse(["generate", plan, "--prompt", "a", flag, value],
                        flag, "for models; the plan", "has its own", code=2)

    def testSeveralEntries(self):
        self.refuse(["run", self.makePlan(), "--inputs", "in", "--outputs",
                     "out"], "several entries; choose one by --entry",
                    "decode", code=2)


if __name__ == "__main__":
    mistakes.main()
