"""GGUF files of each architecture, written here from models whose logits are
known: names, metadata and the order of rows as public converters have them."""

import json
import random
import struct

import blocks
import programs
import tensors

TOLERANCE = 1e-4
ALIGNMENT = 32
F32 = 0

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
# Families with norms behind the blocks use two names otherwise.
SANDWICH = {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}


def pack(kind, value):
    """A metadata value with its type's number in front."""
    if kind == "string":
        data = value.encode()
        return struct.pack("<IQ", 8, len(data)) + data
    return struct.pack(*{"u32": ("<II", 4), "f32": ("<If", 6)}[kind], value)


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


class Blocks:
    """A tensor of blocks and its values."""

    def __init__(self, kind, shape, draw):
        self.kind, self.shape = kind, shape
        self.data, self.values = blocks.randomTensor(kind, *shape, draw)

    def plain(self):
        return tensors.Tensor("F32", self.shape, self.values)


def writeGguf(path, metadata, stored):
    """`metadata` {key: (kind, value)}; `stored` {name: Tensor or Blocks}."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(stored), len(metadata))
    for key, (kind, value) in metadata.items():
        head += text(key) + pack(kind, value)
    data = b""
    for name, tensor in stored.items():
        head += text(name) + struct.pack("<I", len(tensor.shape))
        for size in reversed(tensor.shape):  # Innermost first.
            head += struct.pack("<Q", size)
        if isinstance(tensor, Blocks):
            head += struct.pack("<IQ", blocks.TYPES[tensor.kind][0], len(data))
            data += tensor.data
        else:
            head += struct.pack("<IQ", F32, len(data))
            data += struct.pack("<%df" % len(tensor.values), *tensor.values)
        data += b"\0" * (-len(data) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % ALIGNMENT) + data)


def interleaved(tensor, heads):
    """Rows of halves that rotate against each other, as pairs."""
    rows, size = tensor.shape[0], len(tensor.values) // tensor.shape[0]
    lanes = rows // heads
    values = []
    for h in range(heads):
        for j in range(lanes // 2):
            for half in range(2):
                row = h * lanes + half * (lanes // 2) + j
                values += tensor.values[row * size : (row + 1) * size]
    return tensors.Tensor(tensor.dtype, tensor.shape, values)


class Conversion:
    def __init__(self, folder, architecture):
        self.folder, self.architecture = folder, architecture
        with open(folder + "/config.json") as file:
            self.config = json.load(file)

    def metadata(self):
        c = self.config
        heads = c["num_attention_heads"]
        lanes = c.get("head_dim") or c["hidden_size"] // heads
        rope = c["rope_parameters"]
        own = {
            "vocab_size": ("u32", c["vocab_size"]),
            "embedding_length": ("u32", c["hidden_size"]),
            "block_count": ("u32", c["num_hidden_layers"]),
            "feed_forward_length": ("u32", c["intermediate_size"]),
            "context_length": ("u32", c["max_position_embeddings"]),
            "attention.head_count": ("u32", heads),
            "attention.head_count_kv": ("u32", c["num_key_value_heads"]),
            "attention.key_length": ("u32", lanes),
            "attention.value_length": ("u32", lanes),
            "attention.layer_norm_rms_epsilon": ("f32", c["rms_norm_eps"]),
            "rope.freq_base": ("f32", rope["rope_theta"]),
            "rope.dimension_count": ("u32", lanes),
        }
        if c.get("sliding_window"):
            own["attention.sliding_window"] = ("u32", c["sliding_window"])
        if "query_pre_attn_scalar" in c:
            own["attention.scale"] = ("f32", c["query_pre_attn_scalar"] ** -0.5)
            own["attn_logit_softcapping"] = ("f32", c["attn_logit_softcapping"])
            own["final_logit_softcapping"] = (
                "f32", c["final_logit_softcapping"])
        head = {"general.architecture": ("string", self.architecture)}
        return {**head, **{self.architecture + "." + key: value
                           for key, value in own.items()}}

    def rename(self, name):
        names = dict(NAMES)
        if self.architecture == "gemma2":
            names.update(SANDWICH)
        stem, kind = name.rsplit(".", 1)
        if stem.startswith("model.layers."):
            _, _, layer, rest = stem.split(".", 3)
            return "blk.%s.%s.%s" % (layer, names[rest], kind)
        return names[stem] + "." + kind

    def stored(self):
        result = {}
        for name, tensor in tensors.read(
                self.folder + "/model.safetensors").items():
            if self.architecture == "llama":
                for role, heads in (("q_proj", "num_attention_heads"),
                                    ("k_proj", "num_key_value_heads")):
                    if role in name:
                        tensor = interleaved(tensor, self.config[heads])
            if self.architecture == "gemma2" and "norm" in name:
                tensor = tensors.Tensor("F32", tensor.shape,
                                        [1 + x for x in tensor.values])
            result[self.rename(name)] = tensor
        return result


class GgufTest(programs.ProgramTest):
    def check(self, name, architecture):
        folder = programs.asset("models", name)
        conversion = Conversion(folder, architecture)
        model = self.path(name + ".gguf")
        writeGguf(model, conversion.metadata(), conversion.stored())
        expected = tensors.read(folder + "/expected.safetensors")
        ids = expected["input_ids"]
        tensors.write(self.path("in"), {"input_ids": ids})
        for mesh in programs.allMeshes() if programs.everything() else [
                "", "pp=2,tp=2"]:
            with self.subTest(model=name, mesh=mesh or "one rank"):
                more = ["--mesh", mesh] if mesh else []
                self.compile(model, self.path("plan"), "--entry", "logits",
                             "--batch", str(ids.shape[0]), "--max-seq",
                             str(ids.shape[1]), "--strict", *more)
                self.tandem("-q", "run", self.path("plan"), "--inputs",
                            self.path("in"), "--outputs", self.path("out"),
                            "--threads", "1")
                got = tensors.read(self.path("out"))["logits"]
                self.assertLessEqual(
                    tensors.distance(got.values, expected["logits"].values),
                    TOLERANCE)
                prompt = ",".join(map(str, ids.values[:5]))
                got = self.generate(model, "--prompt-ids", prompt,
                                    "--tokens", "16", *more)
                self.assertEqual(got["ids"], list(expected["greedy"].values))

    def test_llama(self):
        """A window is not llama's, but its metadata has the key."""
        self.check("mistral", "llama")

    def test_qwen2(self):
        self.check("qwen2", "qwen2")

    def test_qwen3(self):
        self.check("qwen3", "qwen3")

    def test_phi3(self):
        self.check("phi3", "phi3")

    def test_gemma2(self):
        self.check("gemma2", "gemma2")


    def test_blocksOfEveryType(self):
        """Logits are those of the same values in float32."""
        draw, size, vocabulary = random.Random(3), 256, 32
        own = {"embedding_length": size, "block_count": 1,
               "feed_forward_length": size, "context_length": 32,
               "attention.head_count": 4, "attention.head_count_kv": 4}
        metadata = {"general.architecture": ("string", "llama"),
                    "llama.attention.layer_norm_rms_epsilon": ("f32", 1e-5)}
        for key, value in own.items():
            metadata["llama." + key] = ("u32", value)
        one = tensors.Tensor("F32", [size], [1.0] * size)
        stored = {name + ".weight": one for name in
                  ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")}
        for name, kind, rows in (
            ("token_embd", "Q6_K", vocabulary),
            ("output", "Q4_1", vocabulary),
            ("blk.0.attn_q", "Q4_K", size),
            ("blk.0.attn_k", "Q5_K", size),
            ("blk.0.attn_v", "Q5_0", size),
            ("blk.0.attn_output", "Q5_1", size),
            ("blk.0.ffn_gate", "Q8_0", size),
            ("blk.0.ffn_up", "Q4_0", size),
            ("blk.0.ffn_down", "Q6_K", size),
        ):
            stored[name + ".weight"] = Blocks(kind, [rows, size], draw)
        plain = {name: tensor.plain() if isinstance(tensor, Blocks) else tensor
                 for name, tensor in stored.items()}
        tensors.write(self.path("in"), {
            "input_ids": tensors.Tensor("I64", [1, 5], [3, 1, 4, 1, 5])})
        logits = []
        for tensorsOf in (stored, plain):
            writeGguf(self.path("m.gguf"), metadata, tensorsOf)
            self.compile(self.path("m.gguf"), self.path("plan"), "--entry",
                         "logits", "--max-seq", "5", "--strict", "--mesh",
                         "tp=2")
            self.tandem("-q", "run", self.path("plan"), "--inputs",
                        self.path("in"), "--outputs", self.path("out"))
            logits.append(tensors.read(self.path("out"))["logits"].values)
        self.assertGreater(max(logits[0]) - min(logits[0]), 0.1)
        self.assertLessEqual(tensors.distance(*logits), 1e-5)


if __name__ == "__main__":
    programs.asset("models")
    programs.main()
