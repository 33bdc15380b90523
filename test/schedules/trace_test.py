"""The trace of a step shows which collectives and sends run beside compute."""

import json
import os
import unittest

import steps


class TraceTest(steps.programs.ProgramTest):
    def streams(self, *layout):
        """Names of instructions by the name of their rank's stream."""
        model = self.path("model")
        os.makedirs(model, exist_ok=True)
        steps.tiny.write_json(
            self.path("model/config.json"),
            {**steps.tiny.CONFIG, "vocab_size": 256, "num_hidden_layers": 4})
        data = self.path("data.txt")
        with open(data, "w") as file:
            file.write("a rose is a rose is a rose, " * 20)
        self.tandem("-q", "train", model, "--init", "1", "--data", data,
                    "--batch", "4", "--seq", "8", "--steps", "2", "--trace",
                    self.path("trace"), "--threads", "1", *layout)
        with open(self.path("trace")) as file:
            events = json.load(file)["traceEvents"]
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
                 if e["ph"] == "M" and e["name"] == "thread_name"}
        found = {}
        for event in events:
            if event["ph"] == "X":
                stream = names[event["pid"], event["tid"]]
                found.setdefault(stream.split(", ")[-1], set()).add(
                    event["name"])
        return found

    def test_gathers_and_scatters_of_zero_3(self):
        beside = self.streams("--mesh", "dp=2", "--zero", "3",
                              "--microbatches", "2")["communication"]
        self.assertLessEqual({"all_gather", "reduce_scatter"}, beside)

    def test_gradients_reduced_beside_backward(self):
        beside = self.streams("--mesh", "dp=2")["communication"]
        self.assertIn("all_reduce", beside)

    def test_sums_scattered_beside_the_last_backward(self):
        beside = self.streams("--mesh", "dp=2", "--zero", "1",
                              "--microbatches", "2")["communication"]
        self.assertIn("reduce_scatter", beside)

    def test_sends(self):
        beside = self.streams("--mesh", "pp=2",
                              "--microbatches", "4")["communication"]
        self.assertIn("send", beside)
        self.assertNotIn("recv", beside)

    def test_sends_of_forward_passes_alone(self):
        beside = self.streams("--mesh", "pp=2,tp=2", "--microbatches", "2",
                              "--eval-every", "1")["communication"]
        self.assertIn("send", beside)


if __name__ == "__main__":
    unittest.main()
