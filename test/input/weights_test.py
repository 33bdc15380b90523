"""Weight files that are cut, or whose headers lie."""

import copy
import json
import os
import struct

import mistakes
import tiny

Q = "model.layers.0.self_attn.q_proj.weight"


class SafetensorsTest(mistakes.MistakeTest):
    def setUp(self):
        super().setUp()
        self.file = self.model + "/model.safetensors"
        self.bytes = tiny.read_bytes(self.file)
        size = struct.unpack("<Q", self.bytes[:8])[0]
        self.header = json.loads(self.bytes[8:8 + size])
        self.data = self.bytes[8 + size:]

    def spoil(self, content, *parts):
        tiny.write_bytes(self.file, content)
        self.refuseModel("model.safetensors: ", *parts)

    def spoilEntry(self, change, *parts):
        header = copy.deepcopy(self.header)
        header[Q].update(change)
        self.spoil(tiny.safetensors(header, self.data), Q, *parts)

    def testEmpty(self):
        self.spoil(b"", "only 0 bytes", "starts with 8 bytes")

    def testHeaderBeyondEnd(self):
        lie = struct.pack("<Q", len(self.bytes))
        self.spoil(lie + self.bytes[8:], f"claims {len(self.bytes)} bytes",
                   f"only {len(self.bytes) - 8} follow", "cut short")

    def testHugeHeader(self):
        self.spoil(struct.pack("<Q", 1 << 62) + self.bytes[8:],
                   "claims 4611686018427387904 bytes", "100000000")

    def testHeaderIsNoJson(self):
        self.spoil(tiny.safetensors(b"{'a': 1" + b"@" * 1000 + b"}"),
                   "not valid JSON at line 1, column 2")

    def testHeaderIsNoObject(self):
        self.spoil(tiny.safetensors(b"[1]"), "does not start with '{'")

    def testNameIsNotUtf8(self):
        self.spoil(self.bytes.replace(b"q_proj", b"q_pr\xff\xfe"),
                   "ill-formed UTF-8 byte")

    def testCut(self):
        self.spoil(self.bytes[:-100], "tensor 'model.layers.0.mlp.down_proj",
                   "reaches past the end", "cut short or its header is wrong")

    def testBytesBehind(self):
        self.spoil(self.bytes + b"xx", "2 bytes at the end belong to no tensor")

    def testOffsetPastEnd(self):
        end = len(self.data)
        self.spoilEntry({"data_offsets": [end, end + 256]},
                        "f32 [8, 8] at byte", "reaches past the end")

    def testOffsetsOverlap(self):
        self.spoilEntry({"data_offsets": [0, 256]}, "overlap those of")

    def testOffsetsReversed(self):
        self.spoilEntry({"data_offsets": [256, 0]},
                        "expected two byte offsets, begin and end, got [256, 0]")

    def testOffsetsContradictTheShape(self):
        self.spoilEntry({"shape": [8, 9]}, "data_offsets hold 256 bytes",
                        "[8, 9] need 288")

    def testGap(self):
        header = copy.deepcopy(self.header)
        del header[Q]
        self.spoil(tiny.safetensors(header, self.data), "it begins at",
                   "the one before it ends at")

    def testDuplicateName(self):
        text = json.dumps(self.header)[:-1]
        text += f', "{Q}": {json.dumps(self.header[Q])}}}'
        self.spoil(tiny.safetensors(text.encode(), self.data),
                   f"the key '{Q}' stands twice")

    def testUnknownType(self):
        self.spoilEntry({"dtype": "F33"}, '"F33" is not supported',
                        "supported are F64, F32")

    def testShapeOverflows(self):
        self.spoilEntry({"shape": [1 << 40, 1 << 40]},
                        "[1099511627776, 1099511627776]", "too many elements")

    def testNegativeShape(self):
        self.spoilEntry({"shape": [-8, 8]}, "[-8, 8] is negative")

    def testShapeIsText(self):
        self.spoilEntry({"shape": "8,8"}, "shape: expected an array, got string")

    def testIntegersAsWeights(self):
        self.spoilEntry({"dtype": "I32"}, "got i32, expected floats")


