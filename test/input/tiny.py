"""A llama of one layer that tests write and spoil: as a Hugging Face folder
and as a GGUF file, all weights zero, a tokenizer of five tokens."""

import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "numerics"))
import tensors  # noqa: E402

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "vocab_size": 5, "hidden_size": 8, "intermediate_size": 6,
    "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 32,
    "rms_norm_eps": 1e-5, "hidden_act": "silu",
    "tie_word_embeddings": False, "bos_token_id": 4, "eos_token_id": 4,
}
TOKENIZER = {
    "added_tokens": [{"id": 4, "content": "<s>", "special": True}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "merges": ["a b"],
              "vocab": {"a": 0, "b": 1, "\u0120": 2, "ab": 3, "<s>": 4}},
}
LAYER = {
    "input_layernorm": [8], "post_attention_layernorm": [8],
    "self_attn.q_proj": [8, 8], "self_attn.k_proj": [4, 8],
    "self_attn.v_proj": [4, 8], "self_attn.o_proj": [8, 8],
    "mlp.gate_proj": [6, 8], "mlp.up_proj": [6, 8], "mlp.down_proj": [8, 6],
}
SHAPES = {"model.embed_tokens.weight": [5, 8], "model.norm.weight": [8],
          "lm_head.weight": [5, 8],
          **{f"model.layers.0.{k}.weight": v for k, v in LAYER.items()}}


def zeros(shape, dtype="F32"):
    count = 1
    for size in shape:
        count *= size
    return tensors.Tensor(dtype, shape, [0] * count)


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file)


def write_bytes(path, value):
    with open(path, "wb") as file:
        file.write(value)


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def write_model(folder, config=None, tokenizer=None):
    """The model as a folder; None takes a setting away."""
    os.makedirs(folder, exist_ok=True)
    settings = {k: v for k, v in {**CONFIG, **(config or {})}.items()
                if v is not None}
    write_json(folder + "/config.json", settings)
    write_json(folder + "/tokenizer.json", tokenizer or TOKENIZER)
    tensors.write(folder + "/model.safetensors",
                  {name: zeros(shape) for name, shape in SHAPES.items()})
    return folder


def safetensors(header, data=b""):
    """The bytes of a file of this header, an object or its text."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Gguf:
    """The bytes of a GGUF file, with fields that a test may falsify."""

    TYPES = {int: 4, float: 6, str: 8, list: 9}
    STEMS = {"input_layernorm": "attn_norm",
             "post_attention_layernorm": "ffn_norm",
             "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
             "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
             "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
             "mlp.down_proj": "ffn_down"}

    def __init__(self):
        self.magic, self.version = b"GGUF", 3
        self.values = {
            "general.architecture": "llama", "llama.block_count": 1,
            "llama.context_length": 32, "llama.embedding_length": 8,
            "llama.feed_forward_length": 6, "llama.attention.head_count": 4,
            "llama.attention.head_count_kv": 2, "llama.vocab_size": 5,
            "llama.attention.layer_norm_rms_epsilon": 1e-5,
            "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "default",
            "tokenizer.ggml.tokens": ["a", "b", "\u0120", "ab", "<s>"],
            "tokenizer.ggml.merges": ["a b"],
            "tokenizer.ggml.token_type": [1, 1, 1, 1, 3],
            "tokenizer.ggml.bos_token_id": 4,
            "tokenizer.ggml.eos_token_id": 4,
        }
        self.shapes = {"token_embd.weight": [5, 8], "output_norm.weight": [8],
                       "output.weight": [5, 8]}
        for name, shape in LAYER.items():
            self.shapes[f"blk.0.{self.STEMS[name]}.weight"] = shape
        self.tensor_type = {}  # name: number; F32 otherwise
        self.offset = {}       # name: byte
        self.value_count = self.tensor_count = None
        self.value_type = {}   # key: number
        self.length = {}       # key: what its string claims

    @staticmethod
    def text(value, length=None):
        raw = value.encode()
        return struct.pack("<Q", len(raw) if length is None else length) + raw

    def value(self, value):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            kind = self.TYPES[type(value[0])]
            return (struct.pack("<IQ", kind, len(value))
                    + b"".join(self.value(v) for v in value))
        return struct.pack("<f" if isinstance(value, float) else "<I", value)

    def bytes(self):
        out = self.magic + struct.pack(
            "<IQQ", self.version,
            len(self.shapes) if self.tensor_count is None
            else self.tensor_count,
            len(self.values) if self.value_count is None else self.value_count)
        for key, value in self.values.items():
            kind = self.value_type.get(key, self.TYPES[type(value)])
            out += (self.text(key, self.length.get(key))
                    + struct.pack("<I", kind) + self.value(value))
        data = b""
        for name, shape in self.shapes.items():
            count = 1
            for size in shape:
                count *= size
            out += self.text(name) + struct.pack("<I", len(shape))
            out += b"".join(struct.pack("<Q", d) for d in reversed(shape))
            out += struct.pack("<IQ", self.tensor_type.get(name, 0),
                               self.offset.get(name, len(data)))
            if count < 10000:
                data += bytes(4 * count)
            data += bytes(-len(data) % 32)
        return out + bytes(-len(out) % 32) + data
