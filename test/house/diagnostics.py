"""Every diagnostic of the compiler has a negative test.

The longest piece of text of each emitError or emitOpError, as it stands in
the source, must occur in a file under test/.
"""

import re
import sys

import tree as house

# Texts that no test provokes. It may only get shorter.
UNTESTED = set()

LITERAL = r'"((?:[^"\\\n]|\\.)*)"'


def statements(text):
    """(line number, statement) that emits an error."""
    for match in re.finditer(r"\bemit(?:Op)?Error\b", text):
        end = text.find(";", match.start())
        # A semicolon within a literal does not end the statement.
        while text[match.start() : end].replace('\\"', "").count('"') % 2:
            end = text.find(";", end + 1)
        yield text.count("\n", 0, match.start()) + 1, text[match.start() : end]


def longest_text(statement):
    """The longest literal of a statement, adjacent ones joined."""
    joined = re.sub(r'(?<!\\)"\s*\n?\s*"', "", statement)
    return max(
        (piece.strip() for piece in re.findall(LITERAL, joined)),
        key=len,
        default="",
    )


def diagnostics(tree):
    for path in tree.paths(*house.CODE, under=("ir/", "passes/")):
        # The evaluator's errors are checked with its modules.
        for number, statement in statements(tree.files[path]):
            text = longest_text(statement)
            if len(text) > 3:
                yield f"{path}:{number}", text.replace('\\"', '"')


def spread(text):
    """Text without its line ends, so that a wrapped literal is one."""
    return re.sub(r'(?<!\\)"\s*\n\s*"', "", text).replace('\\"', '"')


def check(tree, untested=None):
    untested = UNTESTED if untested is None else untested
    tests = "\n".join(
        spread(tree.files[path])
        for path in tree.paths(
            ".mlir", ".cpp", ".test", ".py", ".json", under=("test/",)
        )
        if not path.startswith("test/house/")
    )
    return [
        f'{where}: no test expects "{text}"'
        for where, text in diagnostics(tree)
        if text not in tests and text not in untested
    ]


if __name__ == "__main__":
    sys.exit(house.report("diagnostics", check(house.Tree.of(sys.argv[1]))))
