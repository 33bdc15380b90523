"""Command lines, annotation files and outputs that cannot be right."""

import json
import os
import struct

import mistakes
import programs
import tiny

UP = "model.layers.*.mlp.up_proj.weight"


class MeshTest(mistakes.MistakeTest):
    def spoil(self, mesh, *parts):
        self.refuseModel(f"mesh '{mesh}': ", "expected NAME=SIZE,... such as",
                         *parts, flags=["--mesh", mesh], code=2)

    def testZero(self):
        self.spoil("tp=0", "the size of axis 'tp' is 0, below 1")

    def testNegative(self):
        self.spoil("tp=-1", "the size of axis 'tp' is -1, below 1")

    def testNoNumber(self):
        self.spoil("tp=x", "the size of axis 'tp' is 'x', not a number")

    def testFraction(self):
        self.spoil("tp=1.5", "'1.5', not a number")

    def testTwice(self):
        self.spoil("tp=2,tp=2", "axis 'tp' is named twice")

    def testNoSize(self):
        self.spoil("tp", "'tp' has no '='")

    def testNoName(self):
        self.spoil("=2", "'' is no axis name")

    def testComma(self):
        self.spoil("tp=2,", "it ends with a comma")

    def testHugeProduct(self):
        self.spoil("tp=65536,dp=65536", "more than 2^31 ranks")


class AnnotationsTest(mistakes.MistakeTest):
    def spoil(self, text, *parts, mesh="tp=2"):
        path = self.write("lines.annotate", text)
        self.refuseModel(path + ":1: ", *parts,
                         flags=["--mesh", mesh, "--annotate", path])

    def testUnknownParameter(self):
        self.spoil('model.layers.*.mlp.upp_proj.weight : [{"tp"}, {}]',
                   "unknown name 'model.layers.*.mlp.upp_proj.weight'",
                   f"did you mean '{UP}'?")

    def testUnknownLayer(self):
        self.spoil('model.layers.7.mlp.up_proj.weight : [{"tp"}, {}]',
                   "unknown name 'model.layers.7.", f"did you mean '{UP}'?")

    def testUnknownActivation(self):
        self.spoil('@residul : [{}, {}, {"tp"}]', "did you mean '@residual'?")

    def testAxisTwice(self):
        self.spoil(UP + ' : [{"tp"}, {"tp"}]', UP,
                   'axis "tp" is used twice')

    def testUnknownAxis(self):
        self.spoil(UP + ' : [{"dp"}, {}]', 'unknown axis "dp"; the mesh is tp=2')

    def testMistypedAxis(self):
        self.spoil(UP + ' : [{"tenosr"}, {}]', 'unknown axis "tenosr"',
                   "did you mean 'tensor'?", mesh="tensor=2")

    def testDimensions(self):
        self.spoil(UP + ' : [{"tp"}]', "got a sharding of 1 dimensions, "
                   "expected 2 as in shape [6, 8]")

    def testPartOfAnAxis(self):
        self.spoil(UP + ' : [{"tp":(1)3}, {}]',
                   'axis "tp":(1)3 is no part of an axis of size 2')

    def testStagesSplitNoTensor(self):
        self.spoil(UP + ' : [{"pp"}, {}]', 'axis "pp" holds stages',
                   mesh="pp=1,tp=2")

    def testPartialParameter(self):
        self.spoil('model.norm.weight : [{}], unreduced={"tp"}',
                   "got unreduced axes, expected none")

    def testBracket(self):
        self.spoil(UP + ' : [{"tp"}, {}', "expected ',' at column 12")

    def testNoColon(self):
        self.spoil(UP + ' [{"tp"}, {}]', "expected NAME : SHARDING, got")

    def testBinary(self):
        self.spoil(b"\0\x1b[2J", "expected NAME : SHARDING, got string",
                   "u001b[2J")

    def testMissingFile(self):
        self.refuseModel("cannot read annotations", "none.annotate",
                         flags=["--annotate", self.path("none.annotate")])


