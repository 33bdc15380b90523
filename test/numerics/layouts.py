"""Layouts of a training step: meshes with what training adds to them."""

import itertools
import random

MODELS = ["llama", "llama-tied-odd", "gpt2", "mistral", "qwen2", "qwen3",
          "phi3", "gemma2", "gpt-neox", "bert"]
# Each has 3 layers but llama-tied-odd's tables are what matters here: how far
# stages and virtual stages can be cut.
LAYERS = 3


class Layout:
    """Sizes of the axes and the flags beside them."""

    def __init__(self, dp=1, tp=1, pp=1, sp=False, zero=0, schedule="",
                 virtual=1, microbatches=1, recompute=""):
        self.dp, self.tp, self.pp, self.sp, self.zero = dp, tp, pp, sp, zero
        self.schedule, self.virtual = schedule, virtual
        self.microbatches, self.recompute = microbatches, recompute

    def ranks(self):
        return self.dp * self.tp * self.pp

    def flags(self):
        axes = [f"{name}={size}" for name, size in
                (("pp", self.pp), ("dp", self.dp), ("tp", self.tp))
                if size > 1]
        flags = ["--mesh", ",".join(axes)] if axes else []
        flags += ["--sequence-parallel"] if self.sp else []
        flags += ["--zero", str(self.zero)] if self.zero else []
        flags += ["--schedule", self.schedule] if self.schedule else []
        if self.virtual > 1:
            flags += ["--virtual-stages", str(self.virtual)]
        if self.microbatches > 1:
            flags += ["--microbatches", str(self.microbatches)]
        flags += ["--recompute", self.recompute] if self.recompute else []
        return flags

    def __str__(self):
        return " ".join(self.flags()) or "one rank"


def schedules(pp, microbatches):
    """Schedules and virtual stages that `pp` coordinates can run."""
    if pp == 1:
        return [("", 1)]
    found = [("gpipe", 1), ("1f1b", 1), ("zb-h1", 1)]
    if 2 * pp <= LAYERS + 1:
        found.append(("zb-v", 2))
        if microbatches % pp == 0:
            found.append(("interleaved", 2))
    return found


def generated(count, seed=5):
    """`count` different layouts of up to 8 ranks, evenly drawn: every size of
    every axis, flag and schedule comes up, not all products."""
    draw = random.Random(seed)
    sizes = [(dp, tp, pp) for dp, tp, pp in itertools.product(
        range(1, 5), range(1, 6), range(1, 4)) if dp * tp * pp <= 8]
    layouts = {}
    while len(layouts) < count:
        dp, tp, pp = draw.choice(sizes)
        microbatches = draw.choice([1, 2])
        schedule, virtual = draw.choice(schedules(pp, microbatches))
        layout = Layout(
            dp, tp, pp, sp=tp > 1 and draw.random() < 0.5,
            zero=draw.choice([0, 1, 2, 3]) if dp > 1 else 0,
            schedule=schedule, virtual=virtual, microbatches=microbatches,
            recompute=draw.choice(["", "selective", "full", "1"]))
        layouts[str(layout)] = layout
    return list(layouts.values())
