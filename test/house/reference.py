"""The committed reference pages are what TableGen writes now."""

import os
import sys

import tree as house


def check(committed, generated):
    """Both are trees of pages."""
    pages = sorted({*committed.files, *generated.files})
    hint = "run: cmake --build build --target docs"
    return [
        f"docs/reference/{page} is not current; {hint}"
        for page in pages
        if committed.files.get(page) != generated.files.get(page)
    ]


if __name__ == "__main__":
    committed, generated = (house.Tree.of(folder) for folder in sys.argv[1:3])
    if not generated.files:
        sys.exit(f"reference: nothing in {os.path.basename(sys.argv[2])} of the build")
    sys.exit(house.report("reference", check(committed, generated)))
