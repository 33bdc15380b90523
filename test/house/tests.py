"""What ctest runs, as test/README.md and the labels say.

Tests that take every case end in `_all` or `_long` and carry the label `slow`,
which is the only label; the short run leaves them out. Commands that test/README.md
gives for its figures name tests, scripts and folders that exist.
"""

import json
import re
import subprocess
import sys

import tree as house

LABELS = {"slow"}


def label_errors(tests):
    """`tests` maps a test's name to its labels."""
    for name, labels in sorted(tests.items()):
        for label in sorted(set(labels) - LABELS):
            yield f"{name}: unknown label {label}"
        if name.endswith(("_all", "_long")) and "slow" not in labels:
            yield f"{name}: takes every case, expected the label slow"


def commands(readme):
    """(line number, command) of the figures' table."""
    for number, line in enumerate(readme.splitlines(), 1):
        cells = re.split(r"(?<!\\)\|", line.strip())
        if len(cells) != 4 or not cells[2].strip().startswith("`"):
            continue
        if re.match(r"\s*`test/[^`\s]*`", cells[1]):
            continue
        for command in re.findall(r"`([^`]+)`", cells[2]):
            yield number, command


def command_errors(readme, tests, tree):
    for number, command in commands(readme):
        where = f"test/README.md:{number}"
        match = re.search(r"(?:-R|--tests-regex)\s+('[^']*'|\S+)", command)
        if match:
            # A bar stands escaped within a table.
            pattern = match.group(1).strip("'").replace("\\|", "|")
            if not any(re.search(pattern, name) for name in tests):
                yield f"{where}: no test is called {pattern}"
        for path in re.findall(r"(?<![\w/.-])test/[\w./-]+", command):
            if not tree.exists(path):
                yield f"{where}: there is no {path}"


def check(tree, tests):
    readme = tree.files.get("test/README.md", "")
    found = [*label_errors(tests), *command_errors(readme, tests, tree)]
    if not list(commands(readme)):
        found.append("test/README.md: no command for any figure")
    return found


def listed(ctest, build):
    """Tests and their labels."""
    done = subprocess.run(
        [ctest, "--test-dir", build, "--show-only=json-v1"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        test["name"]: [
            label
            for entry in test.get("properties", [])
            if entry["name"] == "LABELS"
            for label in entry["value"]
        ]
        for test in json.loads(done.stdout)["tests"]
    }


if __name__ == "__main__":
    root, ctest, build = sys.argv[1:4]
    found = check(house.Tree.of(root), listed(ctest, build))
    sys.exit(house.report("tests", found))
