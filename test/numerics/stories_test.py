"""stories260k, a trained model: 200 known tokens on every mesh and format."""

import json
import math
import os
import shutil
import subprocess
import unittest

import programs
import tensors

# The model has five layers and four KV heads.
MESHES = ["", "tp=2", "tp=3", "tp=4", "pp=2", "pp=5", "pp=2,tp=2"]


def meshes(short):
    return list(programs.allMeshes()) if programs.everything() else short


class StoriesTest(programs.ProgramTest):
    def setUp(self):
        super().setUp()
        self.folder = programs.asset("models", "stories260k")
        with open(self.folder + "/expected.json") as file:
            self.expected = json.load(file)

    def check(self, model, expected, mesh, *arguments):
        with self.subTest(model=model, mesh=mesh or "one rank"):
            got = self.generate(model, "--prompt", "", "--tokens", "200",
                                *(["--mesh", mesh] if mesh else []),
                                *arguments)
            self.assertEqual(got["ids"], expected["ids"])
            self.assertEqual(got["text"], expected["text"])
            self.assertEqual(got["prompt_ids"], [self.expected["bos"]])

    def test_safetensorsOnEveryMesh(self):
        for mesh in meshes(MESHES):
            self.check(self.folder, self.expected["greedy"], mesh)

    def test_ggufOfFloats(self):
        model = programs.asset("stories260k", "stories260k-f32.gguf")
        for mesh in meshes(["tp=2"]):
            self.check(model, self.expected["greedy"], mesh)

    def test_ggufOfQ8(self):
        model = programs.asset("stories260k", "stories260k-q8_0.gguf")
        for mesh in meshes(["tp=4"]):
            self.check(model, self.expected["q8_0"]["greedy"], mesh)

    def test_textWithoutTheOption(self):
        """On a pipe the text comes whole and nothing else does."""
        text = self.tandem("-q", "generate", self.folder, "--prompt", "",
                           "--tokens", "40", "--ignore-eos", "--threads", "1")
        whole = self.expected["greedy"]["text"]
        self.assertTrue(whole.startswith(text.strip()), text)
        self.assertGreater(len(text), 60)

    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_processesUnderMpirun(self):
        """Four processes write what threads of one do."""
        self.compile(self.folder, self.path("plan"), "--mesh", "pp=2,tp=2",
                     "--max-seq", "256")
        done = subprocess.run(
            ["mpirun", "-n", "4", "--oversubscribe", "--allow-run-as-root",
             os.path.join(programs.BIN, "tandem"), "-q", "generate",
             self.path("plan"), "--prompt", "", "--tokens", "60",
             "--ignore-eos", "--json", "--threads", "1"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(json.loads(done.stdout)["ids"],
                         self.expected["greedy"]["ids"][:60])

    def passageLoss(self, model, passage, mesh):
        """The mean cross entropy of a passage's predictions."""
        ids = passage["ids"]
        tensors.write(self.path("in"),
                      {"input_ids": tensors.Tensor("I64", [1, len(ids)], ids)})
        self.compile(model, self.path("plan"), "--entry", "logits",
                     "--max-seq", str(len(ids)),
                     *(["--mesh", mesh] if mesh else []))
        self.tandem("-q", "run", self.path("plan"), "--inputs",
                    self.path("in"), "--outputs", self.path("out"))
        logits = tensors.read(self.path("out"))["logits"]
        loss = 0.0
        for i, label in enumerate(ids[1:]):
            row = logits.row(0, i)
            most = max(row)
            loss += math.log(sum(math.exp(x - most) for x in row))
            loss -= row[label] - most
        return loss / (len(ids) - 1)

    def test_lossOfThePassage(self):
        q8 = programs.asset("stories260k", "stories260k-q8_0.gguf")
        for model, expected, mesh in (
            (self.folder, self.expected["passage"], ""),
            (self.folder, self.expected["passage"], "pp=2,tp=3"),
            (q8, self.expected["q8_0"]["passage"], "tp=2"),
        ):
            with self.subTest(model=model, mesh=mesh or "one rank"):
                loss = self.passageLoss(model, expected, mesh)
                self.assertAlmostEqual(loss, expected["loss"], delta=1e-5)

    def test_sameSeedSameText(self):
        """A seed's text does not depend on how the model is split."""
        texts = [
            self.generate(self.folder, "--prompt", "Once", "--tokens", "48",
                          "--temperature", "0.8", "--top-p", "0.9", "--seed",
                          "7", "--mesh", mesh)["ids"]
            for mesh in ("tp=1", "tp=1", "pp=2")
        ]
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])


if __name__ == "__main__":
    programs.asset("models", "stories260k")
    programs.main()
