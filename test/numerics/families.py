"""Families of models from their public definitions, in float64.

Each family is a small configuration in the public format, the names and shapes
of its tensors, and a function that computes logits the way its definition
reads, with lists of floats and nothing shared with the programs that are
tested. A model is a list of rows: one a token.
"""

import math
import random
import struct


# --- vectors and rows of them -------------------------------------------------


def add(*terms):
    """The sum of lists of rows."""
    return [[sum(lanes) for lanes in zip(*rows)] for rows in zip(*terms)]


def scaled(rows, factor):
    return [[x * factor for x in row] for row in rows]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def layerNorm(row, weight, bias, epsilon):
    mean = sum(row) / len(row)
    variance = sum((x - mean) ** 2 for x in row) / len(row)
    scale = 1 / math.sqrt(variance + epsilon)
    return [
        (x - mean) * scale * w + b for x, w, b in zip(row, weight, bias)
    ]


def rmsNorm(row, weight, epsilon):
    scale = 1 / math.sqrt(sum(x * x for x in row) / len(row) + epsilon)
    return [x * scale * w for x, w in zip(row, weight)]


def silu(x):
    return x / (1 + math.exp(-x))


def relu(x):
    return max(x, 0.0)


def geluTanh(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + math.tanh(inner))


def gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


# --- positions ----------------------------------------------------------------


def rotateHalves(head, position, lanes, theta, frequency=None):
    """Lanes (j, j + n) of the first `lanes` = 2n turn together."""
    n, result = lanes // 2, list(head)
    for j in range(n):
        f = frequency[j] if frequency else theta ** (-j / n)
        c, s = math.cos(position * f), math.sin(position * f)
        result[j] = head[j] * c - head[j + n] * s
        result[j + n] = head[j + n] * c + head[j] * s
    return result


