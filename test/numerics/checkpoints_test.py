"""Checkpoints of trained models: a run goes on from them on any layout with
the losses of one that was not stopped, and what is exported has the known
weights and is a model again."""

import json
import math
import os
import struct

import programs
import tensors

WEIGHTS = 1e-3  # relative L2 of each after three steps
LOSSES = 1e-4   # relative, of each step
INPUTS = ["input_ids", "labels", "attention_mask", "token_type_ids"]
# Where it is written, and where it goes on.
CHAINS = {
    "llama": [["--mesh", "pp=2,tp=2"], ["--mesh", "dp=2", "--zero", "3"],
              ["--mesh", "tp=3"], []],
    "llama-tied-odd": [["--mesh", "pp=2"], ["--mesh", "tp=4"], [],
                       ["--mesh", "dp=2,pp=2", "--zero", "1"]],
    "gpt2": [["--mesh", "dp=2", "--zero", "2"], ["--mesh", "tp=3"],
             ["--mesh", "pp=3"], ["--mesh", "dp=2"]],
}

# One of each form that stored tensors have.
NEW = ["llama", "gpt2", "qwen2", "phi3", "gemma2", "gpt-neox", "bert"]


def about(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return json.loads(header["__metadata__"]["about"])


def difference(got, expected, zeros):
    """Relative L2 outside of ranges whose gradient is zero."""
    skipped = {i for begin, end in zeros for i in range(begin, end)}
    pairs = [(a, b) for i, (a, b) in enumerate(zip(got, expected))
             if i not in skipped]
    square = sum((a - b) ** 2 for a, b in pairs)
    return math.sqrt(square / max(sum(b * b for _, b in pairs), 1e-300))


class CheckpointsTest(programs.ProgramTest):
    def prepare(self, name):
        self.model = programs.asset("models", name)
        path = self.model + "/expected.safetensors"
        self.expected = tensors.read(path)
        self.zeros = about(path).get("zero_grad", {})
        tensors.write(self.path("batch.safetensors"),
                      {key: self.expected[key] for key in INPUTS
                       if key in self.expected})

    def train(self, steps, *arguments):
        rows, length = self.expected["input_ids"].shape
        self.tandem("-q", "train", self.model, "--data",
                    self.path("batch.safetensors"), "--batch", str(rows),
                    "--max-seq", str(length), "--steps", str(steps), "--lr",
                    "1e-2", "--beta1", "0.9", "--beta2", "0.95", "--eps",
                    "1e-8", "--weight-decay", "0.1", "--clip", "1", "--log",
                    self.path("log"), "--threads", "1", "--checkpoint-dir",
                    self.path("out"), *arguments)

    def checkChain(self, name):
        """One step on each layout; the fourth shows the loss behind three."""
        self.prepare(name)
        for step, layout in enumerate(CHAINS[name], 1):
            self.train(step, *layout, *(["--resume"] if step > 1 else []))
            if step == 3:
                self.checkExport(name)
        with open(self.path("log")) as log:
            losses = [json.loads(line)["loss"] for line in log]
        self.assertEqual(len(losses), 4)
        for got, expected in zip(losses, self.expected["losses"].values):
            self.assertLessEqual(abs(got - expected), LOSSES * expected)
        listed = json.loads(self.tandem("checkpoint", "list", "--json",
                                        self.path("out")))
        self.assertEqual([row["step"] for row in listed], [3, 4])
        self.tandem("checkpoint", "verify", self.path("out"))

    def checkExport(self, name):
        exported = self.path("exported")
        self.tandem("checkpoint", "export", self.path("out"), "-o", exported)
        got = tensors.read(exported + "/model.safetensors")
        stored = {}
        for file in sorted(os.listdir(self.model)):
            if file.startswith("model") and file.endswith(".safetensors"):
                stored.update(tensors.read(os.path.join(self.model, file)))
        self.assertEqual({key: (t.dtype, t.shape) for key, t in got.items()},
                         {key: (t.dtype, t.shape) for key, t in stored.items()})
        self.assertEqual(self.config(exported), self.config(self.model))
        for key, tensor in got.items():
            expected = self.expected.get("param3." + key)
            if expected:
                self.assertLessEqual(
                    difference(tensor.values, expected.values,
                               self.zeros.get(key, [])), WEIGHTS, key)
        # It is a model like the one that it came from.
        self.compile(exported, self.path("logits.plan"), "--entry", "logits")

    def config(self, folder):
        with open(os.path.join(folder, "config.json")) as file:
            return json.load(file)

    def checkNewModel(self, name):
        """A new model is exported in the form of one that was read."""
        self.prepare(name)
        stored = tensors.read(self.model + "/model.safetensors")
        os.mkdir(self.path("new"))
        config = self.config(self.model)
        with open(self.path("new/config.json"), "w") as file:
            json.dump(config, file)
        self.model = self.path("new")
        self.train(1, "--init", "3", "--mesh", "tp=2")
        self.tandem("checkpoint", "export", self.path("out"), "-o",
                    self.path("exported"))
        got = tensors.read(self.path("exported/model.safetensors"))
        self.assertEqual({key: t.shape for key, t in got.items()},
                         {key: t.shape for key, t in stored.items()})
        self.assertEqual(self.config(self.path("exported")), config)

    def testWhatIsNotAsBeforeIsSaid(self):
        self.prepare("llama")
        with open(self.path("ids.bin"), "wb") as file:
            file.write(struct.pack("<600H", *[i % 101 for i in range(600)]))
        command = ["train", self.model, "--data", self.path("ids.bin"),
                   "--batch", "2", "--threads", "1", "--checkpoint-dir",
                   self.path("out")]
        self.tandem(*command, "--seq", "8", "--steps", "1")
        code, _, err = programs.run(
            command + ["--seq", "6", "--steps", "2", "--resume", "--seed", "4"])
        self.assertEqual(code, 0, err)
        self.assertIn("--seed 4 is not taken: the run goes on in the order "
                      "that its checkpoint was in, of seed 0", err)
        self.assertIn("windows were of 8 + 1 tokens, now they are of 6 + 1: "
                      "the run goes on at window 2 of another order", err)

    def testDamageIsNamed(self):
        self.prepare("llama")
        self.train(1)
        self.train(2, "--resume")
        shard = self.path("out/step-2/rank-0.safetensors")
        with open(shard, "r+b") as file:
            file.seek(-5, os.SEEK_END)
            byte = file.read(1)
            file.seek(-5, os.SEEK_END)
            file.write(bytes([byte[0] ^ 16]))
        code, out, err = programs.run(["checkpoint", "verify",
                                       self.path("out")])
        self.assertEqual(code, 1)
        self.assertIn("step-2/rank-0.safetensors: tensor '", err)
        self.assertIn("step-1: whole", out)
        rows, length = self.expected["input_ids"].shape
        code, _, err = programs.run(
            ["train", self.model, "--data", self.path("batch.safetensors"),
             "--batch", str(rows), "--max-seq", str(length), "--steps", "3",
             "--threads", "1", "--checkpoint-dir", self.path("out"),
             "--resume"])
        self.assertEqual(code, 0, err)
        self.assertIn("step-2' is damaged and set aside as step-2.broken", err)
        self.assertTrue(os.path.isdir(self.path("out/step-3")))


def addChain(name):
    setattr(CheckpointsTest, "test_" + name.replace("-", "_"),
            lambda self: self.checkChain(name))


def addNewModel(name):
    setattr(CheckpointsTest, "test_new_" + name.replace("-", "_"),
            lambda self: self.checkNewModel(name))


for each in CHAINS if programs.everything() else ["llama"]:
    addChain(each)
for each in NEW if programs.everything() else ["gpt2"]:
    addNewModel(each)

if __name__ == "__main__":
    programs.main()
