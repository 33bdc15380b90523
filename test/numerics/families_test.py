"""Families with random weights, against what their definitions give."""

import json
import os
import random
import subprocess

import families
import programs
import tensors

TOLERANCE = 1e-4
# The evaluator computes in float64, but constants of a model are float32.
EXACT = 1e-6
LENGTH, NEW = 9, 6
SHORT = ["", "pp=2,tp=4"]


class FamiliesTest(programs.ProgramTest):
    def write(self, name, model):
        """The model as a directory."""
        folder = self.path(name)
        os.mkdir(folder)
        with open(folder + "/config.json", "w") as file:
            json.dump(model.config, file)
        tensors.write(folder + "/model.safetensors", {
            key: tensors.Tensor("F32", model.shapes[key], values)
            for key, values in model.weights.items()
        })
        return folder

    def logits(self, folder, inputs, mesh):
        tensors.write(self.path("in"), inputs)
        more = ["--attention-mask"] if "attention_mask" in inputs else []
        if mesh:
            more += ["--mesh", mesh]
        self.compile(folder, self.path("plan"), "--entry", "logits",
                     "--max-seq", str(LENGTH + 3), "--strict", *more)
        self.tandem("-q", "run", self.path("plan"), "--inputs",
                    self.path("in"), "--outputs", self.path("out"),
                    "--threads", "1")
        return tensors.read(self.path("out"))["logits"].values

    def evaluated(self, folder, inputs):
        """The same by the reference evaluator, in float64."""
        tensors.write(self.path("in"), inputs)
        subprocess.run(
            [os.path.join(programs.BIN, "evaluate_model"), folder,
             self.path("in"), self.path("out")], check=True, timeout=240)
        return tensors.read(self.path("out"))["logits"].values

    def check(self, name):
        kind = families.FAMILIES[name]
        model = kind(kind.CONFIG, name)
        folder = self.write(name, model)
        draw = random.Random(name + " ids")
        ids = [draw.randrange(model.config["vocab_size"])
               for _ in range(LENGTH)]
        inputs = {"input_ids": tensors.Tensor("I64", [1, LENGTH], ids)}
        expected = [x for row in model.logits(ids) for x in row]
        self.assertLessEqual(
            tensors.distance(self.evaluated(folder, inputs), expected), EXACT)
        greedy = model.greedy(ids[:4], NEW)
        meshes = programs.allMeshes() if programs.everything() else SHORT
        for mesh in meshes:
            with self.subTest(model=name, mesh=mesh or "one rank"):
                self.assertLessEqual(
                    tensors.distance(self.logits(folder, inputs, mesh),
                                     expected), TOLERANCE)
                got = self.generate(
                    folder, "--prompt-ids", ",".join(map(str, ids[:4])),
                    "--tokens", str(NEW), *(["--mesh", mesh] if mesh else []))
                self.assertEqual(got["ids"], greedy)

    def test_positionsCountShownTokens(self):
        """Hidden tokens in front and between, in a decoder."""
        model = families.Opt(families.Opt.CONFIG, "mask")
        folder = self.write("opt", model)
        ids, mask = [7, 3, 9, 11, 2, 5, 8, 4, 1], [0, 0, 1, 1, 0, 1, 1, 1, 1]
        inputs = {"input_ids": tensors.Tensor("I64", [1, LENGTH], ids),
                  "attention_mask": tensors.Tensor("I64", [1, LENGTH], mask)}
        # Tokens in front of the first shown one see nothing.
        expected = model.logits(ids[2:], mask[2:])
        width = model.config["vocab_size"]
        for mesh in ("", "pp=2,tp=2"):
            got = self.logits(folder, inputs, mesh)[2 * width:]
            self.assertLessEqual(
                tensors.distance(got, [x for row in expected for x in row]),
                TOLERANCE)


def addTest(name):
    def test(self):
        self.check(name)

    setattr(FamiliesTest, "test_" + name.replace("-", "_"), test)


for family in families.FAMILIES:
    addTest(family)

if __name__ == "__main__":
    programs.main()
