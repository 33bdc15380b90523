"""Names that say nothing, notes to oneself, and where the work was done."""

import re
import sys

import tree as house

# Names of files, types and functions that could hold anything.
EMPTY_NAME = r"\b\w*(?:Utils?|Helpers?|Common|Misc)\b|\b(?:utils?|misc)\b"
UNFINISHED = r"\b(?:TODO|FIXME|XXX|HACK)\b"
# Text speaks of the tree, not of how it came about.
HISTORY = r"(?i)\bissues? #?\d|\bpull request\b|\bhelper session\b"
HOSTS = r"(?i)\b(?:pypi\.org|deb\.debian\.org|ghcr\.io|registry\.\w+\.\w+)\b"

RULES = (
    (EMPTY_NAME, "a name that could hold anything"),
    (UNFINISHED, "a note of something unfinished"),
    (HISTORY, "a word on how it came about"),
    (HOSTS, "names a registry's host"),
)
# Names that others gave.
FOREIGN = (
    r"#\s*include.*|\b(?:mlir|llvm)::\w+(?:::\w+)*|\blit\.util\b"
    r"|\bCMakePackageConfigHelpers\b"
)


def check(tree):
    found = []
    for path in sorted(tree.files):
        if path.startswith("test/house/"):
            continue
        name = path.rsplit("/", 1)[-1].split(".")[0]
        if re.search(EMPTY_NAME, name):
            found.append(f"{path}: {RULES[0][1]}")
        for number, line in tree.lines(path):
            line = re.sub(FOREIGN, "", line)
            for pattern, why in RULES:
                match = re.search(pattern, line)
                if match:
                    found.append(f"{path}:{number}: '{match.group(0)}' is {why}")
    return found


if __name__ == "__main__":
    sys.exit(house.report("words", check(house.Tree.of(sys.argv[1]))))
