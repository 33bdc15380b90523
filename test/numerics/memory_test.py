"""Memory of training: what is said before is what a rank takes, and what the
whole process takes follows from it; a plan that needs more is refused."""

import array
import json
import os
import random
import re
import subprocess
import time
import unittest

import programs

MIB = 1 << 20
# Of a process without a compiler, beside arenas and mapped files: as
# runtime/exec/README.md says.
CONSTANT, EACH_THREAD = 6 * MIB, 3 * MIB
TOLERANCE = 0.03


def residentOf(command):
    """The most resident bytes of a process, and those of mapped files."""
    files = 0
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    while True:
        try:
            with open("/proc/%d/status" % process.pid) as status:
                found = re.search(r"RssFile:\s*(\d+) kB", status.read())
            files = max(files, int(found.group(1)) if found else 0)
        except OSError:
            pass
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            error = process.stderr.read().decode()
            process.stderr.close()
            if process.returncode:
                raise AssertionError(error)
            return usage.ru_maxrss * 1024, files * 1024
        time.sleep(0.005)


class MemoryTest(programs.ProgramTest):
    def compileTraining(self, config, *flags, batch=4, sequence=64):
        self.plan = self.path("train.plan")
        self.compile(programs.asset("configs", config), self.plan, "--entry",
                     "train", "--batch", str(batch), "--max-seq",
                     str(sequence), *flags)
        return json.loads(self.tandem("inspect", self.plan, "--json"))

    def refused(self, *arguments):
        code, _, error = programs.run(list(arguments))
        self.assertEqual(code, 1, error)
        return error

    def needed(self, stage, threads):
        """By the refusal: the bytes that a rank of each stage needs."""
        error = self.refused("verify", self.plan, "--memory", "1B",
                             "--threads", str(threads))
        return int(re.search(r"pp %d needs (\d+) bytes" % stage, error)[1])

    def data(self):
        path = self.path("ids.bin")
        draw = random.Random(1)
        ids = array.array("H", [draw.randrange(256) for _ in range(20000)])
        with open(path, "wb") as file:
            file.write(ids.tobytes())
        return path

    def test_arenaEndsWithItsLastValue(self):
        for flags in [], ["--microbatches", "2"], [
                "--mesh", "pp=2", "--microbatches", "4"]:
            root = self.compileTraining("xla-small-gpt2", *flags)
            text = self.tandem("-v", "inspect", self.plan)
            programs_ = re.split(r"\n  pp \d+\n", text)[1:]
            self.assertEqual(len(programs_), root["stages"])
            for memory, program in zip(root["memory"], programs_):
                ends = [int(offset) + int(size) for offset, size in
                        re.findall(r"arena (\d+)\+(\d+)", program)]
                # Offsets are multiples of 64, and so is the end.
                self.assertEqual(-(-max(ends) // 64) * 64,
                                 -(-memory["arena_peak"] // 64) * 64)

    def test_refusalSaysByHowMuchAndForWhat(self):
        self.compileTraining("xla-small-gpt2")
        need = self.needed(0, 1)
        self.tandem("verify", self.plan, "--memory", "%dB" % need)
        error = self.refused("verify", self.plan, "--memory",
                             "%dB" % (need - 1000))
        self.assertIn(": 1000 too many; most lives at entry 'train', pp 0, "
                      "instruction ", error)
        self.assertRegex(error, r"1\.0 MiB \w+ #\d+ at [^,]* \(for ")
        self.assertIn("--recompute", error)
        error = self.refused("train", self.plan, "--init", "1", "--data",
                             self.data(), "--steps", "1", "--threads", "1",
                             "--memory", "%dB" % (need - 1000))
        self.assertIn(": 1000 bytes too many; nothing was loaded", error)
        self.assertIn("most lives at entry 'train'", error)
        target = self.path("other.plan")
        error = self.refused("compile",
                             programs.asset("configs", "xla-small-gpt2"),
                             "-o", target, "--entry", "train", "--batch", "4",
                             "--max-seq", "64", "--memory",
                             "%dB" % (need - 1000))
        self.assertIn(": 1000 too many; most lives at", error)
        self.assertFalse(os.path.exists(target))

    def checkResident(self, config, ranks, threads, *flags):
        self.compileTraining(config, *flags)
        arenas = ranks * self.needed(0, threads)
        resident, files = residentOf(
            [os.path.join(programs.BIN, "tandem-run"), "train", self.plan,
             "--init", "1", "--data", self.data(), "--steps", "2",
             "--threads", str(threads)])
        own = CONSTANT + ranks * threads * EACH_THREAD
        foretold = arenas + files + own
        text = "%s: %.1f MiB of arenas, %.1f of files, %.1f of its own; " % (
            config, arenas / MIB, files / MIB, own / MIB)
        text += "resident %.1f" % (resident / MIB)
        print(text, flush=True)
        self.assertLess(abs(resident - foretold), TOLERANCE * foretold, text)

    def test_residentOfASmallModel(self):
        for threads in 1, 2:
            self.checkResident("xla-small-gpt2", 1, threads)

    @unittest.skipUnless(programs.everything(), "takes 2 GiB")
    def test_residentOfGpt2(self):
        self.checkResident("gpt2-124m", 1, 2)
        self.checkResident("gpt2-124m", 2, 1, "--mesh", "tp=2")


if __name__ == "__main__":
    programs.main()
