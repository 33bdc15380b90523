"""Texts: paths that READMEs name exist, no file names a machine's folders."""

import os
import re
import sys

import tree as house

TOP = "(?:ir|passes|runtime|frontend|tools|test|docs)"
# Folders of a machine, but those that every system has.
MACHINE = re.compile(r"(?<![\w./~-])/(?:home|root|work|mnt|Users)/\w")
SUBROOMS = {"ir/ops"}  # ir/README.md speaks of it


def named_paths(text):
    """(line number, path) in backquotes that look like the repository's."""
    for number, line in enumerate(text.splitlines(), 1):
        for quoted in re.findall(r"`([^`\s]+)`", line):
            if re.fullmatch(TOP + r"(?:/[\w.-]+)+/?", quoted):
                yield number, quoted
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
            if "://" not in target:
                yield number, target


def candidates(folder, path):
    yield path
    yield os.path.normpath(os.path.join(folder, path))
    for ending in (".h", ".cpp", ".td"):
        yield path + ending


def stands_for(tree, path):
    """Whether `a/MODEL-NAME.txt` stands for a file that is there."""
    if not re.search(r"[A-Z]{2}", path):
        return False
    pattern = re.sub(r"[A-Z]{2,}", r"[\\w.]+", re.escape(path))
    return any(re.fullmatch(pattern, other) for other in tree.files)


def readme_paths(tree):
    for path in tree.paths(".md"):
        folder = os.path.dirname(path)
        for number, named in named_paths(tree.files[path]):
            names = list(candidates(folder, named))
            if not any(tree.exists(c) or stands_for(tree, c) for c in names):
                yield f"{path}:{number}: there is no {named}"


def rooms_without_readme(tree):
    """Rooms are folders with code in them, two deep; programs share one."""
    rooms = set()
    for path in tree.paths(*house.CODE):
        parts = path.split("/")
        if parts[0] != "test" and len(parts) > 2:
            rooms.add("/".join(parts[:2]))
    for room in sorted(rooms - SUBROOMS):
        if room.startswith("tools/tandem"):
            room = "tools"
        if not tree.exists(f"{room}/README.md"):
            yield f"{room}: no README.md"


def machine_paths(tree):
    for path in sorted(tree.files):
        for number, line in tree.lines(path):
            if MACHINE.search(line):
                yield f"{path}:{number}: names a folder of a machine"


def check(tree):
    return [
        *readme_paths(tree),
        *rooms_without_readme(tree),
        *machine_paths(tree),
    ]


if __name__ == "__main__":
    sys.exit(house.report("prose", check(house.Tree.of(sys.argv[1]))))
