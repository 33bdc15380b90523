"""Every example of the TableGen files and documents parses and verifies.

An example is a fenced block of `mlir`. One without a function is given one:
operands that nothing defines become its arguments, with the types that the
example writes. Words of other compilers' dialects may stand in generic form.
"""

import re
import subprocess
import sys

import tree as house

SEPARATOR = "\n// -----\n"


def split_types(text):
    """`A, B<C, D>` -> [A, B<C, D>]."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "<([{":
            depth += 1
        elif letter in ">)]}" and text[at - 1 : at + 1] != "->":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def type_text(line):
    """What stands behind the last colon at depth 0 that begins a type."""
    depth, found = 0, None
    for at, letter in enumerate(line):
        if letter in "<([{":
            depth += 1
        elif letter in ">)]}" and line[at - 1 : at + 1] != "->":
            depth -= 1
        elif letter == ":" and depth == 0:
            found = at
    return line[found + 1 :].strip() if found is not None else ""


def operand_types(statement, count):
    """The types that a statement writes of its operands: one each or for all."""
    groups = re.findall(r"\(([^():]*%[^():]*) : ((?:[^()]|\([^()]*\))*)\)", statement)
    if groups:
        return [t for _, types in groups for t in split_types(types)]
    types = type_text(statement)
    match = re.match(r"\((.*)\)\s*->", types)
    listed = split_types(match.group(1) if match else types.split("->")[0])
    return listed if len(listed) >= count else listed[:1] * count


def statements(text):
    """Lines, with those that go on joined to the one they belong to."""
    joined = []
    for line in text.splitlines():
        if joined and (line.startswith("  ") or not line.strip()):
            joined[-1] += " " + line.strip()
        elif line.strip() and not line.strip().startswith("//"):
            joined.append(line.strip())
    return joined


def wrapped(text):
    """An example in a function of its own."""
    heads = [s for s in statements(text) if s.startswith(("tandem.mesh", "!"))]
    defined, arguments, body = set(), {}, []
    for statement in statements(text):
        if statement.startswith("#"):
            holder = f"func.func private @holder{len(heads)}()"
            heads.append(f"{holder} attributes {{tandem.example = {statement}}}")
            continue
        if statement in heads:
            continue
        bare = re.sub(r'"[^"]*"', '""', statement.split(" // ")[0])
        left, equals, right = bare.partition(" = ")
        if not equals or not left.startswith("%"):
            left, right = "", bare
        used = re.findall(r"%[\w$.-]+", right)
        types = operand_types(statement.split(" // ")[0], len(used))
        for name, type_ in zip(used, types):
            if name not in defined:
                arguments.setdefault(name, type_)
        defined.update(re.findall(r"%[\w$.-]+", left))
        body.append("  " + statement)
    listed = ", ".join(f"{name}: {type_}" for name, type_ in arguments.items())
    return "\n".join(
        [*heads, f"func.func @example({listed}) {{", *body, "  return", "}"]
    )


def example(text):
    text = re.sub(
        r"^" + re.match(r" *", text).group(0), "", text, flags=re.M
    )
    mesh = re.search(r"@(\w+)", text) if "@mesh" in text else None
    if "func.func" not in text:
        text = wrapped(text)
    if mesh and not re.search(r"\b(tandem|sdy)\.mesh\b", text):
        text = 'tandem.mesh @mesh = <["pp"=2, "dp"=2, "tp"=4]>\n' + text
    return text


def examples(tree):
    """(where, text) of every example."""
    for path in tree.paths(".td", ".md"):
        if path.startswith(("docs/reference/", "test/")):
            continue
        for number, text in house.blocks(tree.files[path], "mlir"):
            yield f"{path}:{number}", example(text)


def check(found, tandem_opt):
    """Runs all at once; on an error one by one, to say which it is."""
    if run(tandem_opt, SEPARATOR.join(text for _, text in found)) is None:
        return []
    wrong = []
    for where, text in found:
        message = run(tandem_opt, text)
        if message is not None:
            wrong.append(f"{where}: {message}\n{text}")
    return wrong


def run(tandem_opt, text):
    """None, or the first error."""
    done = subprocess.run(
        [tandem_opt, "--split-input-file", "--allow-unregistered-dialect",
         "-o", "/dev/null", "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode == 0:
        return None
    return (done.stderr.splitlines() or ["failed without a message"])[0]


if __name__ == "__main__":
    found = list(examples(house.Tree.of(sys.argv[1])))
    status = house.report("examples", check(found, sys.argv[2]))
    print(f"examples: {len(found)} in all")
    sys.exit(status)
