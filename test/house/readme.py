"""The README's worked example prints what the README says it prints."""

import os
import re
import subprocess
import sys

import tree as house

EXAMPLE = "docs/mlp.mlir"


def squeezed(text):
    """Text without blanks, which are where a page is narrower than a dump."""
    return re.sub(r"\s", "", text)


def check(tree, run):
    """`run` gives what tandem-opt prints for a list of arguments."""
    readme = tree.files["README.md"]
    (_, example), *_ = house.blocks(readme, "mlir")
    if example != tree.files[EXAMPLE]:
        return [f"README.md shows another text than {EXAMPLE}"]
    commands = re.findall(
        r"`build/bin/tandem-opt\s+" + re.escape(EXAMPLE) + r"\s+(--[\w-]+)`", readme
    )
    outputs = [
        text for _, text in house.blocks(readme, "text") if text.startswith("%")
    ]
    if not commands or len(commands) != len(outputs):
        return [f"README.md has {len(commands)} commands, {len(outputs)} outputs"]
    return [
        f"README.md: tandem-opt {command} no longer prints\n{output}"
        for command, output in zip(commands, outputs)
        if squeezed(output) not in squeezed(run([command]))
    ]


if __name__ == "__main__":
    root, tandem_opt = sys.argv[1:3]

    def run(arguments):
        return subprocess.run(
            [tandem_opt, os.path.join(root, EXAMPLE), *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout

    sys.exit(house.report("readme", check(house.Tree.of(root), run)))
