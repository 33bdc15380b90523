"""Training that is killed at random moments, 50 times, while it writes
checkpoints: what is left is always whole, and the run that goes on from it
ends with the weights of one that was never stopped."""

import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "numerics"))
import programs  # noqa: E402

KILLS = int(os.environ.get("TANDEM_KILLS", "50"))
STEPS = 60
HERE = os.path.dirname(os.path.abspath(__file__))


class TrainKillsTest(programs.ProgramTest):
    def command(self, folder, mesh, resume):
        command = [os.path.join(programs.BIN, "tandem"), "-q", "train",
                   self.model, "--data", self.data, "--mesh", mesh,
                   "--batch", "4", "--max-seq", "16", "--steps", str(STEPS),
                   "--lr", "1e-3", "--threads", "1", "--checkpoint-dir",
                   self.path(folder), "--checkpoint-every", "1", "--log",
                   self.path(folder + ".jsonl")]
        return command + (["--resume"] if resume else [])

    def losses(self, folder):
        with open(self.path(folder + ".jsonl")) as log:
            return [json.loads(line)["loss"] for line in log]

    def weights(self, folder):
        self.tandem("checkpoint", "export", self.path(folder), "-o",
                    self.path(folder + ".hf"))
        with open(self.path(folder + ".hf/model.safetensors"), "rb") as file:
            return file.read()

    def whole(self, folder):
        """Whether there are checkpoints; all that there are must be whole."""
        if not os.path.isdir(self.path(folder)):
            return False
        names = [name for name in os.listdir(self.path(folder))
                 if name[5:].isdigit()]
        if names:
            rows = json.loads(self.tandem("checkpoint", "verify", "--json",
                                          self.path(folder)))
            self.assertTrue(all(row["whole"] for row in rows), rows)
        return bool(names)

    def victims(self, process, ranks):
        """The launcher, or one of the processes that it started."""
        if ranks == 1:
            return [process.pid]
        children = subprocess.run(["pgrep", "-P", str(process.pid)],
                                  stdout=subprocess.PIPE).stdout.split()
        return [int(child) for child in children] or [process.pid]

    def checkKills(self, mesh, ranks):
        self.model = programs.asset("models", "stories260k")
        self.data = programs.asset("text", "tinyshakespeare.txt")
        draw = random.Random(mesh)
        launch = ([os.path.join(HERE, "under-mpirun"), str(ranks)]
                  if ranks > 1 else [])
        start = time.time()
        subprocess.run(launch + self.command("calm", mesh, False), check=True,
                       stderr=subprocess.PIPE, timeout=240)
        longest = min(time.time() - start, 30)
        kills, resume = 0, False
        for attempt in range(10 * KILLS):
            process = subprocess.Popen(
                launch + self.command("killed", mesh, resume),
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                said = process.communicate(
                    timeout=draw.uniform(0, longest * 1.2))[1]
            except subprocess.TimeoutExpired:
                os.kill(draw.choice(self.victims(process, ranks)),
                        signal.SIGKILL)
                said = process.communicate(timeout=60)[1]
                kills += 1
            if process.returncode == 0:
                if kills >= KILLS:
                    break
                # Anew, so that it can be killed again.
                subprocess.run(["rm", "-r", self.path("killed")], check=True)
                resume = False
                continue
            self.assertNotIn(b"damaged", said)
            resume = self.whole("killed")
            if kills >= KILLS:
                subprocess.run(launch + self.command("killed", mesh, resume),
                               check=True, stderr=subprocess.PIPE, timeout=240)
                break
        self.assertGreaterEqual(kills, KILLS)
        self.assertEqual(self.losses("killed"), self.losses("calm"))
        self.assertEqual(self.weights("killed"), self.weights("calm"))

    def testThreads(self):
        self.checkKills("tp=2", 1)

    def testProcesses(self):
        self.checkKills("tp=2", 2)


if __name__ == "__main__":
    programs.main()
