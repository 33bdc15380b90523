"""Training with --layout-invariant: the same losses, gradient norms and
weights on every layout, to the bit, and what is refused instead."""

import json
import os

import programs

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "vocab_size": 128, "hidden_size": 48, "intermediate_size": 80,
    "num_hidden_layers": 3, "num_attention_heads": 8,
    "num_key_value_heads": 4, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5, "hidden_act": "silu", "initializer_range": 0.05,
    "tie_word_embeddings": False,
}
# Three layers, three heads of keys for six of queries, a tied embedding of 97
# rows: pieces of 25, so that four ranks may share the vocabulary but not two.
ODD = dict(LLAMA, vocab_size=97, hidden_size=50, intermediate_size=83,
           num_attention_heads=6, num_key_value_heads=3, head_dim=10,
           tie_word_embeddings=True)
GPT2 = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
    "vocab_size": 128, "n_embd": 48, "n_head": 4, "n_inner": 120,
    "n_layer": 2, "n_positions": 64, "initializer_range": 0.05,
    "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
}
MODELS = {"llama": LLAMA, "odd": ODD, "gpt2": GPT2}
# With odd sizes of their own: as many pieces as ranks that split them.
FAMILIES = ["gemma2", "gpt-neox", "mistral", "phi3", "qwen2"]
TWO = ["--microbatches", "2"]
BF16 = ["--dtype", "bf16"]
# (model, flags that count as the numbers' own, layouts)
SHORT = [
    ("llama", [], ["tp=2", "tp=4", "dp=2 --zero 1", "dp=2 --zero 3",
                   "pp=2,tp=2", "--threads 2"]),
    ("odd", TWO, ["pp=3", "dp=4 --zero 2"]),
    ("gpt2", [], ["tp=2", "pp=2"]),
]
ALL = [
    ("llama", [], ["tp=2", "tp=4", "dp=2", "dp=4", "dp=2 --zero 1",
                   "dp=2 --zero 2", "dp=2 --zero 3", "dp=4 --zero 1", "fsdp=2",
                   "dp=2,fsdp=2", "pp=2", "pp=3", "pp=2,tp=2", "pp=2,dp=2",
                   "dp=2,tp=2", "dp=2,tp=2 --zero 3", "dp=2,tp=4 --zero 1",
                   "pp=2,dp=2,tp=2 --zero 1", "--recompute full",
                   "tp=2 --recompute selective", "--threads 2", "--threads 3",
                   "tp=2 --threads 2"]),
    ("llama", TWO, ["tp=4", "dp=2", "dp=4 --zero 1", "dp=2 --zero 2", "pp=2",
                    "pp=3 --schedule gpipe", "pp=2 --schedule zb-h1",
                    "pp=2 --schedule interleaved --virtual-stages 2",
                    "pp=2,dp=2,tp=2 --zero 3"]),
    ("odd", TWO, ["tp=4", "dp=2", "dp=4", "pp=3", "pp=2,dp=2", "dp=4 --zero 2",
                  "dp=4 --zero 3", "pp=3 --recompute full"]),
    ("gpt2", [], ["tp=2", "tp=4", "dp=2", "dp=2 --zero 1", "dp=2 --zero 3",
                  "pp=2", "pp=2,tp=2", "dp=2,tp=2", "pp=2,dp=2,tp=2"]),
    ("llama", BF16, ["tp=2", "tp=4", "dp=2 --zero 1", "dp=2 --zero 3",
                     "pp=2,tp=2"]),
]
ALL += [(name, ["--layout-invariant", "2"],
         ["tp=2", "dp=2 --zero 1", "pp=2,tp=2", "dp=2,tp=2 --zero 3"])
        for name in FAMILIES]


