"""What the same bits on every layout cost: seconds of a training step of
GPT-2 124M with --layout-invariant over those without.

    python3 test/bench/layout_invariant.py [build/bin] [pieces] [layouts]

Batch 4, sequence 64, AdamW, float32; two threads on one rank, then tp=2 and
dp=2 with one thread each, or those of them that are named. The best step of a
run counts.
"""

import json
import os
import subprocess
import sys
import tempfile

BIN = sys.argv[1] if len(sys.argv) > 1 else "build/bin"
PIECES = sys.argv[2] if len(sys.argv) > 2 else "2"
STEPS = 4
CONFIG = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
    "vocab_size": 50257, "n_embd": 768, "n_head": 12, "n_layer": 12,
    "n_positions": 1024, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
}
LAYOUTS = {
    "1 rank": ["--threads", "2"],
    "tp=2": ["--threads", "1", "--mesh", "tp=2"],
    "dp=2": ["--threads", "1", "--mesh", "dp=2"],
}


def seconds(folder, flags):
    """The best step of a run of the model and data in `folder`."""
    log = folder + "/log.jsonl"
    if os.path.exists(log):
        os.remove(log)
    subprocess.run(
        [BIN + "/tandem", "-q", "train", folder + "/model", "--init", "1", "--data",
         folder + "/ids.bin", "--data-type", "uint16", "--batch", "4", "--seq",
         "64", "--steps", str(STEPS), "--lr", "1e-4", "--clip", "1", "--log",
         log, *flags],
        check=True)
    with open(log) as lines:
        return min(json.loads(line)["seconds"] for line in lines)


def main():
    print("layout  as it is  --layout-invariant", PIECES, " ratio")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/model")
        with open(folder + "/model/config.json", "w") as file:
            json.dump(CONFIG, file)
        with open(folder + "/ids.bin", "wb") as file:
            for i in range(4096):
                file.write(bytes([i * 37 % 251, 0]))
        for name in sys.argv[3:] or LAYOUTS:
            flags = LAYOUTS[name]
            free = seconds(folder, flags)
            fixed = seconds(folder, [*flags, "--layout-invariant", PIECES])
            print(f"{name:6}  {free:6.2f} s  {fixed:18.2f} s  "
                  f"{fixed / free:6.2f}", flush=True)


if __name__ == "__main__":
    main()
