"""Writes UnicodeTables.cpp from Python's copy of the Unicode database:

    python3 WriteUnicodeTables.py > UnicodeTables.cpp
"""

import sys
import unicodedata


def rows(items, width=76):
    """Joins items with commas into lines of at most `width` columns."""
    lines, line = [], ""
    for item in items:
        if line and len(line) + len(item) + 2 > width:
            lines.append(line)
            line = ""
        line += (" " if line else "") + item + ","
    return "\n".join("    " + each for each in lines + [line])


def table(declaration, count, items):
    print(f"const {declaration}[] = {{\n{rows(items)}\n}};")
    print(f"const size_t {count} = {len(items)};\n")


def canonical(code):
    text = unicodedata.decomposition(chr(code))
    if not text or text.startswith("<"):
        return None
    return [int(part, 16) for part in text.split()]


codes = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
pairs = [(c, canonical(c)) for c in codes if canonical(c)]
excluded = [
    c for c, parts in pairs
    if unicodedata.normalize("NFC", chr(c)) != chr(c)
]
runs = []
for c in codes:
    value = unicodedata.combining(chr(c))
    if value and runs and runs[-1][1] == c - 1 and runs[-1][2] == value:
        runs[-1][1] = c
    elif value:
        runs.append([c, c, value])

print("// Written by WriteUnicodeTables.py; Unicode "
      + unicodedata.unidata_version + ".\n// clang-format off\n")
print('#include "runtime/files/tokenizer/UnicodeTables.h"\n')
print("namespace tandem::unicode {\n")
table("Decomposition decompositions", "decompositionCount",
      [f"{{{c:#x}, {p[0]:#x}, {p[1] if len(p) > 1 else 0:#x}}}"
       for c, p in pairs])
table("uint32_t compositionExclusions", "compositionExclusionCount",
      [f"{c:#x}" for c in excluded])
table("CombiningClass combiningClasses", "combiningClassCount",
      [f"{{{a:#x}, {b:#x}, {v}}}" for a, b, v in runs])
print("} // namespace tandem::unicode")
