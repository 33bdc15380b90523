"""The files of the checkout, as the checks see them."""

import os
import re

CODE = (".h", ".cpp", ".td")
ROOTS = ("frontend/", "ir/", "passes/", "runtime/", "tools/")


class Tree:
    """Files by their path from the root; a test gives a dict in their place."""

    def __init__(self, files):
        self.files = files

    @staticmethod
    def of(root):
        files = {}
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(
                f
                for f in folders
                if not f.startswith("build") and (f == ".ci" or f[0] != ".")
                and f not in ("__pycache__", "shared")
            )
            for name in sorted(names):
                path = os.path.join(folder, name)
                # In a worktree .git is a file.
                if os.path.islink(path) or name == ".git":
                    continue
                if name.endswith((".tmp", ".gguf")):
                    continue
                try:
                    with open(path, encoding="utf-8") as file:
                        files[os.path.relpath(path, root)] = file.read()
                except UnicodeDecodeError:
                    pass
        return Tree(files)

    def paths(self, *endings, under=("",)):
        return [
            path
            for path in sorted(self.files)
            if path.endswith(tuple(endings)) and path.startswith(tuple(under))
        ]

    def exists(self, path):
        path = path.rstrip("/")
        return path in self.files or any(
            other.startswith(path + "/") for other in self.files
        )

    def lines(self, path):
        """(number, line) of a file."""
        return enumerate(self.files[path].splitlines(), 1)


def blocks(text, language):
    """(line number of the first line, text) of each fenced block."""
    found = []
    for match in re.finditer(
        r"^( *)```" + language + r"\n(.*?)^ *```", text, re.M | re.S
    ):
        line = text.count("\n", 0, match.start()) + 2
        found.append((line, match.group(2)))
    return found


def report(check, found):
    """Prints what a check found; the exit status of its program."""
    for line in found:
        print(line)
    print(f"{check}: {len(found)} wrong" if found else f"{check}: ok")
    return 1 if found else 0
