//===- PlanFields.h - Every number of a plan, and every list ----*- C++ -*-===//
//
// What it is: all that a plan's tables hold, as a flat list of places that can
// be read and written, so that a test can change anything without knowing what
// it means:
//
//   for (const PlanField &field : fieldsOf(plan))
//     field.set(copy, field.value + 1);
//   for (const PlanList &list : listsOf(plan))
//     list.swap(copy, 0, 1);
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_PLAN_PLANFIELDS_H
#define TANDEM_TEST_PLAN_PLANFIELDS_H

#include "runtime/plan/Plan.h"

#include <functional>

namespace tandem::test {

struct PlanField {
  std::string name;  ///< As in `plan.fbs`: `instruction.dim`.
  std::string where; ///< `decode pp 1 #12`
  int64_t value;
  std::function<void(fb::PlanT &, int64_t)> set;
};

struct PlanList {
  std::string name;
  std::string where;
  size_t size;
  std::function<void(fb::PlanT &, size_t, size_t)> swap;
  std::function<void(fb::PlanT &, size_t)> drop;
  std::function<void(fb::PlanT &, size_t)> repeat;
};

std::vector<PlanField> fieldsOf(const fb::PlanT &plan);
/// Lists of two elements and more.
std::vector<PlanList> listsOf(const fb::PlanT &plan);

} // namespace tandem::test

#endif // TANDEM_TEST_PLAN_PLANFIELDS_H
