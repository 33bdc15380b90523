"""Each check finds what it is there for, and lets pass what is right."""

import unittest

import diagnostics
import examples
import headers
import includes
import names
import prose
import readme
import reference
import sizes
import symbols
import tests
import words
from tree import Tree


class Includes(unittest.TestCase):
    def found(self, path, line):
        return includes.check(Tree({path: line + "\n"}))

    def test_what_the_table_allows(self):
        for path, line in (
            ("runtime/exec/A.h", '#include "runtime/base/Status.h"'),
            ("ir/A.h", '#include "mlir/IR/Value.h"'),
            ("tools/tandem/A.cpp", '#include "passes/emit/EmitPlan.h"'),
            ("runtime/comm/mpi/MpiTable.cpp", "#include <mpi.h>"),
        ):
            self.assertEqual(self.found(path, line), [])

    def test_what_it_does_not_allow(self):
        for path, line, why in (
            ("runtime/base/A.h", '#include "runtime/mesh/Mesh.h"', "may not"),
            ("runtime/exec/A.cpp", '#include "runtime/session/S.h"', "may not"),
            ("runtime/plan/A.cpp", '#include "ir/Dialect.h"', "may not"),
            ("runtime/plan/A.cpp", '#include "llvm/ADT/Twine.h"', "never"),
            ("passes/strategy/A.h", '#include "mlir/IR/Value.h"', "never"),
            ("ir/A.td", 'include "tools/tandem/A.td"', "by nobody"),
            ("runtime/comm/A.cpp", "# include <mpi.h>", "is kept to"),
        ):
            found = self.found(path, line)
            self.assertEqual(len(found), 1, path)
            self.assertIn(why, found[0])

    def test_a_room_without_a_row(self):
        self.assertIn("has no misc", self.found("misc/A.h", "")[0])

    def test_a_table_whose_rooms_reach_each_other(self):
        rows = {"a": ["b"], "b": ["c"], "c": ["a"]}
        self.assertEqual(includes.allowed("a", rows), {"a", "b", "c"})
        self.assertEqual(includes.cycles(), [])


class Names(unittest.TestCase):
    declared = {"passes/exec/Passes.td": 'def LowerIt : Pass<"tandem-lower-it"> {'}
    rest = {
        "passes/exec/LowerIt.cpp": "",
        "test/passes/exec/lower-it.mlir": "",
    }

    def test_a_whole_chain(self):
        self.assertEqual(names.check(Tree({**self.declared, **self.rest})), [])

    def test_missing_links(self):
        self.assertEqual(len(names.check(Tree(self.declared), set())), 2)

    def test_another_option(self):
        tree = Tree({"passes/exec/Passes.td": 'def A : Pass<"a"> {', **self.rest})
        self.assertIn("expected --tandem-a", names.check(tree, set())[0])


class Diagnostics(unittest.TestCase):
    source = 'return emitOpError() << what << " is; odd,"\n  " not even" << n;'

    def test_untested(self):
        found = diagnostics.check(Tree({"ir/A.cpp": self.source}), set())
        self.assertEqual(len(found), 1)
        self.assertIn('"is; odd, not even"', found[0])

    def test_tested(self):
        test = "// expected-error {{dim is; odd, not even 3}}"
        tree = Tree({"ir/A.cpp": self.source, "test/ir/a.mlir": test})
        self.assertEqual(diagnostics.check(tree, set()), [])


class Prose(unittest.TestCase):
    def test_a_path_that_is_gone(self):
        tree = Tree({"README.md": "See `ir/Gone.h` and `ir/A.h`.", "ir/A.h": ""})
        self.assertEqual(
            prose.check(tree), ["README.md:1: there is no ir/Gone.h"]
        )

    def test_a_path_with_words_to_fill_in(self):
        files = {"README.md": "`test/MODEL-NAME.txt`", "test/gpt2-a.txt": ""}
        self.assertEqual(prose.check(Tree(files)), [])
        del files["test/gpt2-a.txt"]
        self.assertEqual(len(prose.check(Tree(files))), 1)

    def test_a_room_without_a_readme(self):
        found = prose.check(Tree({"runtime/base/A.h": ""}))
        self.assertEqual(found, ["runtime/base: no README.md"])

    def test_a_folder_of_a_machine(self):
        folder = "/" + "home/someone/model"
        found = prose.check(Tree({"docs/a.txt": f"look into {folder}"}))
        self.assertEqual(len(found), 1)


class Sizes(unittest.TestCase):
    body = "void f(int a) {\n" + "  g();\n" * 70 + "}\n"

    def test_long_ones_need_a_reason(self):
        tree = Tree({"ir/A.cpp": self.body * 12})
        found = sizes.check(tree, {})
        self.assertIn("ir/A.cpp: 864 lines", found[0])
        self.assertIn("f has 72 lines", found[1])
        known = {"ir/A.cpp": "a table", "ir/A.cpp:f": "a table"}
        self.assertEqual(sizes.check(tree, known), [])

    def test_methods_and_what_looks_like_them(self):
        text = (
            "namespace a {\n// void no() {\nclass B : C<int> {\npublic:\n"
            '  B() : s("{") {}\n  template <typename T>\n  int get(T t) const {\n'
            "    if (t) {\n      return 1;\n    }\n    return 2;\n  }\n"
            "  int x[2] = {f(1), 2};\n};\n} // namespace a\n"
            "TEST(Suite, Name) {\n  auto l = [&](int i) { return i; };\n}\n"
        )
        self.assertEqual(
            list(sizes.functions(text)),
            [("B", 5, 1), ("get", 6, 7), ("Suite.Name", 16, 3)],
        )

    def test_medians(self):
        self.assertIn("expected 5 to 14", [*sizes.outside(20, (5, 14), "f")][0])
        self.assertEqual([*sizes.outside(9, (5, 14), "f")], [])


