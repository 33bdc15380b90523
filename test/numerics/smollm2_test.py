"""SmolLM2-135M-Instruct (Q4_1), where the demo has fetched it."""

import glob
import json
import os

import programs
import tensors

CACHE = os.environ.get("TANDEM_MODELS", ".cache/models")


def model():
    files = sorted(glob.glob(CACHE + "/SmolLM2-135M-Instruct*.gguf"))
    if not files:
        programs.skip("needs SmolLM2 in " + CACHE + "; ./bootstrap demo "
                      "fetches it")
    return files[0]


class SmolLM2Test(programs.ProgramTest):
    def setUp(self):
        super().setUp()
        with open(programs.asset("smollm2", "expected.json")) as file:
            self.cases = json.load(file)["cases"]

    def continuations(self, mesh, cases):
        self.compile(model(), self.path("plan"), "--mesh", mesh, "--max-seq",
                     "256")
        for case in cases:
            with self.subTest(prompt=case["prompt"], mesh=mesh):
                got = self.generate(self.path("plan"), "--prompt",
                                    case["prompt"], "--tokens",
                                    str(len(case["continuation_ids"])))
                self.assertEqual(got["prompt_ids"], case["prompt_ids"])
                self.assertEqual(got["ids"], case["continuation_ids"])
                self.assertEqual(got["text"], case["continuation"])

    def test_continuationsOnOneRank(self):
        self.continuations("tp=1", self.cases if programs.everything()
                           else self.cases[:1])

    def test_continuationsOnFourRanks(self):
        self.continuations("pp=2,tp=2", self.cases if programs.everything()
                           else self.cases[1:2])

    def test_bestLogits(self):
        case = self.cases[0]
        ids = case["prompt_ids"]
        tensors.write(self.path("in"),
                      {"input_ids": tensors.Tensor("I64", [1, len(ids)], ids)})
        self.compile(model(), self.path("plan"), "--entry", "logits",
                     "--max-seq", str(len(ids)), "--mesh", "pp=2,tp=2")
        self.tandem("-q", "run", self.path("plan"), "--inputs",
                    self.path("in"), "--outputs", self.path("out"))
        row = tensors.read(self.path("out"))["logits"].row(0, len(ids) - 1)
        best = sorted(range(len(row)), key=lambda i: -row[i])[:5]
        self.assertEqual(best, case["top5"]["ids"])
        for i, logit in zip(best, case["top5"]["logits"]):
            self.assertAlmostEqual(row[i], logit, delta=1e-3)


if __name__ == "__main__":
    programs.asset("smollm2", "expected.json")
    model()
    programs.main()