class PromptTest(mistakes.MistakeTest):
    def setUp(self):
        super().setUp()
        self.plan = self.makePlan("--max-seq", "8")

    def spoil(self, flags, *parts, code=1):
        self.refuse(["generate", self.plan, *flags], *parts, code=code)

    def testBeyondMaxSeq(self):
        self.spoil(["--prompt", "a b a b a b"], "the prompt has 11 ids",
                   "room for 8", "--max-seq")

    def testNoRoomForTokens(self):
        self.spoil(["--prompt", "a", "--tokens", "9"],
                   "leaves room for 8 new ones, 9 are wanted", "--tokens",
                   "--max-seq 9")

    def testNoIds(self):
        for empty in ("", " ", "[]"):
            self.spoil(["--prompt-ids", empty], "holds no id",
                       "such as 1,2,3", code=2)

    def testIdLists(self):
        for wrong in ("1,,2", "1,2,", "1 2", "[1, 2", "-1", "1,x", "1.5",
                      "99999999999"):
            self.spoil(["--prompt-ids=" + wrong], f"'{wrong}' is no list of "
                       "ids", "write 1,2,3 or [1, 2, 3]", code=2)

    def testIdListsAsTheyArePrinted(self):
        for right in ("1,2", "1, 2", "[1, 2]", "[1,2]", " [ 1 , 2 ] "):
            out = self.tandem("-q", "generate", self.plan, "--tokens", "1",
                              "--prompt-ids", right, "--json")
            self.assertEqual(json.loads(out)["prompt_ids"], [1, 2])

    def testIdBeyondTheVocabulary(self):
        self.spoil(["--prompt-ids", "1,5"],
                   "prompt id 5 is outside the vocabulary of 5")

    def testTextIsNotUtf8(self):
        self.spoil(["--prompt-file", self.write("text", b"\xff")],
                   "not UTF-8 at its byte 0")

    def testNoSuchFile(self):
        self.spoil(["--prompt-file", self.path("none")], "none",
                   "No such file")

    def testFolder(self):
        self.spoil(["--prompt-file", self.model], "it is a folder")

    def testTwoPrompts(self):
        self.spoil(["--prompt", "a", "--prompt-ids", "1"],
                   "--prompt excludes --prompt-ids", code=2)

    def testEmptyPromptBeginsAText(self):
        out = self.tandem("-q", "generate", self.plan, "--tokens", "1",
                          "--prompt", "", "--json")
        self.assertEqual(json.loads(out)["prompt_ids"], [4])


class FlagsTest(mistakes.MistakeTest):
    def spoil(self, arguments, *parts):
        self.refuse(arguments, *parts, code=2)

    def testUnknownFlag(self):
        self.spoil(["generate", self.model, "--promt", "a"],
                   "unknown flag '--promt'", "did you mean '--prompt'?",
                   "`tandem generate --help`")

    def testUnknownCommand(self):
        self.spoil(["genrate", self.model], "unknown command 'genrate'",
                   "did you mean 'generate'?", "expected one of: import")

    def testNoCommand(self):
        self.spoil([], "no command given; expected one of: import")

    def testSurplusArgument(self):
        self.spoil(["inspect", "a.plan", "b.plan"],
                   "unexpected argument 'b.plan'")

    def testMissingArgument(self):
        self.spoil(["inspect"], "PLAN is required", "`tandem inspect --help`")

    def testNumbers(self):
        for flag, value, range in (
                ("--tokens", "-1", "of at least 0"),
                ("--temperature", "nan", "of at least 0"),
                ("--top-p", "2", "from 0 to 1"),
                ("--threads", "0", "from 1 to 1024"),
                ("--max-seq", "0", "of at least 1")):
            self.spoil(["generate", self.model, flag, value],
                       f"{flag}: expected a number {range}, got '{value}'")

    def testWords(self):
        self.spoil(["generate", self.model, "--dtype", "f8"], "--dtype",
                   "f8", "{f32,bf16,f16}")

    def testEntryTypo(self):
        self.spoil(["compile", self.model, "-o", self.path("a.plan"),
                    "--entry", "generat"], "unknown entry 'generat'",
                   "known are: logits, next, generate, loss, gradients, train",
                   "did you mean 'generate'?")

    def testSizes(self):
        self.spoil(["compile", self.model, "-o", self.path("a.plan"),
                    "--memory", "8 apples"], "'8 apples' is no size",
                   "such as 8GiB")

    def testStep(self):
        self.spoil(["compile", self.model, "-o", self.path("a.plan"),
                    "--dump-after", "partitionn"], "partitionn is no step",
                   "partition-module")