def rotatePairs(head, position, lanes, theta):
    """Lanes (2j, 2j + 1) of the first `lanes` turn together."""
    result = list(head)
    for j in range(lanes // 2):
        f = theta ** (-2 * j / lanes)
        c, s = math.cos(position * f), math.sin(position * f)
        a, b = head[2 * j], head[2 * j + 1]
        result[2 * j], result[2 * j + 1] = a * c - b * s, b * c + a * s
    return result


def alibiSlopes(heads):
    def powers(n):
        return [2 ** (-8 * (i + 1) / n) for i in range(n)]

    lower = 2 ** int(math.floor(math.log2(heads)))
    return powers(lower) + powers(2 * lower)[0::2][: heads - lower]


# --- attention ----------------------------------------------------------------


def split(row, size):
    return [row[i : i + size] for i in range(0, len(row), size)]


def attend(q, k, v, scale, causal=True, window=0, slopes=None, mask=None):
    """Rows of q [heads][lanes], k and v [kv heads][lanes]: rows of lanes."""
    result = []
    for i, heads in enumerate(q):
        row = []
        for h, query in enumerate(heads):
            kv = h * len(k[0]) // len(heads)
            seen, scores = [], []
            for j in range(len(k)):
                if (causal and j > i) or (window and j <= i - window):
                    continue
                if mask and not mask[j]:
                    continue
                score = scale * dot(query, k[j][kv])
                if slopes:
                    score += slopes[h] * (j - i)
                seen.append(j)
                scores.append(score)
            most = max(scores)
            shares = [math.exp(s - most) for s in scores]
            total = sum(shares)
            for lane in range(len(v[0][kv])):
                row.append(
                    sum(p * v[j][kv][lane] for p, j in zip(shares, seen))
                    / total
                )
        result.append(row)
    return result


# --- models -------------------------------------------------------------------


class Model:
    """Random weights of a configuration, and what computes with them."""

    def __init__(self, config, seed):
        self.config = config
        self.seed = seed
        draw = random.Random(seed)
        self.shapes = self.tensors()
        self.weights = {}
        for name, shape in self.shapes.items():
            size = math.prod(shape)
            norm = len(shape) == 1 and name.endswith(".weight")
            spread = 0.2 if len(shape) == 1 else 0.35
            values = [draw.gauss(1.0 if norm else 0.0, spread)
                      for _ in range(size)]
            self.weights[name] = [
                struct.unpack("f", struct.pack("f", x))[0] for x in values
            ]

    def matrix(self, name):
        return split(self.weights[name], self.shapes[name][1])

    def linear(self, name, rows):
        """rows times the stored [out, in] weight, plus a bias if stored."""
        weight = self.matrix(name + ".weight")
        bias = self.weights.get(name + ".bias", [0.0] * len(weight))
        return [[dot(row, w) + b for w, b in zip(weight, bias)]
                for row in rows]

    def norm(self, name, rows):
        weight = self.weights[name + ".weight"]
        if not self.layerNorms:
            return [rmsNorm(r, weight, self.epsilon) for r in rows]
        bias = self.weights.get(name + ".bias", [0.0] * len(weight))
        return [layerNorm(r, weight, bias, self.epsilon) for r in rows]

    layerNorms = False
    epsilon = 1e-5

    def greedy(self, ids, count):
        ids, new = list(ids), []
        for _ in range(count):
            last = self.logits(ids)[-1]
            new.append(last.index(max(last)))
            ids.append(new[-1])
        return new


def linearShapes(name, out, size, bias):
    shapes = {name + ".weight": [out, size]}
    if bias:
        shapes[name + ".bias"] = [out]
    return shapes


def normShapes(name, size, bias=False):
    shapes = {name + ".weight": [size]}
    if bias:
        shapes[name + ".bias"] = [size]
    return shapes


BASE = {
    "vocab_size": 53,
    "hidden_size": 24,
    "intermediate_size": 37,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 3,
    "max_position_embeddings": 64,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "dtype": "float32",
}


class LlamaNames(Model):
    """Models whose tensors are called as llama's."""

    qkvBias = outBias = normBias = headBias = False
    preNorms = ["input_layernorm", "post_attention_layernorm"]
    out, finalNorm = "o_proj", "model.norm"
    mlpNames = ["gate_proj", "up_proj", "down_proj"]
    mlpBias = False

    def headSize(self):
        c = self.config
        return c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]

    def tensors(self):
        c, d = self.config, self.headSize()
        hidden, ffn = c["hidden_size"], c["intermediate_size"]
        q, kv = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
        shapes = {"model.embed_tokens.weight": [c["vocab_size"], hidden]}
        for i in range(c["num_hidden_layers"]):
            at = "model.layers.%d." % i
            for norm in self.preNorms:
                shapes.update(normShapes(at + norm, hidden, self.normBias))
            attention = at + "self_attn."
            for name, out in (("q_proj", q), ("k_proj", kv), ("v_proj", kv)):
                shapes.update(linearShapes(attention + name, out, hidden,
                                           self.qkvBias))
            shapes.update(linearShapes(attention + self.out, hidden, q,
                                       self.outBias))
            *ups, down = self.mlpNames
            for name in ups:
                shapes.update(linearShapes(at + "mlp." + name, ffn, hidden,
                                           self.mlpBias))
            shapes.update(linearShapes(at + "mlp." + down, hidden, ffn,
                                       self.mlpBias))
            shapes.update(self.more(at, q, kv))
        shapes.update(normShapes(self.finalNorm, hidden, self.normBias))
        if not c["tie_word_embeddings"]:
            shapes.update(linearShapes("lm_head", c["vocab_size"], hidden,
                                       self.headBias))
        return shapes

    def more(self, at, q, kv):
        return {}

    def embed(self, ids):
        table = self.matrix("model.embed_tokens.weight")
        return [table[i] for i in ids]

    def head(self, x):
        x = self.norm(self.finalNorm, x)
        if self.config["tie_word_embeddings"]:
            table = self.matrix("model.embed_tokens.weight")
            return [[dot(row, w) for w in table] for row in x]
        return self.linear("lm_head", x)

    def turn(self, head, position):
        return rotateHalves(head, position, len(head), 10000.0)

    def heads(self, rows, turned=True):
        result = [split(row, self.headSize()) for row in rows]
        if turned:
            result = [[self.turn(h, p) for h in row]
                      for p, row in enumerate(result)]
        return result

    def attention(self, at, x, scale=None, window=0):
        at += "self_attn."
        q, k, v = (self.linear(at + n, x) for n in
                   ("q_proj", "k_proj", "v_proj"))
        q, k = self.normed(at, q, k)
        y = attend(self.heads(q), self.heads(k), self.heads(v, False),
                   scale or self.headSize() ** -0.5, window=window)
        return self.linear(at + self.out, y)

    def normed(self, at, q, k):
        return q, k

    # Llama's own; families that differ have theirs.
    def logits(self, ids):
        x = self.embed(ids)
        for at in self.places():
            y = self.norm(at + "input_layernorm", x)
            x = add(x, self.attention(at, y))
            y = self.norm(at + "post_attention_layernorm", x)
            x = add(x, self.gated(at, y))
        return self.head(x)

    def gated(self, at, x, activation=silu):
        gate = self.linear(at + "mlp.gate_proj", x)
        up = self.linear(at + "mlp.up_proj", x)
        hidden = [[activation(g) * u for g, u in zip(a, b)]
                  for a, b in zip(gate, up)]
        return self.linear(at + "mlp.down_proj", hidden)

    def plain(self, at, x, activation):
        up, down = (at + "mlp." + name for name in self.mlpNames)
        hidden = [[activation(u) for u in row] for row in self.linear(up, x)]
        return self.linear(down, hidden)

    def places(self):
        for i in range(self.config["num_hidden_layers"]):
            yield "model.layers.%d." % i


