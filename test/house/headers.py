"""Every header says what it is and promises, and is guarded by its path.

The first line names the file and says in a few words what it holds. More
stands below it, or in `///` in front of what it declares.
"""

import re
import sys

import tree as house

# The words end where dashes fill the line up.
HEAD = r"//===- (\S+) - (\S.*?)[ -]*(?:-\*- (?:C\+\+|tablegen) -\*-)?-*===//\n"


def guard(path):
    return "TANDEM_" + re.sub(r"[/.]", "_", path).upper()


def wrong(path, text):
    name = path.rsplit("/", 1)[-1]
    match = re.match(HEAD, text)
    if not match or match.group(1) != name:
        yield f"{path}:1: expected //===- {name} - WHAT IT HOLDS ---===//"
    if f"#ifndef {guard(path)}\n#define {guard(path)}\n" not in text:
        yield f"{path}: expected the guard {guard(path)}"
    # A room's Passes.h holds nothing but what TableGen wrote.
    if "GEN_PASS_REGISTRATION" in text or path.endswith(".td"):
        return
    if not re.search(r"^//$|^\s*///", text, re.M):
        yield f"{path}: no word on what it promises: no /// and no head"


def check(tree):
    return [
        line
        for path in tree.paths(".h", ".td", under=tuple(house.ROOTS))
        for line in wrong(path, tree.files[path])
    ]


if __name__ == "__main__":
    sys.exit(house.report("headers", check(house.Tree.of(sys.argv[1]))))
