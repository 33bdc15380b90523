//===- Inspect.h - A plan as text and as JSON -------------------*- C++ -*-===//
//
// What `tandem inspect` prints. Collectives that are the same (operation,
// axes, pp coordinate, bytes, cause) are one row with their count and the
// location of the first. A send is a row of its stage; its recv, which puts
// nothing on the wire, and all_slice, which moves nothing, are none.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_INSPECT_H
#define TANDEM_RUNTIME_PLAN_INSPECT_H

#include "runtime/plan/LinkBytes.h"
#include "runtime/plan/Walk.h"

#include <functional>
#include <optional>

namespace tandem {

/// One row of the table of collectives.
struct CollectiveRow {
  CollectiveKind kind = CollectiveKind::AllReduce;
  AxisList axes; ///< `pp` for a send.
  uint32_t stage = 0;
  int64_t count = 0;
  Traffic traffic; ///< Of one instance.
  std::string cause;
  std::string location; ///< Of the first.
};

/// The rows of an entry, by stage and then in program order.
std::vector<CollectiveRow> collectivesOf(const Plan &plan,
                                         const fb::Entry &entry);

/// Flops of einsum and attention on all ranks, padded lanes counted, as a
/// multiple of those that one rank alone would need; 1 where there are none.
double computeOf(const fb::Entry &entry);

/// `P F0 F1 B0 B1 E`: prologue, forward and backward of microbatches, epilogue;
/// `F2:0`, microbatch 0 in stage 2, where a coordinate has several stages.
std::string scheduleText(const Plan &plan, const fb::Program &program);
/// Bytes of all slots of a program.
uint64_t slotBytes(const fb::Program &program);

/// `tp`, or `tp:(1)2` for a part.
std::string axisText(const AxisRef &axis, const Mesh &mesh);
/// `1.5 MiB`
std::string bytesText(uint64_t bytes);

/// The share of a step in which the coordinates of a pipeline wait.
struct BubbleFigures {
  std::string schedule; ///< The known one that it is, empty for none.
  double counted = 0;   ///< From the schedule as the plan has it.
  std::optional<double> closedForm;
  std::string formula; ///< Of what each coordinate waits.
};

struct InspectOptions {
  bool instructions = false;      ///< List every instruction of every program.
  int64_t nodeRanks = kNodeRanks; ///< That share a node.
  /// What is known of an entry's bubble; null: nothing.
  std::function<std::optional<BubbleFigures>(const Plan &, const fb::Entry &)>
      bubble;
};

/// For a terminal; ends with a newline.
std::string inspectText(const Plan &plan, const InspectOptions &options = {});
/// One object; the README of this folder lists its fields. Ends with a
/// newline.
std::string inspectJson(const Plan &plan, const InspectOptions &options = {});

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_INSPECT_H
