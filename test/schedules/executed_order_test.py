"""What ranks run is what `tandem schedule` prints, action for action."""

import unittest

import steps


class ExecutedOrderTest(steps.programs.ProgramTest):
    def check(self, coordinates, microbatches, *schedule):
        with self.subTest(f"{coordinates} x {microbatches} {schedule}"):
            plan = steps.compile_step(self.scratch, coordinates, microbatches,
                                      *schedule)
            _, executed = steps.run_step(plan)
            if schedule[0] == "--schedule-file":
                sizes = []
            else:
                sizes = ["--stages", str(coordinates), "--microbatches",
                         str(microbatches)]
            self.assertEqual(
                executed, steps.orders_of(steps.planned(*sizes, *schedule)))

    def test_named(self):
        for name in steps.SCHEDULES:
            for coordinates, microbatches in ((2, 3), (3, 6)):
                self.check(coordinates, microbatches, "--schedule", name)

    def test_fewer_microbatches_than_coordinates(self):
        for name in steps.SCHEDULES:
            self.check(3, 2, "--schedule", name)

    def test_table(self):
        path = self.path("table")
        with open(path, "w") as file:
            file.write("0: F0 F1 B0 F2 W0 B1 W1 B2 W2\n"
                       "1: F0 B0 F1 W0 B1 F2 B2 W1 W2\n")
        self.check(2, 3, "--schedule-file", path)


if __name__ == "__main__":
    unittest.main()