class ShardsTest(mistakes.MistakeTest):
    SHARD = "model-00001-of-00002.safetensors"

    def spoil(self, index, *parts):
        whole = self.model + "/model.safetensors"
        os.rename(whole, self.model + "/" + self.SHARD)
        tiny.write_json(whole + ".index.json", index)
        self.refuseModel("model.safetensors.index.json: ", *parts)

    def places(self, **changes):
        return {"weight_map": {**{n: self.SHARD for n in tiny.SHAPES},
                               **changes}}

    def testMissingFile(self):
        other = "model-00002-of-00002.safetensors"
        self.spoil(self.places(**{Q: other}), other, "No such file")

    def testTensorIsElsewhere(self):
        self.spoil(self.places(**{"other.weight": self.SHARD}),
                   "tensor 'other.weight' should be in", self.SHARD)

    def testPathOutOfTheFolder(self):
        self.spoil(self.places(**{Q: "../" + self.SHARD}),
                   "is no file name of this folder")

    def testNoMap(self):
        self.spoil({}, "the key 'weight_map' is missing")


class GgufTest(mistakes.MistakeTest):
    def setUp(self):
        super().setUp()
        self.gguf = tiny.Gguf()

    def spoil(self, *parts, edit=lambda b: b):
        path = self.write("model.gguf", edit(self.gguf.bytes()))
        self.refuse(["compile", path, "-o", self.path("out.plan")],
                    "model.gguf: ", *parts)

    def testMagic(self):
        self.gguf.magic = b"GGML"
        self.spoil("does not start with 'GGUF'")

    def testVersion(self):
        self.gguf.version = 9
        self.spoil("GGUF version 9", "supported are 2 and 3")

    def testBigEndian(self):
        self.gguf.version = 3 << 24
        self.spoil("big-endian")

    def testTensorCount(self):
        self.gguf.tensor_count = 1 << 60
        self.spoil("1152921504606846976 tensors", "cannot be in the")

    def testValueCount(self):
        self.gguf.value_count = 1 << 60
        self.spoil("1152921504606846976 metadata values")

    def testTensorType(self):
        self.gguf.tensor_type["output_norm.weight"] = 77
        self.spoil("tensor 'output_norm.weight': unknown type 77",
                   "supported are F32")

    def testPartsOfBlocks(self):
        self.gguf.tensor_type["output.weight"] = 8
        self.spoil("[5, 8] are not whole blocks of 32 Q8_0 values")

    def testOffsetPastEnd(self):
        self.gguf.offset["output_norm.weight"] = 1 << 40
        self.spoil("tensor 'output_norm.weight'", "reaches past the end")

    def testOffsetOffTheAlignment(self):
        self.gguf.offset["output_norm.weight"] = 3
        self.spoil("offset 3 is no multiple of the file's alignment, 32")

    def testOffsetsOverlap(self):
        self.gguf.offset["output_norm.weight"] = 0
        self.spoil("overlap those of")

    def testAlignment(self):
        for wrong in (0, 3, 1 << 30):
            self.gguf.values["general.alignment"] = wrong
            self.spoil("general.alignment: expected a power of two", str(wrong))

    def testLengthOfAKey(self):
        self.gguf.length["llama.vocab_size"] = 1 << 60
        self.spoil("a text claims 1152921504606846976 bytes")

    def testTypeOfAValue(self):
        self.gguf.value_type["llama.vocab_size"] = 99
        self.spoil("llama.vocab_size: unknown value type 99")

    def testShapeOverflows(self):
        self.gguf.shapes["output.weight"] = [1 << 40, 1 << 40]
        self.spoil("tensor 'output.weight'", "too many elements")

    def testCut(self):
        self.spoil("tensor 'blk.0.ffn_down.weight'", "cut short",
                   edit=lambda b: b[:-100])

    def testCutWithinTheHeader(self):
        self.spoil("ends within the header", edit=lambda b: b[:20])

    def testArchitecture(self):
        self.gguf.values["general.architecture"] = "mamba"
        self.spoil("general.architecture: unknown architecture 'mamba'",
                   "known are: llama")

    def testMissingKey(self):
        del self.gguf.values["llama.block_count"]
        self.spoil("the key 'llama.block_count' is missing")

    def testMissingTensor(self):
        del self.gguf.shapes["output_norm.weight"]
        self.spoil("'output_norm.weight' is missing; expected shape [8]")

    def testMerges(self):
        self.gguf.values["tokenizer.ggml.merges"] = ["a c"]
        path = self.write("model.gguf", self.gguf.bytes())
        self.refuse(["tokenize", path, "ab"], "tokenizer.ggml.merges[0]",
                    '"a c"')

    def testBeginIdBeyondTheVocabulary(self):
        self.gguf.values["tokenizer.ggml.bos_token_id"] = 44
        path = self.write("model.gguf", self.gguf.bytes())
        self.refuse(["tokenize", path, "ab"], "tokenizer.ggml.bos_token_id",
                    "44 is not in the vocabulary of 5")


if __name__ == "__main__":
    mistakes.main()
