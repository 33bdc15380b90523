"""What `tandem inspect` says of a plan that trains, against closed forms."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "numerics"))
import programs

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "vocab_size": 256, "hidden_size": 48, "intermediate_size": 128,
    "num_hidden_layers": 8, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5, "hidden_act": "silu", "initializer_range": 0.02,
    "tie_word_embeddings": False,
}
# Embedding and head, each layer's four projections, three of its MLP, two
# norms, and the last.
PARAMETERS = 2 * 256 * 48 + 8 * (
    48 * 48 * 2 + 48 * 24 * 2 + 3 * 48 * 128 + 2 * 48) + 48


class InspectTest(programs.ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = self.path("model")
        os.mkdir(self.model)
        with open(self.model + "/config.json", "w") as file:
            json.dump(CONFIG, file)
        self.plan = self.path("train.plan")

    def inspect(self, *flags, options=()):
        self.compile(self.model, self.plan, "--entry", "train", "--batch", "8",
                     "--max-seq", "32", *flags)
        return json.loads(self.tandem("inspect", self.plan, "--json",
                                      *options))

    def bubble(self, *flags):
        return self.inspect(*flags)["entries"][0]["bubble"]

    def test_bubblesAreTheirClosedForms(self):
        p, m = 4, 8
        mesh = ["--mesh", "pp=4", "--microbatches", "8"]
        for name in "gpipe", "1f1b":
            bubble = self.bubble(*mesh, "--schedule", name)
            self.assertEqual(bubble["schedule"], name)
            self.assertAlmostEqual(bubble["counted"], (p - 1) / (m + p - 1))
            self.assertAlmostEqual(bubble["closed_form"], bubble["counted"])
        # Of two stages a coordinate, the ramps are half as long.
        bubble = self.bubble(*mesh, "--schedule", "interleaved",
                             "--virtual-stages", "2")
        self.assertAlmostEqual(bubble["counted"],
                               (p - 1) / 2 / (m + (p - 1) / 2))
        self.assertAlmostEqual(bubble["closed_form"], bubble["counted"])
        # (p-1)(F+B) - (p-1)W of 3 units a microbatch.
        bubble = self.bubble(*mesh, "--schedule", "zb-h1")
        self.assertAlmostEqual(bubble["counted"], (p - 1) / (3 * m + p - 1))
        self.assertAlmostEqual(bubble["closed_form"], bubble["counted"])

    def test_oneCoordinateKeepsOneMicrobatch(self):
        program = self.inspect("--microbatches", "4")[
            "entries"][0]["programs"][0]
        self.assertEqual(program["schedule"], "P F0 B0 F1 B1 F2 B2 F3 B3 E")
        self.assertEqual(program["pools"][0]["slots"], 1)

    def test_aTableOfTheUsersHasNoClosedForm(self):
        table = self.path("order.txt")
        # All forwards, then backwards from the last on.
        order = "F0 F1 B1 B0"
        with open(table, "w") as file:
            file.write("0: %s\n1: %s\n" % (order, order))
        bubble = self.bubble("--mesh", "pp=2", "--microbatches", "2",
                             "--schedule-file", table)
        self.assertNotIn("closed_form", bubble)
        self.assertGreater(bubble["counted"], 0)

    def test_memoryOfEachStage(self):
        root = self.inspect("--mesh", "pp=2", "--microbatches", "4")
        stages = root["memory"]
        self.assertEqual(len(stages), 2)
        # Tensors begin at multiples of 64 bytes.
        held = sum(stage["parameters"] for stage in stages)
        self.assertLess(held - 4 * PARAMETERS, 64 * 128)
        self.assertGreaterEqual(held, 4 * PARAMETERS)
        for stage in stages:
            # Two moments for each parameter.
            self.assertAlmostEqual(stage["state"] / stage["parameters"], 2,
                                   delta=0.05)
            self.assertEqual(stage["activations"], stage["slots"])
            self.assertGreater(stage["slots"], 0)
            self.assertEqual(stage["peak"] - stage["arena_peak"],
                             -(-(stage["parameters"] + stage["state"]) // 4096)
                             * 4096)
        # 1f1b: the first stage has two microbatches in flight.
        slots = [program["pools"][0]["slots"]
                 for program in root["entries"][0]["programs"]]
        self.assertEqual(slots, [2, 1])

    def test_bytesOnLinks(self):
        root = self.inspect("--mesh", "dp=2,tp=2", options=["--node-ranks",
                                                            "2"])
        links = {"".join(link["axes"]): link
                 for link in root["entries"][0]["links"]}
        self.assertEqual(root["node_ranks"], 2)
        self.assertEqual(links["tp"]["link"], "in_node")
        self.assertEqual(links["dp"]["link"], "between_nodes")
        # An all_reduce of every gradient that a rank has over two of dp: as
        # many bytes as it has parameters, and scalars.
        own = root["memory"][0]["parameters"]
        self.assertAlmostEqual(links["dp"]["rank_bytes"] / own, 1, delta=0.02)
        self.assertEqual(links["dp"]["all_bytes"],
                         4 * links["dp"]["rank_bytes"])
        text = self.tandem("inspect", self.plan)
        self.assertIn("links of nodes of 8 ranks", text)
        self.assertRegex(text, r"\n    dp +in a node")


if __name__ == "__main__":
    programs.main()
