"""The largest configuration compiles small: memory, and a plan that grows with
stages, not with ranks."""

import os
import resource
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "numerics"))
import programs  # noqa: E402

# A plan is padded to whole pages.
PAGE = 4096


class ScaleTest(programs.ProgramTest):
    def plan_size(self, mesh, *arguments):
        self.tandem("compile", programs.asset("configs", "llama-3-405b"),
                    "--entry", "logits", "--mesh", mesh, *arguments,
                    "-o", self.path("plan"))
        return os.path.getsize(self.path("plan"))

    def test_data_parallel_ranks_cost_nothing(self):
        one = self.plan_size("dp=1,tp=8,pp=16")
        for dp in (2, 64, 1024):
            with self.subTest(dp=dp):
                # 128 to 131,072 ranks: numbers get wider and nothing longer.
                size = self.plan_size(f"dp={dp},tp=8,pp=16", "--batch", str(dp))
                self.assertLessEqual(abs(size - one), PAGE)
        self.tandem("verify", self.path("plan"))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"plan {one} bytes, peak of the compiler {peak >> 10} MiB")
        self.assertLessEqual(peak, 2 << 20)


if __name__ == "__main__":
    unittest.main()
