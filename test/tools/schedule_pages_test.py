"""The pages of schedules show what `tandem schedule` prints and draws."""

import os
import re
import shlex
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "numerics"))
import programs  # noqa: E402

PAGES = os.path.join(HERE, "..", "..", "docs", "schedules")


def read(*parts):
    with open(os.path.join(*parts)) as file:
        return file.read()


class SchedulePagesTest(programs.ProgramTest):
    def pages(self):
        names = sorted(n for n in os.listdir(PAGES) if n.endswith(".md"))
        self.assertEqual([n[:-3] for n in names],
                         ["1f1b", "gpipe", "interleaved", "zb-h1", "zb-v"])
        return names

    def test_pages(self):
        for name in self.pages():
            with self.subTest(name):
                page = read(PAGES, name)
                command, shown = re.search(
                    r"```sh\ntandem (.*)\n```\n\n```text\n(.*?)```", page, re.S
                ).groups()
                svg = self.path(name)
                told = self.tandem(*shlex.split(command), "--svg", svg)
                self.assertEqual(told, shown)
                picture = name.replace(".md", ".svg")
                self.assertIn(f"]({picture})", page)
                self.assertEqual(read(svg), read(PAGES, picture))

    def test_overview_names_all(self):
        overview = read(PAGES, "..", "schedules.md")
        for name in self.pages():
            self.assertIn(f"[{name[:-3]}](schedules/{name})", overview)


if __name__ == "__main__":
    programs.main()
