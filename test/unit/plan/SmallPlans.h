//===- SmallPlans.h - Plans written by hand ---------------------*- C++ -*-===//
//
// Two plans that are small enough to check by eye and touch most of the
// format. Tests mutate them.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_PLAN_SMALLPLANS_H
#define TANDEM_TEST_UNIT_PLAN_SMALLPLANS_H

#include "runtime/plan/PlanBuilder.h"

namespace tandem::test {

/// Adds values and instructions to one program.
class ProgramWriter {
public:
  ProgramWriter(PlanBuilder &builder, fb::ProgramT &program)
      : builder(builder), program(program) {}

  uint32_t arena(const TensorType &type, uint64_t offset);
  uint32_t parameter(uint32_t index, const TensorType &type);
  uint32_t state(uint32_t index, const TensorType &type);
  uint32_t workspace(uint64_t bytes, uint64_t offset);

  void launch(const std::string &kernel, const ShardingRule &rule,
              const std::vector<uint32_t> &inputs,
              const std::vector<uint32_t> &outputs,
              const std::string &location = "");
  /// Any other instruction; returns it to be changed.
  fb::Instruction &add(fb::Opcode op, const std::vector<uint32_t> &inputs,
                       const std::vector<uint32_t> &outputs,
                       const std::vector<uint32_t> &workspaces = {},
                       const AxisList &axes = {});

private:
  PlanBuilder &builder;
  fb::ProgramT &program;
};

Sharding sharding(const std::string &text, const Mesh &mesh);
void addParameter(PlanBuilder &builder, const std::string &name,
                  const TensorType &type, const std::vector<uint32_t> &stages,
                  const std::vector<uint64_t> &offsets);
void addPort(PlanBuilder &builder,
             std::vector<std::unique_ptr<fb::PortT>> &ports,
             const std::string &name, const TensorType &type,
             const std::vector<uint32_t> &values);
/// The mesh of a native plan.
Mesh meshOf(const fb::PlanT &plan);

/// y = gelu(x w1) w2 with w1 split by columns and w2 by rows over tp=2, and
/// one all_reduce:
///
///   %0 x   f32[4x8]                    input
///   %1 w1  f32[8x16] [{}, {"tp"}]      parameter
///   %2 w2  f32[16x8] [{"tp"}, {}]      parameter
///   %3 h   f32[4x16] [{}, {"tp"}]      = x w1
///   %4 g   f32[4x16] [{}, {"tp"}]      = gelu h, in place
///   %5 p   f32[4x8] unreduced={"tp"}   = g w2
///   %6 y   f32[4x8]                    = all_reduce p, in place; %7 workspace
fb::PlanT mlpPlan();

/// Two stages on pp=2,tp=2: stage 0 embeds ids and sends, stage 1 adds to a
/// state, and broadcasts a scalar over pp.
fb::PlanT twoStagePlan();

/// One rank of two with two streams: stream 0 computes %1, stream 1 reduces
/// it to %2 while stream 0 computes %3, which is added to %2:
///
///   0: #0 scale %0->%1  #1 record 0                #4 scale %0->%3
///   1:                       #2 wait 0 #3 all_reduce %1->%2 #5 record 1
///   0: #6 wait 1  #7 sum %2 %3->%4
fb::PlanT twoStreamPlan();

/// Two stages that send each other a row; `crossed`: both send first.
fb::PlanT exchangePlan(bool crossed);

/// Stage 0 sends rows a and b to stage 1, from places of these names.
fb::PlanT twoRowsPlan();

} // namespace tandem::test

#endif // TANDEM_TEST_UNIT_PLAN_SMALLPLANS_H
