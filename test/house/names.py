"""The name chain of a pass.

`PropagateShardings` -> `--tandem-propagate-shardings` ->
`passes/propagate/PropagateShardings.cpp` ->
`test/passes/propagate/propagate-shardings.mlir`.
"""

import re
import sys

import tree as house

# Passes whose option is not made of their name, and why.
OTHER_OPTION = {
    # --tandem-partition is the pipeline that ends with it.
    "Partition": "tandem-partition-module",
}

# Links of the chain that are missing. It may only get shorter.
MISSING = set()


def passes(tree):
    """(room, name, option) of every pass that a Passes.td declares."""
    for path in tree.paths("/Passes.td", under=("passes/",)):
        room = path.split("/")[1]
        for name, option in re.findall(
            r"^def (\w+)\s*:\s*(?:Interface)?Pass<\s*\"([^\"]+)\"",
            tree.files[path],
            re.M,
        ):
            yield room, name, option


def dashed(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def wrong(room, name, option, tree):
    expected = OTHER_OPTION.get(name, "tandem-" + dashed(name))
    if option != expected:
        yield f"{name}: its option is --{option}, expected --{expected}"
    for path in (
        f"passes/{room}/{name}.cpp",
        f"test/passes/{room}/{dashed(name)}.mlir",
    ):
        if not tree.exists(path):
            yield f"{name}: no {path}"


def check(tree, missing=None):
    missing = MISSING if missing is None else missing
    found = [
        line
        for room, name, option in passes(tree)
        for line in wrong(room, name, option, tree)
    ]
    return [line for line in found if line not in missing]


if __name__ == "__main__":
    sys.exit(house.report("names", check(house.Tree.of(sys.argv[1]))))