class LayoutInvariantTest(programs.ProgramTest):
    def setUp(self):
        super().setUp()
        self.text = programs.asset("text", "tinyshakespeare.txt")
        self.runs = 0
        models = dict(MODELS)
        for name in FAMILIES:
            with open(programs.asset("models", name, "config.json")) as file:
                models[name] = json.load(file)
        for name, config in models.items():
            os.mkdir(self.path(name))
            with open(self.path(name) + "/config.json", "w") as file:
                json.dump(config, file)
        # Vocabularies have fewer rows than bytes have values.
        self.ids = self.path("ids.bin")
        with open(self.text, "rb") as text, open(self.ids, "wb") as file:
            for byte in text.read(20000):
                file.write(bytes([byte % 97, 0]))

    def arguments(self, model, flags, layout):
        flags = list(flags) + layout.split()
        if "=" in layout.split(" ")[0]:
            flags.insert(len(flags) - len(layout.split()), "--mesh")
        if "--threads" not in flags:
            flags += ["--threads", "1"]
        if "--layout-invariant" not in flags:
            flags += ["--layout-invariant", "4"]
        if "--resume" not in flags:
            flags += ["--init", "3"]
        return ["train", self.path(model), "--data", self.ids,
                "--data-type", "uint16", "--batch", "8", "--seq", "16", "--lr",
                "1e-2", "--clip", "1"] + flags

    def train(self, model, flags, layout, steps, environment=None,
              folder=None):
        """(losses and norms of all steps, all weights)"""
        self.runs += 1
        folder = folder or self.path("ck%d" % self.runs)
        log = folder + ".jsonl"
        code, _, err = programs.run(
            ["-q"] + self.arguments(model, flags, layout) +
            ["--steps", str(steps), "--log", log, "--checkpoint-dir", folder],
            environment)
        self.assertEqual(code, 0, layout + "\n" + err)
        exported = "%s-hf%d" % (folder, self.runs)
        code, _, err = programs.run(["-q", "checkpoint", "export", folder,
                                     "-o", exported])
        self.assertEqual(code, 0, err)
        with open(log) as lines:
            steps = [json.loads(line) for line in lines]
        with open(exported + "/model.safetensors", "rb") as file:
            weights = file.read()
        return [(s["loss"], s["grad_norm"]) for s in steps], weights

    def expectTheSame(self, table, steps, environment=None):
        for model, flags, layouts in table:
            want = self.train(model, flags, "", steps, environment)
            self.assertEqual(len(want[0]), steps)
            self.assertLess(want[0][-1][0], want[0][0][0])
            for layout in layouts:
                with self.subTest(model=model, flags=flags, layout=layout):
                    got = self.train(model, flags, layout, steps, environment)
                    self.assertEqual(got[0], want[0])
                    self.assertTrue(got[1] == want[1], "other weights")

    def test_layoutsChangeNoBit(self):
        self.expectTheSame(ALL if programs.everything() else SHORT,
                           20 if programs.everything() else 5)

    def test_norDoTheyOnOtherMachines(self):
        self.expectTheSame([("llama", [], ["tp=2", "dp=2 --zero 1"])],
                           5, {"ONEDNN_MAX_CPU_ISA": "AVX2"})

    def test_aRunMayGoOnOnAnother(self):
        want = self.train("llama", [], "", 6)
        folder = self.path("moves")
        for steps, layout in ((2, "tp=2"), (4, "dp=2 --zero 3 --resume"),
                              (6, "pp=2 --resume")):
            got = self.train("llama", [], layout, steps, folder=folder)
        self.assertEqual(got[0], want[0])
        self.assertTrue(got[1] == want[1], "other weights")

    def test_withoutItTheyDo(self):
        """That the test sees a difference where there is one."""
        free = ["--layout-invariant", "1"]
        one = self.train("llama", free, "", 5)
        self.assertNotEqual(one, self.train("llama", [], "", 5))

    def expectRefused(self, model, layout, *parts):
        code, _, err = programs.run(self.arguments(model, [], layout) +
                                    ["--steps", "1"])
        self.assertIn(code, (1, 2), err)
        for part in parts:
            self.assertIn(part, err)

    def test_shardsThatEndWithinPieces(self):
        self.expectRefused("odd", "tp=2", "97 lanes split over \"tp\"",
                           "pieces of 25, got 49 lanes", "take another mesh")

    def test_numbersThatAreNoPowers(self):
        self.expectRefused("llama", "tp=3", "a shard must be a power of two")
        self.expectRefused("llama", "tp=2 --layout-invariant 3",
                           "--layout-invariant")

    def test_splitSequences(self):
        self.expectRefused("llama", "tp=2 --sequence-parallel", "rms_norm_grad",
                           "that dimension must be whole")


if __name__ == "__main__":
    programs.main()