class Granite(LlamaNames):
    CONFIG = {**BASE, "model_type": "granite",
              "architectures": ["GraniteForCausalLM"], "rms_norm_eps": 1e-5,
              "head_dim": None,
              "embedding_multiplier": 3.0, "residual_multiplier": 0.4,
              "attention_multiplier": 0.3, "logits_scaling": 2.5}

    def logits(self, ids):
        c = self.config
        x = scaled(self.embed(ids), c["embedding_multiplier"])
        for at in self.places():
            y = self.attention(at, self.norm(at + "input_layernorm", x),
                               c["attention_multiplier"])
            x = add(x, scaled(y, c["residual_multiplier"]))
            y = self.gated(at, self.norm(at + "post_attention_layernorm", x))
            x = add(x, scaled(y, c["residual_multiplier"]))
        return scaled(self.head(x), 1 / c["logits_scaling"])


class Olmo2(LlamaNames):
    CONFIG = {**BASE, "model_type": "olmo2",
              "architectures": ["Olmo2ForCausalLM"], "rms_norm_eps": 1e-5}
    preNorms = ["post_attention_layernorm", "post_feedforward_layernorm"]

    def more(self, at, q, kv):
        return {at + "self_attn.q_norm.weight": [q],
                at + "self_attn.k_norm.weight": [kv]}

    def normed(self, at, q, k):
        return self.norm(at + "q_norm", q), self.norm(at + "k_norm", k)

    def logits(self, ids):
        x = self.embed(ids)
        for at in self.places():
            y = self.attention(at, x)
            x = add(x, self.norm(at + "post_attention_layernorm", y))
            y = self.gated(at, x)
            x = add(x, self.norm(at + "post_feedforward_layernorm", y))
        return self.head(x)


class Cohere(LlamaNames):
    CONFIG = {**BASE, "model_type": "cohere",
              "architectures": ["CohereForCausalLM"], "layer_norm_eps": 1e-5,
              "logit_scale": 0.25, "use_qk_norm": False,
              "tie_word_embeddings": True}
    layerNorms = True
    preNorms = ["input_layernorm"]

    def turn(self, head, position):
        return rotatePairs(head, position, len(head), 10000.0)

    def logits(self, ids):
        x = self.embed(ids)
        for at in self.places():
            y = self.norm(at + "input_layernorm", x)
            x = add(x, self.attention(at, y), self.gated(at, y))
        return scaled(self.head(x), self.config["logit_scale"])


