"""Who may include whom: the table of rooms.

A row names the rooms that a room may include besides itself. What a room
includes comes with all that it may include in turn, unless the row says
otherwise.
"""

import re
import sys

import tree as house

RUNTIME = {
    "runtime/base": [],
    "runtime/mesh": ["runtime/base"],
    "runtime/files": ["runtime/base"],
    "runtime/plan": ["runtime/mesh"],
    "runtime/device": ["runtime/base"],
    # Contracts speak of rules and types, which are the mesh's algebra.
    "runtime/kernels": ["runtime/device", "runtime/mesh"],
    "runtime/comm": ["runtime/device", "runtime/plan"],
    "runtime/exec": ["runtime/kernels", "runtime/comm", "runtime/plan"],
    "runtime/session": ["runtime/exec", "runtime/files"],
}

COMPILER = {
    "ir": ["runtime/mesh"],
    "ir/reference": ["ir"],
    "frontend": ["ir", "runtime/files"],
    "passes/strategy": ["runtime/mesh", "runtime/plan"],
    "passes/import": ["ir"],
    "passes/propagate": ["ir", "passes/strategy"],
    # Rounds of propagation ask for the same layouts that partition makes.
    "passes/partition": ["ir", "passes/strategy", "passes/propagate"],
    "passes/autodiff": ["ir"],
    "passes/pipeline": ["ir", "passes/strategy"],
    "passes/kernel": ["ir", "passes/strategy"],
    "passes/exec": ["ir", "passes/strategy"],
    "passes/emit": ["ir", "passes/strategy", "runtime/plan"],
    "passes/search": ["ir", "passes/strategy"],
    "passes/verify": ["ir"],
}

ROOMS = {**RUNTIME, **COMPILER}
ROOMS["passes"] = [room for room in COMPILER if room.startswith("passes/")]
EVERYTHING = ("tools", "test")

# A plain header of constants and formulas that two sides read.
SHARED_HEADERS = {
    ("passes/exec", "runtime/kernels/Contract.h"),
    ("passes/exec", "runtime/kernels/SumCut.h"),
}

MLIR_ROOMS = [room for room in COMPILER if room != "passes/strategy"]
MLIR_ROOMS += ["passes", *EVERYTHING]

# Libraries that one file or room keeps to itself.
KEPT = {
    r"mpi\.h": ["runtime/comm/mpi/MpiTable.cpp"],
    r"oneapi/.*": ["runtime/kernels/"],
    r"pcre2\.h": ["runtime/files/tokenizer/Regex"],
    r"CLI/.*": ["tools/", "test/fuzz/"],
    r"gtest/.*|gmock/.*": ["test/"],
}


def room_of(path):
    parts = path.split("/")
    for length in (2, 1):
        room = "/".join(parts[:length])
        if len(parts) > length and (room in ROOMS or room in EVERYTHING):
            return room
    return parts[0] if len(parts) > 1 else ""


def allowed(room, rows=None):
    """All rooms that a room may include, itself too."""
    rows = ROOMS if rows is None else rows
    found, waiting = {room}, [room]
    while waiting:
        for other in rows.get(waiting.pop(), []):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def includes(text):
    """(line number, path) of each include."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#?\s*include\s+["<]([^">]+)[">]', line)
        if match:
            yield number, match.group(1)


def wrong(path, room, included):
    """Why a file of a room must not include a path; None where it may."""
    for pattern, keepers in KEPT.items():
        if re.fullmatch(pattern, included) and not path.startswith(
            tuple(keepers)
        ):
            return f"{included} is kept to {', '.join(keepers)}"
    if included.startswith(("mlir/", "mlir-c/", "llvm/", "llvm-c/")):
        return None if room in MLIR_ROOMS else f"{room} never sees MLIR or LLVM"
    if room in EVERYTHING or (room, included) in SHARED_HEADERS:
        return None
    other = room_of(included)
    if other in EVERYTHING:
        return f"{other} is included by nobody"
    if other in ROOMS and other not in allowed(room):
        return f"{room} may not include {other}"
    return None


def cycles():
    """Rooms of the table that reach each other."""
    return [
        f"the table lets {a} and {b} include each other"
        for a in ROOMS
        for b in ROOMS
        if a < b and b in allowed(a) and a in allowed(b)
    ]


def check(tree):
    found = cycles()
    for path in tree.paths(*house.CODE):
        room = room_of(path)
        if room not in ROOMS and room not in EVERYTHING:
            found.append(f"{path}: the table of rooms has no {room or path}")
            continue
        for number, included in includes(tree.files[path]):
            why = wrong(path, room, included)
            if why:
                found.append(f"{path}:{number}: {why}")
    return found


if __name__ == "__main__":
    sys.exit(house.report("includes", check(house.Tree.of(sys.argv[1]))))
