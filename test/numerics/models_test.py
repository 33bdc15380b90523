"""Tiny models on many meshes against logits computed in float64."""

import os
import sys

import programs
import tensors

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "collectives"))
import strategies  # noqa: E402

TOLERANCE = 1e-4

# What each mesh reaches that no other does: heads that do not divide (tied-odd
# has 6 query and 3 KV heads), layers that do not divide, an uneven vocabulary.
# The other families need one mesh each: what is their own is in every layer.
SHORT = {
    "llama": ["", "tp=2", "tp=5", "pp=3", "pp=2,tp=4"],
    "llama-tied-odd": ["tp=2", "tp=4", "tp=5", "pp=3,tp=2"],
    "gpt2": ["", "tp=3", "tp=5", "pp=2,tp=2"],
    "mistral": ["tp=3"],
    "qwen2": ["pp=2,tp=2"],
    "qwen3": ["tp=4"],
    "phi3": ["pp=2,tp=2"],
    "gemma2": ["tp=2", "pp=2,tp=4"],
    "gpt-neox": ["tp=3"],
    "bert": ["tp=2", "pp=2,tp=3"],
}
# What a file of known answers may hold for an entry to read.
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


class ModelsTest(programs.ProgramTest):
    def logits(self, model, mesh, expected, *arguments):
        """The plan's logits of the expected file's ids."""
        tensors.write(self.path("in"), {name: expected[name]
                                        for name in INPUTS if name in expected})
        batch, length = expected["input_ids"].shape
        # Longer than the ids, so that padding is cut off again.
        self.compile(model, self.path("plan"), "--entry", "logits", "--batch",
                     str(batch), "--max-seq", str(length + 3),
                     *(["--mesh", mesh] if mesh else []), *arguments)
        self.tandem("-q", "run", self.path("plan"), "--inputs",
                    self.path("in"), "--outputs", self.path("out"),
                    "--threads", "1")
        return tensors.read(self.path("out"))["logits"]

    def check(self, name, mesh):
        model = programs.asset("models", name)
        expected = tensors.read(model + "/expected.safetensors")
        with self.subTest(model=name, mesh=mesh or "one rank"):
            logits = self.logits(model, mesh, expected)
            self.assertEqual(logits.shape, expected["logits"].shape)
            self.assertEqual(logits.dtype, "F32")
            self.assertLessEqual(
                tensors.distance(logits.values, expected["logits"].values),
                TOLERANCE)
            if "greedy" not in expected:
                return
            prompt = expected["input_ids"].values[:5]
            got = self.generate(model, "--prompt-ids",
                                ",".join(map(str, prompt)), "--tokens", "16",
                                *(["--mesh", mesh] if mesh else []))
            self.assertEqual(got["ids"], list(expected["greedy"].values))
            self.assertEqual(got["stop"], "length")
            self.assertIsNone(got["text"])

    def test_logitsAndGreedyIds(self):
        for name, short in SHORT.items():
            for mesh in programs.allMeshes() if programs.everything() else short:
                self.check(name, mesh)

    def test_strategies(self):
        """The classic layouts, of sizes that divide by nothing."""
        for name in ("gpt2", "llama"):
            model = programs.asset("models", name)
            expected = tensors.read(model + "/expected.safetensors")
            for strategy in strategies.STRATEGIES:
                with self.subTest(model=name, strategy=strategy):
                    mesh, path = strategies.annotations(name, strategy)
                    logits = self.logits(model, mesh, expected, "--annotate",
                                         path)
                    self.assertLessEqual(
                        tensors.distance(logits.values,
                                         expected["logits"].values),
                        TOLERANCE)

    def test_sameInputSameBytes(self):
        model = programs.asset("models", "llama-tied-odd")
        plans = []
        for name in ("one", "two"):
            self.compile(model, self.path(name), "--mesh", "pp=2,tp=4",
                         "--max-seq", "32")
            with open(self.path(name), "rb") as plan:
                plans.append(plan.read())
        self.assertTrue(plans[0] == plans[1], "two plans of one input differ")

    def test_samePlanSameBits(self):
        model = programs.asset("models", "gpt2")
        expected = tensors.read(model + "/expected.safetensors")
        first = self.logits(model, "pp=2,tp=2", expected).values
        for _ in range(2):
            self.tandem("-q", "run", self.path("plan"), "--inputs",
                        self.path("in"), "--outputs", self.path("out"),
                        "--threads", "1")
            again = tensors.read(self.path("out"))["logits"].values
            self.assertTrue(again == first, "two runs of one plan differ")


if __name__ == "__main__":
    programs.asset("models")
    programs.main()
