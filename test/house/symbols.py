"""The runtime library knows nothing of MLIR and LLVM."""

import subprocess
import sys

import tree as house

FOREIGN = ("mlir::", "llvm::")


def check(symbols):
    """Lines of `nm -C` that name a foreign symbol."""
    return [line for line in symbols if any(name in line for name in FOREIGN)]


def symbols_of(library):
    listing = subprocess.run(
        ["nm", "-C", library], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    if not any("tandem::" in line for line in listing):
        sys.exit(f"symbols: {library} holds nothing of tandem; is it the runtime?")
    return listing


if __name__ == "__main__":
    sys.exit(house.report("symbols", check(symbols_of(sys.argv[1]))))
