"""The sizes of files and functions: medians, and what is long has a reason.

Medians are printed, and wrong where they leave what the design asks for. A
file or function above the limits is wrong unless the table says why it is so;
a row of the table that no longer holds is named.
"""

import re
import statistics
import sys

import tree as house

LONG_FILE = 800
LONG_FUNCTION = 60
MEDIAN_FILE = (75, 220)
MEDIAN_FUNCTION = (5, 14)

# What may be long, `path` or `path:function`, and why.
REASONS = {
    "runtime/files/tokenizer/UnicodeTables.cpp": "tables of Unicode",
    "test/fuzz/equivalence/RandomOps.cpp": "a row for every operation",
    "test/ir/OperationTest.cpp:Operations.MovingElements": "a table of cases",
    "test/plan/MutationTest.cpp:expectedWords": "a row for every mutation",
    "test/unit/plan/SmallPlans.cpp:twoStagePlan": "one plan from top to bottom",
    "test/unit/plan/VerifyTest.cpp:VerifyStructure.IndicesAreInRange":
        "a table of cases",
}


def blanked(text):
    """Text whose comments, literals and preprocessor lines are blanks, of the
    same lines."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    text = re.sub(r'R"(\w*)\(.*?\)\1"', blank, text, flags=re.S)
    token = r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|(?<![\w'])'(?:[^'\\\n]|\\.)+'"
    text = re.sub(token, blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def kind_of(header, outer):
    """What a brace opens, from what stands in front of it."""
    if outer in ("function", "other"):
        return "other"
    if re.search(r"\bnamespace\b|^extern\s*$", header):
        return "scope"
    bare = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", header))
    if re.search(r"\b(struct|class|union|enum)\b", bare) and "(" not in bare:
        return "other" if re.search(r"\benum\b", bare) else "scope"
    if "(" in bare and not re.search(r"=\s*(\[.*|\w*\s*)$", bare):
        return "function"
    return "other"


def name_of(header):
    operator = re.search(r"\boperator\s*[^\s\w(]+|\boperator\s*\(\)", header)
    if operator:
        return operator.group(0).replace(" ", "")
    found = re.search(r"(~?\w+)\s*\(", re.sub(r"^TEST\w*\(", "(", header))
    test = re.match(r"TEST\w*\((\w+),\s*(\w+)", header)
    return ".".join(test.groups()) if test else found.group(1) if found else "?"


def functions(text):
    """(name, first line, length) of each function and method."""
    stack, begin = [], 0
    text = blanked(text)
    for match in re.finditer(r"[{};]", text):
        at, letter = match.start(), match.group(0)
        header = re.sub(
            r"^\s*(public|private|protected):", "", text[begin:at]
        ).strip()
        begin = at + 1
        if letter == "{":
            first = text.count("\n", 0, text.rfind(header, 0, at)) + 1
            kind = kind_of(header, stack[-1][0] if stack else "scope")
            stack.append((kind, name_of(header), first))
        elif letter == "}" and stack:
            kind, name, first = stack.pop()
            if kind == "function":
                yield name, first, text.count("\n", 0, at) + 2 - first


def outside(median, limits, what):
    low, high = limits
    if not low <= median <= high:
        yield f"the median {what} has {median:g} lines, expected {low} to {high}"


def measured(tree):
    """(path, lines) of files and (path, name, line, lines) of functions."""
    files, found = [], []
    for path in tree.paths(".h", ".cpp", under=(*house.ROOTS, "test/")):
        text = tree.files[path]
        files.append((path, text.count("\n")))
        for name, first, length in functions(text):
            found.append((path, name, first, length))
    return files, found


def long_ones(tree):
    """What is above a limit, by `path` or `path:function`."""
    files, found = measured(tree)
    long = {p: f"{p}: {size} lines" for p, size in files if size > LONG_FILE}
    for path, name, first, length in found:
        if length > LONG_FUNCTION:
            long[f"{path}:{name}"] = f"{path}:{first}: {name} has {length} lines"
    return long


def check(tree, reasons=None):
    reasons = REASONS if reasons is None else reasons
    long = long_ones(tree)
    for key in reasons:
        print(f"{long[key]}: {reasons[key]}" if key in long else f"{key}: short now")
    return [
        f"{text}; make it shorter, or say in test/house/sizes.py why it is so"
        for key, text in long.items()
        if key not in reasons
    ]


def medians(tree):
    files, found = measured(tree)
    code = [size for path, size in files if not path.startswith("test/")]
    lengths = [n for path, *_, n in found if not path.startswith("test/")]
    if not code or not lengths:
        return
    file, function = statistics.median(code), statistics.median(lengths)
    print(
        f"{len(code)} files, median {file:g} lines; "
        f"{len(lengths)} functions, median {function:g}"
    )
    yield from outside(file, MEDIAN_FILE, "file")
    yield from outside(function, MEDIAN_FUNCTION, "function")


if __name__ == "__main__":
    root = house.Tree.of(sys.argv[1])
    sys.exit(house.report("sizes", [*check(root), *medians(root)]))
