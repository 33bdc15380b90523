"""Configurations and tokenizers that miss something or say it wrong."""

import copy
import os

import mistakes
import tiny


class ConfigTest(mistakes.MistakeTest):
    def spoil(self, change, *parts):
        tiny.write_model(self.model, change)
        self.refuseModel("config.json", *parts)

    def spoilText(self, text, *parts):
        self.write("model/config.json", text)
        self.refuseModel("config.json: ", *parts)

    def testMissingKey(self):
        self.spoil({"vocab_size": None}, "the key 'vocab_size' is missing")

    def testZeroHeads(self):
        self.spoil({"num_attention_heads": 0}, "num_attention_heads",
                   "expected a size of 1 to 2147483648, got 0")

    def testNegativeSize(self):
        self.spoil({"hidden_size": -8}, "hidden_size: expected a size", "-8")

    def testHugeSize(self):
        self.spoil({"hidden_size": 1 << 62}, "hidden_size: expected a size",
                   "4611686018427387904")

    def testHugeNumberOfLayers(self):
        self.spoil({"num_hidden_layers": 1 << 30},
                   "expected at most 65536 layers, got 1073741824")

    def testTextForANumber(self):
        self.spoil({"num_hidden_layers": "two"},
                   'num_hidden_layers: expected an integer, got string "two"')

    def testBooleanForANumber(self):
        self.spoil({"vocab_size": True}, "expected an integer, got boolean")

    def testListForANumber(self):
        self.spoil({"vocab_size": [5]}, "expected an integer, got an array")

    def testHeadsThatDoNotDivide(self):
        self.spoil({"num_key_value_heads": 3},
                   "num_key_value_heads: expected a divisor of the 4 heads")

    def testEpsilon(self):
        self.spoil({"rms_norm_eps": -1.0},
                   "rms_norm_eps: expected a number of at least 0, got -1")

    def testTheta(self):
        self.spoil({"rope_theta": -1}, "rope_theta: expected a number above 0")

    def testTextForASwitch(self):
        self.spoil({"tie_word_embeddings": "yes"},
                   'expected true or false, got string "yes"')

    def testEndId(self):
        self.spoil({"eos_token_id": "x"},
                   "eos_token_id: expected an integer, got string")

    def testArchitecture(self):
        self.spoil({"architectures": ["Mamba"]},
                   "unknown architecture 'Mamba'; known are: llama")

    def testActivation(self):
        self.spoil({"hidden_act": "mish"}, "unknown activation 'mish'")

    def testContradictsTheWeights(self):
        self.spoil({"hidden_size": 16}, "'model.embed_tokens.weight': got "
                   "shape [5, 8], expected [5, 16]")

    def testCut(self):
        self.spoilText('{"vocab_size": 5', "not valid JSON at line 1")

    def testNoObject(self):
        self.spoilText("[]", "expected an object")

    def testKeyTwice(self):
        self.spoilText('{"a": 1, "a": 2}', "the key 'a' stands twice")

    def testDeep(self):
        self.spoilText("[" * 100000, "nested more than 100 levels deep")

    def testNoModel(self):
        os.remove(self.model + "/config.json")
        self.refuseModel("no model here", "neither config.json nor a .gguf")

    def testNoSuchFolder(self):
        self.model = self.path("nowhere")
        self.refuseModel("cannot open model", "nowhere", "No such file")

    def testSettingTypo(self):
        self.refuseModel("--set num_hiden_layers: ", "has no such setting",
                         "did you mean 'num_hidden_layers'?",
                         flags=["--set", "num_hiden_layers=3"])

    def testSettingWithoutValue(self):
        self.refuseModel("--set vocab_size: expected KEY=VALUE",
                         flags=["--set", "vocab_size"], code=2)

    def testPickledWeights(self):
        os.rename(self.model + "/model.safetensors",
                  self.model + "/pytorch_model.bin")
        self.refuseModel("'pytorch_model.bin' is not read",
                         "convert it to safetensors")


class TokenizerTest(mistakes.MistakeTest):
    def spoil(self, change, *parts):
        tokenizer = copy.deepcopy(tiny.TOKENIZER)
        change(tokenizer)
        tiny.write_model(self.model, tokenizer=tokenizer)
        self.refuse(["tokenize", self.model, "ab"], "tokenizer.json: ", *parts)

    def spoilModel(self, change, *parts):
        self.spoil(lambda t: t["model"].update(change), *parts)

    def testNoModel(self):
        self.spoil(lambda t: t.pop("model"), "the key 'model' is missing")

    def testKindOfModel(self):
        self.spoilModel({"type": "WordPiece"}, "model type 'WordPiece'",
                        "supported is BPE")

    def testMergeOfUnknownTokens(self):
        self.spoilModel({"merges": ["a c"]}, "model.merges[0]",
                        '"c" is not in the vocabulary')

    def testMergeOfOneToken(self):
        self.spoilModel({"merges": [["a"]]}, "model.merges[0]",
                        "expected two tokens")

    def testMergesAreNoList(self):
        self.spoilModel({"merges": {}}, "expected an array, got an object")

    def testNegativeId(self):
        self.spoilModel({"vocab": {"a": -1}}, "model.vocab.a",
                        "expected an id from 0 to", "got -1")

    def testHugeId(self):
        self.spoilModel({"vocab": {"a": 1 << 40}}, "got 1099511627776")

    def testIdTwice(self):
        self.spoilModel({"vocab": {"a": 0, "b": 0}},
                        "the id 0 is given to another token already")

    def testIdIsText(self):
        self.spoilModel({"vocab": {"a": "x"}}, "expected an integer")

    def testUnknownStep(self):
        self.spoil(lambda t: t.update(pre_tokenizer={"type": "Martian"}),
                   "the pre-tokenizer 'Martian' is not supported",
                   "supported are ByteLevel")

    def testPattern(self):
        split = {"type": "Split", "pattern": {"Regex": "(["},
                 "behavior": "Isolated"}
        self.spoil(lambda t: t.update(pre_tokenizer=split),
                   "the pattern '([' is wrong at its byte 2")

    def testAddedTokenWithoutId(self):
        self.spoil(lambda t: t.update(added_tokens=[{"content": "x"}]),
                   "added_tokens[0]: the key 'id' is missing")

    def testCut(self):
        self.write("model/tokenizer.json", '{"model": ')
        self.refuse(["tokenize", self.model, "a"], "not valid JSON")

    def testIdBeyondTheVocabulary(self):
        self.refuse(["tokenize", self.model, "--ids", "1,9"],
                    "the id 9 is not in the vocabulary, which has ids 0 to 4")

    def testTextIsNotUtf8(self):
        path = self.write("text.txt", b"a\xff")
        self.refuse(["tokenize", self.model, "--file", path],
                    "not UTF-8 at its byte 1")


if __name__ == "__main__":
    mistakes.main()
