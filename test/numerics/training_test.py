"""Training steps of tiny models on many layouts against float64: the loss,
every gradient, three steps of AdamW and the weights that they leave."""

import json
import math
import shutil
import struct

import layouts
import programs
import tensors

GRADIENTS = 2e-5  # relative L2 of each
ZERO_NORM = 1e-6  # of gradients that are zero, by the norm of all
LOSSES = 1e-4     # relative, of each step
WEIGHTS = 1e-3    # relative L2 of each, behind three steps
INPUTS = ["input_ids", "labels", "attention_mask", "token_type_ids"]

# One layout each shows a family's own operations; what layouts have of their
# own comes up once for two models that differ in all they could disagree on.
SHORT = {
    "llama": [layouts.Layout(),
              layouts.Layout(dp=2, tp=2, sp=True, zero=1, microbatches=2),
              layouts.Layout(pp=2, tp=2, microbatches=2, schedule="1f1b")],
    "llama-tied-odd": [layouts.Layout(tp=4, microbatches=2),
                       layouts.Layout(pp=2, dp=2, zero=3, microbatches=1)],
    "gpt2": [layouts.Layout(tp=3), layouts.Layout(dp=3, zero=2)],
    "mistral": [layouts.Layout(tp=2)],
    "qwen2": [layouts.Layout(dp=2)],
    "qwen3": [layouts.Layout(pp=2, microbatches=2)],
    "phi3": [layouts.Layout(tp=2)],
    "gemma2": [layouts.Layout(tp=2, sp=True)],
    "gpt-neox": [layouts.Layout(dp=2, zero=1)],
    "bert": [layouts.Layout(tp=2, dp=2)],
}


def about(path):
    """What a file of known answers says of itself."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return json.loads(header["__metadata__"]["about"])


def split(name, tensor, zeros):
    """The values of a gradient that count, and those whose exact value is
    zero."""
    ranges = zeros.get(name, [])
    counted, zero, at = [], [], 0
    for begin, end in sorted(map(tuple, ranges)):
        counted += tensor.values[at:begin]
        zero += tensor.values[begin:end]
        at = end
    counted += tensor.values[at:]
    return counted, zero


def norm(values):
    return math.sqrt(sum(v * v for v in values))


def difference(got, expected):
    """Relative L2; infinite where something is no number."""
    distance = norm([a - b for a, b in zip(got, expected)])
    if math.isnan(distance):
        return math.inf
    return distance / max(norm(expected), 1e-300)


class TrainingTest(programs.ProgramTest):
    def prepare(self, name):
        self.model = programs.asset("models", name)
        path = self.model + "/expected.safetensors"
        self.expected = tensors.read(path)
        self.zeros = about(path).get("zero_grad", {})
        tensors.write(self.path("batch.safetensors"),
                      {key: self.expected[key] for key in INPUTS
                       if key in self.expected})

    def shape(self):
        rows, length = self.expected["input_ids"].shape
        return ["--batch", str(rows), "--max-seq", str(length), "--dtype",
                "f32"]

    def checkGradients(self, layout):
        self.compile(self.model, self.path("plan"), "--entry", "gradients",
                     *self.shape(), *layout.flags())
        self.tandem("-q", "run", self.path("plan"), "--inputs",
                    self.path("batch.safetensors"), "--outputs",
                    self.path("out"), "--threads", "1")
        got = tensors.read(self.path("out"))
        expected = {name: tensor for name, tensor in self.expected.items()
                    if name.startswith("grad.")}
        self.assertEqual(set(got), {"loss", *expected})
        self.assertAlmostEqual(got["loss"].values[0],
                               self.expected["loss"].values[0], delta=1e-5)
        whole = norm([norm(t.values) for t in expected.values()])
        for name, tensor in expected.items():
            self.assertEqual(got[name].shape, tensor.shape, name)
            key = name[len("grad."):]
            ours, zero = split(key, got[name], self.zeros)
            theirs, _ = split(key, tensor, self.zeros)
            if theirs:
                self.assertLessEqual(difference(ours, theirs), GRADIENTS, name)
            self.assertLessEqual(norm(zero), ZERO_NORM * whole, name)

    def train(self, layout, steps, *arguments):
        """The log of that many steps of AdamW on the batch."""
        self.tandem("-q", "train", self.model, "--data",
                    self.path("batch.safetensors"), *self.shape(),
                    *layout.flags(), "--steps", str(steps), "--lr", "1e-2",
                    "--beta1", "0.9", "--beta2", "0.95", "--eps", "1e-8",
                    "--weight-decay", "0.1", "--clip", "1", "--log",
                    self.path("log"), "--threads", "1", "--checkpoint-dir",
                    self.path("run"), *arguments)
        with open(self.path("log")) as log:
            return [json.loads(line) for line in log]

    def checkWeights(self):
        """Those that a checkpoint of three steps exports."""
        self.tandem("-q", "checkpoint", "export", self.path("run"), "-o",
                    self.path("model"))
        got = tensors.readModel(self.path("model"))
        expected = {name[len("param3."):]: tensor
                    for name, tensor in self.expected.items()
                    if name.startswith("param3.")}
        self.assertEqual(set(got), set(expected))
        for name, tensor in expected.items():
            self.assertEqual(got[name].shape, tensor.shape, name)
            ours, _ = split(name, got[name], self.zeros)
            theirs, _ = split(name, tensor, self.zeros)
            if theirs:
                self.assertLessEqual(difference(ours, theirs), WEIGHTS, name)

    def checkSteps(self, layout):
        for name in ("run", "model"):
            shutil.rmtree(self.path(name), ignore_errors=True)
        self.train(layout, 3)
        self.checkWeights()
        # The fourth step's loss is that behind the third.
        log = self.train(layout, 4, "--resume")
        self.assertEqual([line["step"] for line in log], [1, 2, 3, 4])
        for line, loss in zip(log, self.expected["losses"].values):
            self.assertLessEqual(abs(line["loss"] - loss), LOSSES * abs(loss))
        for line, size in zip(log, self.expected["grad_norm"].values):
            self.assertLessEqual(abs(line["grad_norm"] - size), LOSSES * size)

    def check(self, name, layout):
        with self.subTest(model=name, layout=str(layout)):
            self.checkGradients(layout)
            self.checkSteps(layout)

    def test_layouts(self):
        for name, short in SHORT.items():
            self.prepare(name)
            if not programs.everything():
                for layout in short:
                    self.check(name, layout)
        if programs.everything():
            for i, layout in enumerate(layouts.generated(120)):
                name = layouts.MODELS[i % len(layouts.MODELS)]
                self.prepare(name)
                self.check(name, layout)


if __name__ == "__main__":
    programs.asset("models")
    programs.main()