class OutputTest(mistakes.MistakeTest):
    def testNone(self):
        self.refuse(["compile", self.model], "-o PLAN is missing", code=2)

    def testUnwritable(self):
        for command in ("compile", "import"):
            for output, why in ((self.model, "it is a folder"),
                                (self.path("no/such"), "No such file"),
                                ("/dev/full", "No space left")):
                self.refuse([command, self.model, "-o", output],
                            f"cannot write '{output}'", why)

    def testKeepsWhatWasThere(self):
        plan = self.write("out.plan", b"before")
        self.refuseModel("mesh", flags=["--mesh", "tp=0"], code=2)
        self.assertEqual(tiny.read_bytes(plan), b"before")

    def testNamesGoWhereTheyAreSent(self):
        path = self.path("names")
        self.assertEqual(self.tandem("import", self.model, "--names", "-o",
                                     path), "")
        self.assertIn(UP.encode(), tiny.read_bytes(path))

    def testFullStandardOutput(self):
        command = f"'{programs.BIN}/tandem' inspect '{self.makePlan()}'"
        self.assertEqual(os.system(command + " >/dev/full 2>/dev/null") >> 8, 1)


class MemoryTest(mistakes.MistakeTest):
    """A model of 10 GB on a machine of 8 is refused before it is loaded."""

    def testTooLarge(self):
        sizes = {"hidden_size": 16384, "intermediate_size": 49152,
                 "num_attention_heads": 4, "num_key_value_heads": 1}
        tiny.write_model(self.model, sizes)
        shapes = {"embed_tokens": [5, 16384], "norm": [16384]}
        layer = {"input_layernorm": [16384],
                 "post_attention_layernorm": [16384],
                 "self_attn.q_proj": [16384, 16384],
                 "self_attn.k_proj": [4096, 16384],
                 "self_attn.v_proj": [4096, 16384],
                 "self_attn.o_proj": [16384, 16384],
                 "mlp.gate_proj": [49152, 16384],
                 "mlp.up_proj": [49152, 16384],
                 "mlp.down_proj": [16384, 49152]}
        header, end = {}, 0
        for name, shape in [("lm_head.weight", [5, 16384]),
                            *((f"model.{k}.weight", v)
                              for k, v in shapes.items()),
                            *((f"model.layers.0.{k}.weight", v)
                              for k, v in layer.items())]:
            size = 4
            for dim in shape:
                size *= dim
            header[name] = {"dtype": "F32", "shape": shape,
                            "data_offsets": [end, end + size]}
            end += size
        self.assertGreater(end, 10e9)
        text = json.dumps(header).encode()
        path = self.model + "/model.safetensors"
        with open(path, "wb") as file:  # Zeros that take no room.
            file.write(struct.pack("<Q", len(text)) + text)
            file.truncate(8 + len(text) + end)
        self.refuse(["-q", "generate", self.model, "--prompt", "a",
                     "--tokens", "1", "--memory", "8GB", "--mesh", "tp=2"],
                    "GiB of memory for the 2 ranks of this process",
                    "7.5 GiB are left", "nothing was loaded", "--dtype",
                    "more ranks")

    def testRankOfAPlan(self):
        self.refuseModel("pp 0 needs", "allowed are 1024 bytes", "--max-seq",
                         flags=["--memory", "1KiB"])
        self.refuse(["verify", self.makePlan(), "--memory", "1KiB"],
                    "pp 0 needs", "allowed are 1024 bytes", "too many",
                    "most lives at entry", "more ranks")


if __name__ == "__main__":
    mistakes.main()