class StableLm(LlamaNames):
    CONFIG = {**BASE, "model_type": "stablelm", "head_dim": 8,
              "architectures": ["StableLmForCausalLM"],
              "layer_norm_eps": 1e-5, "partial_rotary_factor": 0.25,
              "use_qkv_bias": True, "use_parallel_residual": False}
    layerNorms = normBias = qkvBias = True

    def turn(self, head, position):
        return rotateHalves(head, position, len(head) // 4, 10000.0)


class StableLmParallel(StableLm):
    CONFIG = {**StableLm.CONFIG, "use_parallel_residual": True,
              "use_qkv_bias": False}
    qkvBias = False
    preNorms = ["input_layernorm"]

    def logits(self, ids):
        x = self.embed(ids)
        for at in self.places():
            y = self.norm(at + "input_layernorm", x)
            x = add(x, self.attention(at, y), self.gated(at, y))
        return self.head(x)


class Starcoder2(LlamaNames):
    CONFIG = {**BASE, "model_type": "starcoder2",
              "architectures": ["Starcoder2ForCausalLM"],
              "norm_epsilon": 1e-5, "use_bias": True, "sliding_window": 4,
              "hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": True}
    layerNorms = normBias = qkvBias = outBias = mlpBias = True
    mlpNames = ["c_fc", "c_proj"]

    def logits(self, ids):
        x = self.embed(ids)
        for at in self.places():
            y = self.norm(at + "input_layernorm", x)
            x = add(x, self.attention(at, y, window=4))
            y = self.norm(at + "post_attention_layernorm", x)
            x = add(x, self.plain(at, y, geluTanh))
        return self.head(x)


class Phi(LlamaNames):
    CONFIG = {**BASE, "model_type": "phi", "architectures": ["PhiForCausalLM"],
              "hidden_size": 48, "layer_norm_eps": 1e-5,
              "partial_rotary_factor": 0.5, "hidden_act": "gelu_new"}
    layerNorms = normBias = qkvBias = outBias = mlpBias = headBias = True
    preNorms = ["input_layernorm"]
    out, finalNorm = "dense", "model.final_layernorm"
    mlpNames = ["fc1", "fc2"]

    def turn(self, head, position):
        return rotateHalves(head, position, len(head) // 2, 10000.0)

    def logits(self, ids):
        x = self.embed(ids)
        for at in self.places():
            y = self.norm(at + "input_layernorm", x)
            x = add(x, self.attention(at, y), self.plain(at, y, geluTanh))
        return self.head(x)


class LlamaYarn(LlamaNames):
    """Lanes that turn often stay, the others are slowed."""

    CONFIG = {**BASE, "model_type": "llama", "head_dim": 16,
              "architectures": ["LlamaForCausalLM"], "rms_norm_eps": 1e-5,
              "rope_theta": 100.0, "rope_scaling": {
                  "rope_type": "yarn", "factor": 4.0, "beta_fast": 8,
                  "beta_slow": 1, "original_max_position_embeddings": 64}}

    def turn(self, head, position):
        n, factor = len(head) // 2, 4.0

        def pair(turns):
            return n * math.log(64 / (turns * 2 * math.pi)) / math.log(100.0)

        low, high = max(math.floor(pair(8)), 0), math.ceil(pair(1))
        high = min(high, len(head) - 1)
        frequency = []
        for j in range(n):
            slow = min(max((j - low) / (high - low), 0), 1)
            plain = 100.0 ** (-j / n)
            frequency.append(plain / factor * slow + plain * (1 - slow))
        turned = rotateHalves(head, position, len(head), 100.0, frequency)
        grown = 0.1 * math.log(factor) + 1
        return [x * grown for x in turned]


class LlamaOdd(LlamaNames):
    """Settings that few models have: all biases, heads of another size, the
    older form of a linear scaling, a tied head."""

    CONFIG = {**BASE, "model_type": "llama", "head_dim": 10,
              "architectures": ["LlamaForCausalLM"], "rms_norm_eps": 1e-5,
              "attention_bias": True, "mlp_bias": True, "hidden_act": "gelu",
              "rope_theta": 500.0, "tie_word_embeddings": True,
              "rope_scaling": {"type": "linear", "factor": 2}}
    qkvBias = outBias = mlpBias = True

    def turn(self, head, position):
        return rotateHalves(head, position / 2, len(head), 500.0)

    def logits(self, ids):
        x = self.embed(ids)
        for at in self.places():
            y = self.norm(at + "input_layernorm", x)
            x = add(x, self.attention(at, y))
            y = self.norm(at + "post_attention_layernorm", x)
            x = add(x, self.gated(at, y, gelu))
        return self.head(x)


class GptNeoX(Model):
    """Blocks one after another, no biases of attention, the older keys."""

    CONFIG = {"model_type": "gpt_neox",
              "architectures": ["GPTNeoXForCausalLM"], "vocab_size": 53,
              "hidden_size": 24, "intermediate_size": 37,
              "num_hidden_layers": 3, "num_attention_heads": 3,
              "max_position_embeddings": 64, "hidden_act": "gelu",
              "layer_norm_eps": 1e-5, "rotary_pct": 0.5,
              "rotary_emb_base": 500, "use_parallel_residual": False,
              "attention_bias": False, "tie_word_embeddings": True,
              "torch_dtype": "float32"}
    layerNorms = True

    def tensors(self):
        c = self.config
        d, ffn = c["hidden_size"], c["intermediate_size"]
        shapes = {"gpt_neox.embed_in.weight": [c["vocab_size"], d]}
        for i in range(c["num_hidden_layers"]):
            at = "gpt_neox.layers.%d." % i
            for name in ("input_layernorm", "post_attention_layernorm"):
                shapes.update(normShapes(at + name, d, True))
            for name, out, size, bias in (
                ("attention.query_key_value", 3 * d, d, False),
                ("attention.dense", d, d, False),
                ("mlp.dense_h_to_4h", ffn, d, True),
                ("mlp.dense_4h_to_h", d, ffn, True),
            ):
                shapes.update(linearShapes(at + name, out, size, bias))
        shapes.update(normShapes("gpt_neox.final_layer_norm", d, True))
        return shapes

    def logits(self, ids):
        c = self.config
        size = c["hidden_size"] // c["num_attention_heads"]
        table = self.matrix("gpt_neox.embed_in.weight")
        x = [table[i] for i in ids]
        for i in range(c["num_hidden_layers"]):
            at = "gpt_neox.layers.%d." % i
            y = self.norm(at + "input_layernorm", x)
            fused = [split(row, size) for row in
                     self.linear(at + "attention.query_key_value", y)]
            q, k, v = ([row[part::3] for row in fused] for part in range(3))
            q, k = ([[rotateHalves(h, p, size // 2, 500.0) for h in r]
                     for p, r in enumerate(rows)] for rows in (q, k))
            x = add(x, self.linear(at + "attention.dense",
                                   attend(q, k, v, size ** -0.5)))
            y = self.norm(at + "post_attention_layernorm", x)
            y = [[gelu(u) for u in r]
                 for r in self.linear(at + "mlp.dense_h_to_4h", y)]
            x = add(x, self.linear(at + "mlp.dense_4h_to_h", y))
        x = self.norm("gpt_neox.final_layer_norm", x)
        return [[dot(row, w) for w in table] for row in x]


class GptJ(Model):
    CONFIG = {"model_type": "gptj", "architectures": ["GPTJForCausalLM"],
              "vocab_size": 53, "n_embd": 32, "n_layer": 3, "n_head": 4,
              "n_positions": 64, "n_inner": None, "rotary_dim": 4,
              "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
              "tie_word_embeddings": False, "torch_dtype": "float32"}
    layerNorms = True

    def tensors(self):
        c = self.config
        d, v = c["n_embd"], c["vocab_size"]
        shapes = {"transformer.wte.weight": [v, d]}
        for i in range(c["n_layer"]):
            at = "transformer.h.%d." % i
            shapes.update(normShapes(at + "ln_1", d, True))
            for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
                shapes.update(linearShapes(at + "attn." + name, d, d, False))
            shapes.update(linearShapes(at + "mlp.fc_in", 4 * d, d, True))
            shapes.update(linearShapes(at + "mlp.fc_out", d, 4 * d, True))
        shapes.update(normShapes("transformer.ln_f", d, True))
        shapes.update(linearShapes("lm_head", v, d, True))
        return shapes

    def logits(self, ids):
        c = self.config
        size = c["n_embd"] // c["n_head"]
        table = self.matrix("transformer.wte.weight")
        x = [table[i] for i in ids]
        for i in range(c["n_layer"]):
            at = "transformer.h.%d." % i
            y = self.norm(at + "ln_1", x)
            q, k, v = ([split(r, size) for r in
                        self.linear(at + "attn." + n + "_proj", y)]
                       for n in "qkv")
            q, k = ([[rotatePairs(h, p, c["rotary_dim"], 10000.0) for h in r]
                     for p, r in enumerate(rows)] for rows in (q, k))
            a = self.linear(at + "attn.out_proj",
                            attend(q, k, v, size ** -0.5))
            m = [[geluTanh(u) for u in r]
                 for r in self.linear(at + "mlp.fc_in", y)]
            x = add(x, a, self.linear(at + "mlp.fc_out", m))
        return self.linear("lm_head", self.norm("transformer.ln_f", x))


class Bloom(Model):
    CONFIG = {"model_type": "bloom", "architectures": ["BloomForCausalLM"],
              "vocab_size": 53, "hidden_size": 24, "n_layer": 3, "n_head": 6,
              "layer_norm_epsilon": 1e-5, "torch_dtype": "float32",
              "apply_residual_connection_post_layernorm": False}
    layerNorms = True

    def tensors(self):
        c = self.config
        d = c["hidden_size"]
        shapes = {"transformer.word_embeddings.weight": [c["vocab_size"], d]}
        shapes.update(
            normShapes("transformer.word_embeddings_layernorm", d, True))
        for i in range(c["n_layer"]):
            at = "transformer.h.%d." % i
            for name in ("input_layernorm", "post_attention_layernorm"):
                shapes.update(normShapes(at + name, d, True))
            for name, out, size in (
                ("self_attention.query_key_value", 3 * d, d),
                ("self_attention.dense", d, d),
                ("mlp.dense_h_to_4h", 4 * d, d),
                ("mlp.dense_4h_to_h", d, 4 * d),
            ):
                shapes.update(linearShapes(at + name, out, size, True))
        shapes.update(normShapes("transformer.ln_f", d, True))
        return shapes

    def logits(self, ids):
        c = self.config
        heads = c["n_head"]
        size = c["hidden_size"] // heads
        normed = c["apply_residual_connection_post_layernorm"]
        table = self.matrix("transformer.word_embeddings.weight")
        x = self.norm("transformer.word_embeddings_layernorm",
                      [table[i] for i in ids])
        for i in range(c["n_layer"]):
            at = "transformer.h.%d." % i
            y = self.norm(at + "input_layernorm", x)
            fused = [split(row, size) for row in
                     self.linear(at + "self_attention.query_key_value", y)]
            # A head's query, key and value stand together.
            q, k, v = ([row[part::3] for row in fused] for part in range(3))
            a = self.linear(at + "self_attention.dense",
                            attend(q, k, v, size ** -0.5,
                                   slopes=alibiSlopes(heads)))
            x = add(y if normed else x, a)
            y = self.norm(at + "post_attention_layernorm", x)
            m = [[geluTanh(u) for u in r]
                 for r in self.linear(at + "mlp.dense_h_to_4h", y)]
            x = add(y if normed else x,
                    self.linear(at + "mlp.dense_4h_to_h", m))
        x = self.norm("transformer.ln_f", x)
        return [[dot(row, w) for w in table] for row in x]


class BloomNormed(Bloom):
    CONFIG = {**Bloom.CONFIG,
              "apply_residual_connection_post_layernorm": True}


class Opt(Model):
    CONFIG = {"model_type": "opt", "architectures": ["OPTForCausalLM"],
              "vocab_size": 53, "hidden_size": 24, "ffn_dim": 37,
              "num_hidden_layers": 3, "num_attention_heads": 4,
              "max_position_embeddings": 40, "word_embed_proj_dim": 24,
              "do_layer_norm_before": True, "activation_function": "relu",
              "enable_bias": True, "layer_norm_elementwise_affine": True,
              "tie_word_embeddings": True, "torch_dtype": "float32",
              "_remove_final_layer_norm": False}
    layerNorms = True

    def tensors(self):
        c = self.config
        d, e = c["hidden_size"], c["word_embed_proj_dim"]
        at = "model.decoder."
        shapes = {
            at + "embed_tokens.weight": [c["vocab_size"], e],
            at + "embed_positions.weight":
                [c["max_position_embeddings"] + 2, d],
        }
        if d != e:
            shapes.update(linearShapes(at + "project_in", d, e, False))
            shapes.update(linearShapes(at + "project_out", e, d, False))
        if c["do_layer_norm_before"]:
            shapes.update(normShapes(at + "final_layer_norm", d, True))
        for i in range(c["num_hidden_layers"]):
            layer = at + "layers.%d." % i
            for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
                shapes.update(linearShapes(layer + "self_attn." + name, d, d,
                                           True))
            shapes.update(linearShapes(layer + "fc1", c["ffn_dim"], d, True))
            shapes.update(linearShapes(layer + "fc2", d, c["ffn_dim"], True))
            for name in ("self_attn_layer_norm", "final_layer_norm"):
                shapes.update(normShapes(layer + name, d, True))
        return shapes

    def logits(self, ids, mask=None):
        c = self.config
        at, before = "model.decoder.", c["do_layer_norm_before"]
        size = c["hidden_size"] // c["num_attention_heads"]
        shown = mask or [1] * len(ids)
        table = self.matrix(at + "embed_tokens.weight")
        x = [table[i] for i in ids]
        if at + "project_in.weight" in self.weights:
            x = self.linear(at + "project_in", x)
        rows = self.matrix(at + "embed_positions.weight")
        # A token's position counts the shown ones before it.
        x = add(x, [rows[(sum(shown[: i + 1]) * shown[i] - 1) + 2]
                    for i in range(len(ids))])
        for i in range(c["num_hidden_layers"]):
            layer = at + "layers.%d." % i
            y = self.norm(layer + "self_attn_layer_norm", x) if before else x
            q, k, v = ([split(r, size) for r in
                        self.linear(layer + "self_attn." + n + "_proj", y)]
                       for n in "qkv")
            y = attend(q, k, v, size ** -0.5, mask=mask)
            x = add(x, self.linear(layer + "self_attn.out_proj", y))
            if not before:
                x = self.norm(layer + "self_attn_layer_norm", x)
            y = self.norm(layer + "final_layer_norm", x) if before else x
            y = [[relu(u) for u in r] for r in self.linear(layer + "fc1", y)]
            x = add(x, self.linear(layer + "fc2", y))
            if not before:
                x = self.norm(layer + "final_layer_norm", x)
        if before:
            x = self.norm(at + "final_layer_norm", x)
        if at + "project_out.weight" in self.weights:
            x = self.linear(at + "project_out", x)
        return [[dot(row, w) for w in table] for row in x]


class OptProjected(Opt):
    """As the 350m model: a narrow table, and norms behind the sums."""

    CONFIG = {**Opt.CONFIG, "word_embed_proj_dim": 10,
              "do_layer_norm_before": False}


FAMILIES = {
    "granite": Granite,
    "olmo2": Olmo2,
    "cohere": Cohere,
    "stablelm": StableLm,
    "stablelm-parallel": StableLmParallel,
    "starcoder2": Starcoder2,
    "phi": Phi,
    "llama-yarn": LlamaYarn,
    "llama-odd": LlamaOdd,
    "gpt-neox": GptNeoX,
    "gptj": GptJ,
    "bloom": Bloom,
    "bloom-normed": BloomNormed,
    "opt": Opt,
    "opt-projected": OptProjected,
}
