"""Code is as clang-format writes it."""

import os
import subprocess
import sys

import tree as house


def check(paths, clang_format):
    done = subprocess.run(
        [clang_format, "--dry-run", *paths],
        stderr=subprocess.PIPE,
        text=True,
        timeout=110,
    )
    found = [
        line.split(": warning:")[0]
        for line in done.stderr.splitlines()
        if "-Wclang-format-violations" in line
    ]
    files = sorted({where.split(":")[0] for where in found})
    return [f"{path}: not formatted; run {clang_format} -i {path}" for path in files]


if __name__ == "__main__":
    root, clang_format = sys.argv[1:3]
    os.chdir(root)
    paths = house.Tree.of(".").paths(".h", ".cpp")
    sys.exit(house.report("formatted", check(paths, clang_format)))
