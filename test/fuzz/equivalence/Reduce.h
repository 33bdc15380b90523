//===- Reduce.h - A failing module made small -------------------*- C++ -*-===//
//
// Takes away whatever a failure does not need, for as long as anything can be
// taken away:
//   results and operations     a result is not returned, or an operation's
//                              result becomes an operand of its type or an
//                              argument
//   shardings                  of arguments, results and constraints; their
//                              axes one by one, openness, priorities
//   the mesh                   an axis, or a smaller one
//   shapes                     dimensions that belong together, to 1, 2 or 3
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_FUZZ_EQUIVALENCE_REDUCE_H
#define TANDEM_TEST_FUZZ_EQUIVALENCE_REDUCE_H

#include <functional>
#include <string>

namespace tandem::test {

/// The smallest text found for which `fails` holds as it does for `text`.
/// `fails` is called at most `most` times.
std::string reduceCase(const std::string &text,
                       const std::function<bool(const std::string &)> &fails,
                       int most = 3000);

} // namespace tandem::test

#endif // TANDEM_TEST_FUZZ_EQUIVALENCE_REDUCE_H
