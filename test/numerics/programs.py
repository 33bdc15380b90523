"""Runs Tandem's programs for tests, and finds what tests read.

TANDEM_BIN is the folder of the programs, TANDEM_ASSETS that of the shared
assets. A test that lacks something ends with code 77, which ctest counts as
skipped, and says what is missing.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ.get("TANDEM_BIN", "build/bin")
ASSETS = os.environ.get("TANDEM_ASSETS", "../shared/assets")


def asset(*parts):
    """A path under the assets; skips the whole program without it."""
    path = os.path.join(ASSETS, *parts)
    if not os.path.exists(path):
        skip("needs " + path)
    return path


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def run(arguments, environment=None):
    """`tandem` with these arguments: (exit code, stdout, stderr)."""
    done = subprocess.run(
        [os.path.join(BIN, "tandem")] + arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
        timeout=240,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class ProgramTest(unittest.TestCase):
    """A scratch folder, and programs that must succeed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-test-")
        self.addCleanup(folder.cleanup)
        self.scratch = folder.name

    def path(self, name):
        return os.path.join(self.scratch, name)

    def tandem(self, *arguments):
        """Standard output; fails with standard error."""
        code, out, err = run(list(arguments))
        self.assertEqual(code, 0, "tandem " + " ".join(arguments) + "\n" + err)
        return out

    def compile(self, model, plan, *arguments):
        self.tandem("-q", "compile", model, "-o", plan, *arguments)

    def generate(self, model, *arguments):
        """The object that `generate --json` prints."""
        return json.loads(
            self.tandem("-q", "generate", model, "--ignore-eos", "--json",
                        "--threads", "1", *arguments)
        )


def allMeshes():
    """Every mesh of up to 5 tensor ranks and 3 stages on at most 8 ranks."""
    for pp in range(1, 4):
        for tp in range(1, 6):
            if pp * tp <= 8:
                yield "pp=%d,tp=%d" % (pp, tp)


def main():
    """Runs a program's tests; `--all` is for the tests to look at."""
    arguments = [a for a in sys.argv if a != "--all"]
    unittest.main(module="__main__", argv=arguments, verbosity=2)


def everything():
    """Whether the long lists are asked for."""
    return "--all" in sys.argv
