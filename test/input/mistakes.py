"""Tests that plant one mistake each and read what the program says of it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "numerics"))
import programs  # noqa: E402
import tiny  # noqa: E402


class MistakeTest(programs.ProgramTest):
    """A good model in a scratch folder, which a test spoils."""

    def setUp(self):
        super().setUp()
        self.model = tiny.write_model(self.path("model"))

    def write(self, name, content):
        """A file of the scratch folder from text, bytes or JSON."""
        path = self.path(name)
        if isinstance(content, bytes):
            tiny.write_bytes(path, content)
        elif isinstance(content, str):
            tiny.write_bytes(path, content.encode())
        else:
            tiny.write_json(path, content)
        return path

    def files(self):
        return sorted(os.path.join(folder, name)
                      for folder, folders, names in os.walk(self.scratch)
                      for name in names + folders)

    def refuse(self, arguments, *parts, code=1, environment=None):
        """The program says all `parts` in one line, ends with `code`, prints
        no result and leaves no file behind."""
        before = self.files()
        got, out, err = programs.run(arguments, environment)
        told = f"tandem {' '.join(arguments)}\n{err}"
        self.assertEqual(got, code, told)
        self.assertTrue(err.startswith("tandem: error: "), told)
        self.assertEqual(len(err.splitlines()), 1, told)
        self.assertLess(len(err), 1000)
        for part in parts:
            self.assertIn(part, err)
        self.assertEqual(out, "")
        self.assertEqual(self.files(), before)

    def refuseModel(self, *parts, flags=(), code=1):
        """The scratch folder's model cannot be compiled."""
        self.refuse(["compile", self.model, "-o", self.path("out.plan"),
                     *flags], *parts, code=code)

    def makePlan(self, *flags):
        plan = self.path("good.plan")
        self.compile(self.model, plan, *flags)
        return plan


main = programs.main