class Headers(unittest.TestCase):
    head = "//===- A.h - What it holds ---*- C++ -*-===//\n//\n// More.\n"
    guard = "#ifndef TANDEM_IR_A_H\n#define TANDEM_IR_A_H\n#endif\n"

    def found(self, text):
        return headers.check(Tree({"ir/A.h": text}))

    def test_a_whole_one(self):
        self.assertEqual(self.found(self.head + self.guard), [])

    def test_what_is_missing(self):
        self.assertIn("the guard TANDEM_IR_A_H", self.found(self.head)[0])
        bare = self.head.split("\n")[0] + "\n" + self.guard
        self.assertIn("no word on what it promises", self.found(bare)[0])
        other = self.head.replace("A.h", "B.h") + self.guard
        self.assertIn("expected //===- A.h", self.found(other)[0])


class Words(unittest.TestCase):
    def found(self, path, line):
        return words.check(Tree({path: line + "\n"}))

    def test_what_says_nothing(self):
        for path, line in (
            ("ir/Attribute" + "Utils.cpp", ""),
            ("ir/A.h", "class Parser" + "Helper;"),
            ("ir/A.h", "// TO" + "DO: later"),
            ("README.md", "as iss" + "ue 4 asks"),
        ):
            self.assertEqual(len(self.found(path, line)), 1, line)

    def test_what_others_named(self):
        for line in ('#include "llvm/Misc.h"', "llvm::Common x;", "no issue"):
            self.assertEqual(self.found("ir/A.h", line), [])


class Tests(unittest.TestCase):
    readme = (
        "| folder | holds |\n| `test/a/` | `more` |\n"
        "| figure | command |\n| speed | `python3 test/bench/a.py` |\n"
        "| all | `ctest --test-dir build -R models_all` |\n"
    )

    def test_what_is_right(self):
        tree = Tree({"test/README.md": self.readme, "test/bench/a.py": ""})
        self.assertEqual(tests.check(tree, {"models_all": ["slow"]}), [])

    def test_what_is_wrong(self):
        tree = Tree({"test/README.md": self.readme})
        found = tests.check(tree, {"other_all": ["fast"]})
        for line, why in zip(found, (
            "unknown label fast", "expected the label slow",
            "there is no test/bench/a.py", "no test is called models_all",
        )):
            self.assertIn(why, line)
        self.assertEqual(len(found), 4)


class Symbols(unittest.TestCase):
    def test_foreign_ones(self):
        listing = ["0 T tandem::Plan::load", "U mlir::Value::dump()"]
        self.assertEqual(symbols.check(listing), listing[1:])


class Examples(unittest.TestCase):
    def test_operands_get_the_types_written(self):
        text = '%y = tandem.einsum "ab,bc->ac" %x, %w : (t<2, 3>, u) -> v'
        self.assertIn(
            "func.func @example(%x: t<2, 3>, %w: u)", examples.example(text)
        )

    def test_one_type_is_for_all(self):
        text = "%z = tandem.binary mul, %x, %y : tensor<4xf32>"
        self.assertIn(
            "(%x: tensor<4xf32>, %y: tensor<4xf32>)", examples.example(text)
        )

    def test_blocks_are_found_where_they_are(self):
        tree = Tree({"ir/A.td": "x\n  ```mlir\n  func.func @f\n  ```\n"})
        self.assertEqual(
            list(examples.examples(tree)), [("ir/A.td:3", "func.func @f\n")]
        )


class Readme(unittest.TestCase):
    page = (
        "```mlir\nfunc\n```\n`build/bin/tandem-opt docs/mlp.mlir\n--go`\n"
        "```text\n%0 = a\n  b\n```\n"
    )
    tree = Tree({"README.md": page, "docs/mlp.mlir": "func\n"})

    def test_what_is_printed(self):
        self.assertEqual(readme.check(self.tree, lambda _: "x %0 = a b y"), [])

    def test_what_is_no_longer_printed(self):
        self.assertEqual(len(readme.check(self.tree, lambda _: "%0 = a c")), 1)

    def test_another_example(self):
        tree = Tree({**self.tree.files, "docs/mlp.mlir": "other"})
        self.assertIn("another text", readme.check(tree, None)[0])


class Reference(unittest.TestCase):
    def test_old_new_and_lost_pages(self):
        committed = Tree({"a.md": "old", "b.md": "same", "c.md": ""})
        generated = Tree({"a.md": "new", "b.md": "same", "d.md": ""})
        found = reference.check(committed, generated)
        self.assertEqual([line.split()[0][-4:] for line in found],
                         ["a.md", "c.md", "d.md"])


if __name__ == "__main__":
    unittest.main()
