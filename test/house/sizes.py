"""The sizes of files and functions: a report, never a failure."""

import re
import statistics
import sys

import tree as house

LONG_FILE = 800
LONG_FUNCTION = 60


def functions(text):
    """(first line, length) of what stands in braces at the left margin.

    Formatted code closes a function at the column where its first line
    begins, and namespaces close with a comment.
    """
    start = None
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\S.*\)?.*[{]$", line) and not re.match(
            r"(namespace|extern|enum|struct|class|union|constexpr.*=|"
            r"(static )?const .*=|template)",
            line,
        ):
            start = start or number
        elif re.match(r"\S.*[(,]$", line) or re.match(r"\S.*\($", line):
            start = start or number
        elif line.startswith("}"):
            if start and line == "}":
                yield start, number - start + 1
            start = None
        elif line and not line[0].isspace() and line.endswith(";"):
            start = None


def report(tree):
    lengths, sizes = [], []
    for path in tree.paths(".h", ".cpp", under=tuple(house.ROOTS)):
        text = tree.files[path]
        size = text.count("\n")
        sizes.append(size)
        if size > LONG_FILE:
            yield f"{path}: {size} lines"
        for start, length in functions(text):
            lengths.append(length)
            if length > LONG_FUNCTION:
                yield f"{path}:{start}: a function of {length} lines"
    if sizes and lengths:
        yield (
            f"{len(sizes)} files, median {statistics.median(sizes):g} lines; "
            f"{len(lengths)} functions, median {statistics.median(lengths):g}"
        )


if __name__ == "__main__":
    for line in report(house.Tree.of(sys.argv[1])):
        print(line)
