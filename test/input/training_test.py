"""Data, settings and command lines that nothing can be learned from."""

import struct

import mistakes
import tiny


class TrainingTest(mistakes.MistakeTest):
    def setUp(self):
        super().setUp()
        self.data = self.write("ids.bin", struct.pack("<9H", *[1] * 9))

    def spoil(self, *parts, flags=(), code=1, data=None):
        self.refuse(["train", self.model, "--data", data or self.data,
                     "--seq", "4", "--steps", "1", "--threads", "1", "-q",
                     *flags], *parts, code=code)


class DataTest(TrainingTest):
    def testMissingFile(self):
        self.spoil("nowhere.bin", data=self.path("nowhere.bin"))

    def testMissingFileWithoutEnding(self):
        self.spoil("nowhere': No such file or directory",
                   data=self.path("nowhere"))

    def testUnknownEnding(self):
        self.spoil("ids.csv' is neither .txt, .bin nor .safetensors",
                   "--data-type", data=self.write("ids.csv", b"1,2"))

    def testOddBytes(self):
        self.spoil("has 3 bytes, no whole number of ids of 2 bytes",
                   data=self.write("odd.bin", b"123"))

    def testIdOutside(self):
        data = self.write("far.bin", struct.pack("<5H", 1, 2, 5, 1, 1))
        self.spoil(f"'{data}': the id at byte 4 is 5, outside the vocabulary "
                   "of 5", data=data)

    def testTooShort(self):
        self.spoil("has 4 tokens, less than a window of 4 + 1", "--seq",
                   data=self.write("short.bin", struct.pack("<4H", 1, 1, 1, 1)))

    def testTextThatIsNoText(self):
        path = self.write("text.txt", b"ab \xff\xfe ab")
        self.spoil(path, "UTF-8", data=path)

    def testBatchWithoutLabels(self):
        path = self.path("batch.safetensors")
        tiny.tensors.write(path, {"input_ids": tiny.zeros([1, 4], "I64")})
        self.spoil("holds no tensor 'labels'", data=path)

    def testBatchTooLarge(self):
        path = self.path("batch.safetensors")
        tiny.tensors.write(path, {"input_ids": tiny.zeros([2, 4], "I64"),
                                  "labels": tiny.zeros([2, 4], "I64")})
        self.spoil("input 'input_ids': the shape is [2, 4], expected at most "
                   "[1, 4]", data=path)

    def testEmptyFolder(self):
        folder = self.path("empty")
        tiny.os.mkdir(folder)
        self.spoil("holds no data; expected .txt or .bin", data=folder)


class FlagsTest(TrainingTest):
    def testResumeFromNothing(self):
        self.spoil("--resume needs the --checkpoint-dir", flags=["--resume"],
                   code=2)

    def testCheckpointsToNowhere(self):
        self.spoil("--checkpoint-every needs a --checkpoint-dir",
                   flags=["--checkpoint-every", "2"], code=2)

    def testNewAndOld(self):
        self.spoil("--init begins a new model, --resume goes on",
                   flags=["--resume", "--checkpoint-dir", self.path("out"),
                          "--init", "1"], code=2)

    def testSchedule(self):
        self.spoil("--lr-schedule", "cosin", flags=["--lr-schedule", "cosin"],
                   code=2)

    def testNegativeRate(self):
        self.spoil("--lr", "-1", flags=["--lr", "-1"], code=2)

    def testMistypedFlag(self):
        self.spoil("unknown flag '--microbatchs'; did you mean "
                   "'--microbatches'?", flags=["--microbatchs", "2"], code=2)

    def testZeroWithoutAxis(self):
        self.spoil("--zero 1 splits over axis dp", flags=["--zero", "1"],
                   code=2)

    def testSequenceParallelWithoutAxis(self):
        self.spoil("--sequence-parallel splits over axis tp",
                   flags=["--sequence-parallel", "--mesh", "dp=2"], code=2)

    def testZeroBesideAnnotations(self):
        lines = self.write("own.annotate", b"")
        self.spoil("--zero 1 adds to the mesh's annotations", lines,
                   "--print-annotations",
                   flags=["--zero", "1", "--mesh", "dp=2", "--annotate",
                          lines], code=2)

    def testBeta(self):
        self.spoil("--beta1 and --beta2: expected numbers from 0 to below 1",
                   flags=["--beta2", "1"], code=2)

    def testSettingOfAnotherOptimizer(self):
        self.spoil("--momentum sets the 'momentum' of an optimizer that has "
                   "one, which the plan's does not",
                   flags=["--momentum", "0.5"], code=2)

    def testUnusedEvaluationData(self):
        self.spoil("--eval-data needs --eval-every",
                   flags=["--eval-data", self.data], code=2)

    def testTraceNowhere(self):
        self.spoil("cannot write", "No such file or directory",
                   flags=["--trace", self.path("no/such/trace.json"),
                          "--checkpoint-dir", self.path("none")])
        self.assertFalse(tiny.os.path.exists(self.path("none")))

    def testScheduleTableOfAnotherMesh(self):
        table = self.write("two.schedule", b"0: F0 B0\n1: F0 B0\n")
        self.spoil(f"{table}: the table is of 2 coordinates, the mesh has "
                   "pp=1", flags=["--schedule-file", table])
        self.spoil("--schedule excludes --schedule-file",
                   flags=["--schedule-file", table, "--schedule", "gpipe"],
                   code=2)

    def testOptimizerOfAnEntryThatHasNone(self):
        for flag, named in (["--optimizer", "sgd"], "optimizer"), (
                ["--evaluation"], "evaluation"):
            self.refuseModel(f"{named}: expected --entry train, got loss",
                             flags=["--entry", "loss", *flag], code=2)

    def testEvaluationWithoutEntry(self):
        plan = self.makePlan("--entry", "train", "--max-seq", "4")
        self.refuse(["train", plan, "--data", self.data, "--steps", "1",
                     "--eval-every", "1", "-q"],
                    "--eval-every needs an entry 'loss'", "--evaluation")

    def testLogNowhere(self):
        self.spoil("cannot open the log", "No such file or directory",
                   flags=["--log", self.path("no/such/log.jsonl")])

    def testFlagsOfModelsForAPlan(self):
        plan = self.makePlan("--entry", "train", "--max-seq", "4")
        self.refuse(["train", plan, "--data", self.data, "--steps", "1",
                     "--batch", "2"], "--batch is for models; the plan",
                    code=2)

    def testPlanThatDoesNotTrain(self):
        plan = self.makePlan("--entry", "logits")
        self.refuse(["train", plan, "--data", self.data, "--steps", "1"],
                    "it has no entry 'train': the plan does not train; compile "
                    "with --entry train")


class NewModelTest(mistakes.MistakeTest):
    def testConfigurationAlone(self):
        tiny.os.remove(self.model + "/model.safetensors")
        data = self.write("ids.bin", struct.pack("<9H", *[1] * 9))
        self.refuse(["train", self.model, "--data", data, "--seq", "4",
                     "--steps", "1"],
                    "was compiled from a configuration alone", "--init SEED")

    def testInitializerRange(self):
        tiny.write_json(self.model + "/config.json",
                        {**tiny.CONFIG, "initializer_range": -0.1})
        self.refuseModel("initializer_range: expected a number of at least 0, "
                         "got -0.1")


if __name__ == "__main__":
    mistakes.main()
