#include "runtime/plan/Verify.h"
#include "SmallPlans.h"

#include <functional>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using test::meshOf;
using test::mlpPlan;
using test::sharding;
using test::twoStagePlan;

/// What loading or verifying says; "fine" when nothing.
std::string verdict(const fb::PlanT &native, VerifyOptions options = {}) {
  Result<Plan> plan = Plan::fromNative(native);
  if (!plan.ok())
    return plan.status().message();
  Status status = verify(*plan, options);
  return status.ok() ? "fine" : status.message();
}

std::string mutated(fb::PlanT plan,
                    const std::function<void(fb::PlanT &)> &mutate) {
  mutate(plan);
  return verdict(plan);
}

fb::ProgramT &program(fb::PlanT &plan, size_t stage = 0) {
  return *plan.entries[0]->programs[stage];
}

/// The index of a type, added to the plan if it is new.
uint32_t typeIndex(fb::PlanT &plan, const TensorType &type) {
  Result<Plan> loaded = Plan::fromNative(plan);
  for (uint32_t i = 0; i < plan.types.size(); ++i)
    if (loaded->type(i) == type)
      return i;
  auto native = std::make_unique<fb::TypeT>();
  native->dtype = static_cast<uint8_t>(type.dtype);
  native->shape = type.shape;
  auto list = [&](const AxisList &axes) {
    for (uint32_t i = 0; i < plan.axis_lists.size(); ++i)
      if (loaded->axisList(i) == axes)
        return i;
    ADD_FAILURE() << "no such axis list";
    return 0u;
  };
  for (const DimSharding &dim : type.sharding.dims)
    native->dim_axes.push_back(list(dim.axes));
  native->unreduced = list(type.sharding.unreduced);
  plan.types.push_back(std::move(native));
  return static_cast<uint32_t>(plan.types.size() - 1);
}

#define EXPECT_SAYS(actual, expected)                                          \
  EXPECT_NE((actual).find(expected), std::string::npos) << (actual)

TEST(Verify, AcceptsWhatIsRight) {
  EXPECT_EQ(verdict(mlpPlan()), "fine");
  EXPECT_EQ(verdict(twoStagePlan()), "fine");
  EXPECT_EQ(verdict(test::twoStreamPlan()), "fine");
}

//===--- Types ------------------------------------------------------------===//

TEST(VerifyTypes, DroppedAllReduceIsAnUnreducedOutput) {
  // The output takes the partial value; nothing else changes.
  EXPECT_EQ(mutated(mlpPlan(),
                    [](fb::PlanT &plan) {
                      program(plan).instructions.pop_back();
                      plan.entries[0]->outputs[0]->values[0] = 5;
                    }),
            "output 'y' of entry 'forward' is declared f32[4x8] [{}, {}], on "
            "pp 0 it is f32[4x8] [{}, {}], unreduced={\"tp\"}");
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).instructions.pop_back();
                        plan.entries[0]->outputs[0]->values[0] = 5;
                        plan.entries[0]->outputs[0]->type =
                            program(plan).values[5].type();
                      }),
              "output 'y' of entry 'forward' is unreduced");
  EXPECT_SAYS(
      mutated(mlpPlan(),
              [](fb::PlanT &plan) { program(plan).instructions.pop_back(); }),
      "value 6 is read before anything writes it");
}

TEST(VerifyTypes, PartialValueDeclaredWholeIsRefused) {
  EXPECT_EQ(mutated(mlpPlan(),
                    [](fb::PlanT &plan) {
                      program(plan).values[5].mutate_type(
                          program(plan).values[6].type());
                      program(plan).instructions.pop_back();
                      plan.entries[0]->outputs[0]->values[0] = 5;
                    }),
            "entry 'forward', pp 0, instruction 2 (einsum) at mlp.c_proj: "
            "output 0 is declared unreduced over {}, it is over {\"tp\"}");
}

TEST(VerifyTypes, DoubledAllReduceIsRefused) {
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        auto &instructions = program(plan).instructions;
                        fb::Instruction again = instructions.back();
                        instructions.push_back(again);
                      }),
              "value 5 is read after its bytes went to value 6, written by "
              "instruction 3");
  // Reading its own result does not help.
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        fb::ProgramT &p = program(plan);
                        p.values.push_back(p.values[6]);
                        fb::Instruction again = p.instructions.back();
                        again.mutate_first_arg(
                            static_cast<uint32_t>(p.args.size()));
                        p.args.insert(p.args.end(), {6, 8, 7});
                        p.instructions.push_back(again);
                      }),
              "instruction 4 (all_reduce) at mlp.c_proj: all_reduce over "
              "{\"tp\"} does not fit f32[4x8] [{}, {}]: it is not unreduced "
              "over these axes");
}

TEST(VerifyTypes, ReductionKindIsChecked) {
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).instructions[3].mutate_reduction(
                            fb::ReductionKind::Max);
                      }),
              "its terms combine otherwise");
}

TEST(VerifyTypes, CollectiveOverOtherAxesIsRefused) {
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).instructions[3].mutate_axes(0);
                      }),
              "(all_reduce) at mlp.c_proj: it is over no axis");
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        auto &gather = program(plan, 1).instructions[2];
                        gather.mutate_dim(0);
                      }),
              "all_gather over {\"tp\"} does not fit f32[4x8] [{}, {\"tp\"}]: "
              "dimension 0 is not split by these axes last");
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        auto &gather = program(plan, 1).instructions[2];
                        gather.mutate_op(fb::Opcode::AllReduce);
                      }),
              "(all_reduce): all_reduce over {\"tp\"} does not fit");
}

TEST(VerifyTypes, NonLinearKernelMayNotReadAPartialValue) {
  // gelu moved behind the product: the classic wrong place.
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        fb::ProgramT &p = program(plan);
                        uint32_t partial = p.values[5].type();
                        p.values[3].mutate_type(partial);
                        p.values[3].mutate_bytes(128);
                        p.values[4].mutate_type(partial);
                        p.values[4].mutate_bytes(128);
                        p.instructions.erase(p.instructions.begin());
                        p.instructions.erase(p.instructions.begin() + 1,
                                             p.instructions.end());
                      }),
              "dimension 1 has the size 8, its factors make 16");
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        // A state that is unreduced, a term that is not.
                        TensorType rows{DType::F32,
                                        {4, 8},
                                        sharding("[{}, {}], unreduced={\"tp\"}",
                                                 meshOf(plan)),
                                        ReductionKind::Sum};
                        uint32_t type = typeIndex(plan, rows);
                        plan.states[0]->type = type;
                        plan.memory[1]->state = 128;
                        for (int v : {1, 2}) {
                          program(plan, 1).values[v].mutate_type(type);
                          program(plan, 1).values[v].mutate_bytes(128);
                        }
                      }),
              "(sum) at residual: input 1, dimension 1 is split by {\"tp\"}, "
              "another tensor splits the same factor by {}");
}

TEST(VerifyTypes, ValueSizesFollowFromTypes) {
  EXPECT_EQ(mutated(mlpPlan(),
                    [](fb::PlanT &plan) {
                      program(plan).values[3].mutate_bytes(64);
                    }),
            "entry 'forward', pp 0, value 3 has 64 bytes, its type f32[4x16] "
            "[{}, {\"tp\"}] 128");
}

TEST(VerifyTypes, ParametersAndStatesAreWhatTheyAreDeclared) {
  EXPECT_EQ(
      mutated(mlpPlan(),
              [](fb::PlanT &plan) { program(plan).values[2].mutate_index(0); }),
      "entry 'forward', pp 0, value 2 is f32[16x8] [{\"tp\"}, {}], its "
      "parameter is declared f32[8x16] [{}, {\"tp\"}]");
}

TEST(VerifyTypes, ArgumentsAreCounted) {
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).instructions[3].mutate_inputs(0);
                        program(plan).instructions[3].mutate_outputs(2);
                      }),
              "it has 0 inputs and 2 outputs, expected 1 and 1");
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).instructions[0].mutate_inputs(1);
                        program(plan).instructions[0].mutate_outputs(2);
                      }),
              "it has 1 inputs and 2 outputs, its rule 2 and 1");
}

TEST(VerifyTypes, WorkspaceIsLargeEnough) {
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).instructions[3].mutate_workspaces(0);
                      }),
              "it has 0 bytes of workspace, it needs 128");
}

//===--- Memory -----------------------------------------------------------===//

TEST(VerifyMemory, BuffersOverlapOnlyWhenOneHasEnded) {
  // h over x's second half: x is being read.
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).values[3].mutate_offset(64);
                        program(plan).values[4].mutate_offset(64);
                      }),
              "instruction 0 (einsum) at mlp.c_fc: its output, value 3, "
              "overlaps its input, value 0, although it does not work in "
              "place");
  // The partial sum over g, which the product is still reading.
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).values[5].mutate_offset(128);
                      }),
              "its output, value 5, overlaps its input, value 4");
  // gelu shifted by half of what it reads.
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).values[4].mutate_offset(192);
                      }),
              "its output, value 4, overlaps its input, value 3");
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).values[7].mutate_offset(64);
                      }),
              "its workspace overlaps its input, value 5");
}

TEST(VerifyMemory, GivenAwayTooEarly) {
  // The received rows lie where the all_gather's result comes, and are read
  // by the sum only afterwards.
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        auto &p = program(plan, 1);
                        std::swap(p.instructions[1], p.instructions[2]);
                        p.values[4].mutate_offset(0);
                        p.args[p.instructions[1].first_arg()] = 1;
                      }),
              "value 0 is read after its bytes went to value 4, written by "
              "instruction 1");
}

TEST(VerifyMemory, OldStateIsGoneOnceItIsWritten) {
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        auto &p = program(plan, 1);
                        p.args[p.instructions[2].first_arg()] = 1;
                      }),
              "instruction 2 (all_gather): value 1 is read after its bytes "
              "went to value 2, written by instruction 1");
}

TEST(VerifyMemory, AStateIsNotUpdatedByNothing) {
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        auto &i = program(plan, 1).instructions;
                        i.erase(i.begin() + 1);
                      }),
              "instruction 1 (all_gather): value 2 is read before anything "
              "writes it");
}

TEST(VerifyMemory, SwappedDependentInstructions) {
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        auto &i = program(plan).instructions;
                        std::swap(i[1], i[2]);
                      }),
              "instruction 1 (einsum) at mlp.c_proj: value 4 is read before "
              "anything writes it");
}

TEST(VerifyMemory, EachValueIsWrittenOnce) {
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        auto &i = program(plan).instructions;
                        fb::Instruction again = i[0];
                        i.insert(i.begin() + 1, again);
                      }),
              "instruction 1 (einsum) at mlp.c_fc: value 3 is written twice");
}

TEST(VerifyMemory, AnUpdateThatIsMissingLeavesItsValueBehind) {
  EXPECT_EQ(mutated(mlpPlan(),
                    [](fb::PlanT &plan) {
                      auto &p = program(plan);
                      p.values.push_back(p.values[3]);
                    }),
            "entry 'forward', pp 0, value 8 is neither written nor read by "
            "anything");
}

TEST(VerifyMemory, ParametersAreNotWritten) {
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        auto &p = program(plan);
                        p.values.push_back(p.values[1]);
                        p.values.back().mutate_type(p.values[3].type());
                        p.values.back().mutate_bytes(128);
                        p.values.back().mutate_region(fb::Region::Parameter);
                        p.args[p.instructions[0].first_arg() + 2] = 8;
                      }),
              "value 8 is f32[4x16] [{}, {\"tp\"}], its parameter is declared");
}

/// A parameter reshaped on the spot is the parameter, once that is said.
TEST(VerifyMemory, AParameterMayBeReshapedOnTheSpot) {
  auto reshaped = [](bool said) {
    fb::PlanT plan = mlpPlan();
    PlanBuilder builder(meshOf(plan));
    fb::ProgramT &p = program(plan);
    TensorType flat{DType::F32,
                    {128},
                    sharding("[{\"tp\"}]", meshOf(plan)),
                    ReductionKind::Sum};
    // w2 is split by rows, so its elements lie one behind the other.
    fb::Value value = p.values[2];
    value.mutate_type(typeIndex(plan, flat));
    p.values.push_back(value);       // %8
    p.values.push_back(p.values[2]); // %9
    auto rule = [&](const ShardingRule &from) {
      builder.rule(from);
      plan.rules.push_back(std::move(builder.plan.rules.back()));
      return static_cast<uint32_t>(plan.rules.size() - 1);
    };
    plan.kernels.push_back("reshape");
    fb::Instruction there = p.instructions[1];
    there.mutate_target(static_cast<uint32_t>(plan.kernels.size() - 1));
    there.mutate_rule(rule(reshapeRule({16, 8}, {128})));
    there.mutate_first_arg(static_cast<uint32_t>(p.args.size()));
    fb::Instruction back = there;
    back.mutate_rule(rule(reshapeRule({128}, {16, 8})));
    back.mutate_first_arg(there.first_arg() + 2);
    p.args.insert(p.args.end(), {2, 8, 8, 9});
    p.args[p.instructions[2].first_arg() + 1] = 9;
    p.instructions.insert(p.instructions.begin(), {there, back});
    if (!said)
      p.instructions.erase(p.instructions.begin());
    return verdict(plan);
  };
  EXPECT_EQ(reshaped(true), "fine");
  EXPECT_SAYS(reshaped(false), "value 8 is f32[128] [{\"tp\"}], its parameter "
                               "is declared f32[16x8] [{\"tp\"}, {}]");
}

TEST(VerifyMemory, LiedSizes) {
  EXPECT_EQ(mutated(mlpPlan(),
                    [](fb::PlanT &plan) { plan.memory[0]->arena_peak = 192; }),
            "pp 0 declares an arena of 192 bytes, its values end at byte 256");
  EXPECT_SAYS(
      mutated(mlpPlan(),
              [](fb::PlanT &plan) { plan.memory[0]->arena_peak = 1 << 20; }),
      "pp 0 declares an arena of 1048576 bytes, its values end at byte 256");
  EXPECT_EQ(mutated(mlpPlan(),
                    [](fb::PlanT &plan) { plan.memory[0]->parameters = 256; }),
            "pp 0 declares 256 bytes of parameters, it has 512 bytes");
  EXPECT_EQ(
      mutated(mlpPlan(),
              [](fb::PlanT &plan) { plan.memory[0]->arena_lower_bound = 512; }),
      "pp 0 declares that 512 bytes live at once in an arena of 256 bytes");
  // 512 bytes of parameters up to a page, and the arena.
  EXPECT_EQ(verdict(mlpPlan(), {4352, {}}), "fine");
  EXPECT_SAYS(verdict(mlpPlan(), {4351, {}}),
              "pp 0 needs 4352 bytes (parameters 512 bytes, state 0 bytes, "
              "arena 256 bytes), allowed are 4351 bytes: 1 too many; most "
              "lives at entry 'forward'");
  EXPECT_SAYS(verdict(mlpPlan(), {4352, {64}}), ": 64 too many");
}

TEST(VerifyMemory, MisalignedValue) {
  EXPECT_SAYS(mutated(mlpPlan(),
                      [](fb::PlanT &plan) {
                        program(plan).values[7].mutate_offset(129);
                        program(plan).values[6].mutate_offset(2);
                      }),
              "value 6 lies at byte 2, which is not aligned to its elements");
}

//===--- Parameters -------------------------------------------------------===//

TEST(VerifyPlacement, ParametersDoNotOverlap) {
  EXPECT_EQ(
      mutated(mlpPlan(),
              [](fb::PlanT &plan) { plan.parameters[1]->offsets[0] = 192; }),
      "parameter 'w1' and parameter 'w2' overlap on pp 0");
  EXPECT_EQ(
      mutated(mlpPlan(),
              [](fb::PlanT &plan) { plan.parameters[1]->offsets[0] = 320; }),
      "pp 0 declares 512 bytes of parameters and state, they end at "
      "byte 576");
}

TEST(VerifyPlacement, ViewsStayInTheirTensor) {
  EXPECT_EQ(
      mutated(mlpPlan(),
              [](fb::PlanT &plan) { plan.parameters[0]->view_offset = 1; }),
      "parameter 'w1' is a view that leaves stored tensor 'w1' of 128 "
      "elements");
  EXPECT_EQ(mutated(mlpPlan(),
                    [](fb::PlanT &plan) {
                      plan.parameters[0]->view_strides[1] = -1;
                    }),
            "parameter 'w1' is a view that leaves stored tensor 'w1' of 128 "
            "elements");
  EXPECT_EQ(mutated(mlpPlan(),
                    [](fb::PlanT &plan) {
                      plan.parameters[0]->view_strides = {8, 1};
                    }),
            "parameter 'w1' is a view that reads elements of stored tensor "
            "'w1' twice");
  EXPECT_EQ(mutated(mlpPlan(),
                    [](fb::PlanT &plan) {
                      plan.parameters[0]->view_strides = {1, 8};
                    }),
            "fine"); // Transposed.
  EXPECT_EQ(mutated(mlpPlan(),
                    [](fb::PlanT &plan) { plan.parameters[1]->key = "w1"; }),
            "parameter 'w2' and parameter 'w1' say different things of stored "
            "tensor 'w1'");
}

/// mlpPlan with both weights in one stored tensor, as columns 0 to 15 and, in
/// transposed order, 16 to 31 of 8 rows.
fb::PlanT fusedPlan() {
  fb::PlanT plan = mlpPlan();
  for (auto &parameter : plan.parameters) {
    parameter->key = "fused";
    parameter->stored_shape = {8, 32};
  }
  plan.parameters[0]->view_strides = {32, 1};
  plan.parameters[1]->view_strides = {1, 32};
  plan.parameters[1]->view_offset = 16;
  return plan;
}

TEST(VerifyPlacement, PartsOfAStoredTensorAreApart) {
  EXPECT_EQ(verdict(fusedPlan()), "fine");
  EXPECT_EQ(
      mutated(fusedPlan(),
              [](fb::PlanT &plan) { plan.parameters[1]->view_offset = 15; }),
      "parameter 'w2' and parameter 'w1' are views that overlap in "
      "stored tensor 'fused'");
  EXPECT_EQ(mutated(fusedPlan(),
                    [](fb::PlanT &plan) {
                      for (auto &parameter : plan.parameters)
                        parameter->stored_shape = {16, 32};
                      plan.parameters[0]->view_offset = 20;
                    }),
            "parameter 'w1' is a view that runs from row to row of stored "
            "tensor 'fused'");
  // Every other column: interleaved, as some fused projections are.
  EXPECT_EQ(mutated(fusedPlan(),
                    [](fb::PlanT &plan) {
                      plan.parameters[0]->view_strides = {32, 2};
                      plan.parameters[1]->view_strides = {2, 32};
                      plan.parameters[1]->view_offset = 1;
                    }),
            "fine");
  // The same part twice, as a tied head is.
  EXPECT_EQ(
      mutated(fusedPlan(),
              [](fb::PlanT &plan) { plan.parameters[1]->view_offset = 0; }),
      "fine");
  // Through whole rows, as after a reshape.
  EXPECT_EQ(mutated(fusedPlan(),
                    [](fb::PlanT &plan) {
                      for (auto &parameter : plan.parameters) {
                        parameter->stored_shape = {2, 4, 4, 8};
                        parameter->view_offset = 0;
                      }
                      plan.parameters[0]->view_strides = {1, 8};
                      plan.parameters[1]->view_strides = {8, 1};
                      plan.parameters[1]->view_offset = 128;
                    }),
            "fine");
}

//===--- Uses -------------------------------------------------------------===//

TEST(VerifyUses, WhatIsComputedIsRead) {
  // The sum of a row with itself in place of the gathered one: no type tells.
  EXPECT_EQ(mutated(test::twoStreamPlan(),
                    [](fb::PlanT &plan) {
                      fb::ProgramT &p = program(plan);
                      p.args[p.instructions.back().first_arg()] = 3;
                    }),
            "entry 'forward', pp 0, instruction 3 (all_gather): nothing reads "
            "what it writes, value 2");
}

TEST(VerifyUses, WhatIsHeldIsUsed) {
  EXPECT_EQ(
      mutated(mlpPlan(),
              [](fb::PlanT &plan) {
                plan.parameters.push_back(
                    std::make_unique<fb::ParameterT>(*plan.parameters[1]));
                plan.parameters[2]->name = "w3";
                plan.parameters[2]->offsets = {512};
                plan.memory[0]->parameters += 256;
              }),
      "parameter 'w3' is held on pp 0, where no instruction uses it");
  EXPECT_EQ(mutated(twoStagePlan(),
                    [](fb::PlanT &plan) {
                      plan.states.push_back(
                          std::make_unique<fb::StateT>(*plan.states[0]));
                      plan.states[1]->name = "other";
                      plan.states[1]->offsets = {64};
                      plan.memory[1]->state *= 2;
                    }),
            "state 'other' is held on pp 1, where no instruction uses it");
}

//===--- Progress ---------------------------------------------------------===//

TEST(VerifyProgress, SendNeedsItsRecv) {
  EXPECT_EQ(mutated(twoStagePlan(),
                    [](fb::PlanT &plan) {
                      auto &i = program(plan, 0).instructions;
                      i.erase(i.begin() + 1);
                    }),
            "entry 'next', pp 0, instruction 1 (broadcast): it never "
            "completes: broadcast on stream 0; meanwhile pp 1 is at "
            "instruction 0 (recv), recv on stream 0 with pp 0");
  EXPECT_EQ(mutated(twoStagePlan(),
                    [](fb::PlanT &plan) {
                      program(plan, 0).instructions[1].mutate_target(0);
                    }),
            "entry 'next', pp 0, instruction 1 (send): its peer is its own "
            "stage");
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        program(plan, 0).instructions[1].mutate_stream(1);
                        program(plan, 0).instructions[2].mutate_stream(1);
                      }),
              "without an event between them");
}

TEST(VerifyProgress, CrossedSendsWaitForEachOther) {
  EXPECT_EQ(verdict(test::exchangePlan(false)), "fine");
  EXPECT_EQ(verdict(test::exchangePlan(true)),
            "entry 'swap', pp 0, instruction 0 (send): it never completes: "
            "send on stream 0 with pp 1; meanwhile pp 1 is at instruction 0 "
            "(send), send on stream 0 with pp 0");
}

TEST(VerifyProgress, PartnersOfOneTypeAreNotExchanged) {
  EXPECT_EQ(verdict(test::twoRowsPlan()), "fine");
  auto exchange = [](fb::PlanT &plan) {
    auto &list = program(plan, 1).instructions;
    std::swap(list[0], list[1]);
  };
  EXPECT_EQ(mutated(test::twoRowsPlan(), exchange),
            "entry 'rows', pp 1, instruction 0 (recv) at b: it meets entry "
            "'rows', pp 0, instruction 0 (send) at a, which instruction 1 "
            "here is the partner of");
  // Partners need not come from places of one name.
  EXPECT_EQ(mutated(test::twoRowsPlan(),
                    [&](fb::PlanT &plan) {
                      exchange(plan);
                      program(plan, 0).instructions[0].mutate_location(kNone);
                      program(plan, 0).instructions[1].mutate_location(kNone);
                    }),
            "fine");
}

TEST(VerifyProgress, SendAndRecvMoveTheSame) {
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        auto &p = program(plan, 0);
                        p.args[p.instructions[1].first_arg()] = 0; // ids
                      }),
              "pp 1, instruction 0 (recv): it moves f32[4x8] [{}, {\"tp\"}], "
              "its partner entry 'next', pp 0, instruction 1 (send) i32[4] "
              "[{}]");
}

TEST(VerifyProgress, CollectivesAcrossStagesMatch) {
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        program(plan, 0).instructions.pop_back();
                        program(plan, 0).values.pop_back();
                        plan.entries[0]->outputs[0]->values[0] = kNone;
                      }),
              "pp 1, instruction 4 (broadcast): it never completes");
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        program(plan, 0).instructions[2].mutate_target(3);
                      }),
              "(broadcast): it does not match entry 'next', pp 0");
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        program(plan, 0).instructions[2].mutate_target(1);
                      }),
              "its root has no value to give");
  EXPECT_SAYS(mutated(twoStagePlan(),
                      [](fb::PlanT &plan) {
                        program(plan, 1).instructions[4].mutate_target(0);
                      }),
              "it gives a value although its root is on pp 0");
}

//===--- Streams ----------------------------------------------------------===//

TEST(VerifyStreams, EventsAreNeeded) {
  // Without the wait before it, the second stream reads what the first may
  // still be writing.
  std::vector<std::string> expected = {
      "it reads value 1, which instruction 0 writes on another stream without "
      "an event between them",
      "it reads value 2, which instruction 3 writes on another stream without "
      "an event between them"};
  size_t found = 0;
  for (size_t i = 0;
       i < test::twoStreamPlan().entries[0]->programs[0]->instructions.size();
       ++i) {
    fb::PlanT plan = test::twoStreamPlan();
    auto &instructions = program(plan).instructions;
    if (instructions[i].op() != fb::Opcode::Wait)
      continue;
    instructions.erase(instructions.begin() + static_cast<long>(i));
    std::string got = verdict(plan);
    ASSERT_LT(found, expected.size());
    // Indices shift by the erased instruction.
    EXPECT_SAYS(got, "without an event between them");
    EXPECT_SAYS(got, expected[found].substr(0, 16));
    ++found;
  }
  EXPECT_EQ(found, 2u);
}

TEST(VerifyStreams, AWaitNeedsARecordBeforeIt) {
  EXPECT_SAYS(mutated(test::twoStreamPlan(),
                      [](fb::PlanT &plan) {
                        auto &i = program(plan).instructions;
                        i[2].mutate_target(5);
                      }),
              "without an event between them");
}

TEST(VerifyStreams, WritingOverWhatAnotherStreamReads) {
  EXPECT_SAYS(mutated(test::twoStreamPlan(),
                      [](fb::PlanT &plan) {
                        auto &p = program(plan);
                        // The last wait gone, and what it protects reused.
                        p.values[3].mutate_offset(p.values[1].offset());
                        p.instructions.erase(p.instructions.begin() + 5);
                      }),
              "without an event between them");
}

//===--- Structure --------------------------------------------------------===//

TEST(VerifyStructure, IndicesAreInRange) {
  auto says = [](const std::function<void(fb::PlanT &)> &mutate) {
    return mutated(mlpPlan(), mutate);
  };
  EXPECT_SAYS(says([](fb::PlanT &p) { program(p).args[0] = 99; }),
              "instruction 0 (einsum) at mlp.c_fc: value 99 is out of range; "
              "the plan has 8");
  EXPECT_SAYS(says([](fb::PlanT &p) {
                program(p).instructions[0].mutate_first_arg(0xfffffff0u);
              }),
              "last argument");
  EXPECT_SAYS(
      says([](fb::PlanT &p) { program(p).instructions[0].mutate_rule(50); }),
      "rule 50 is out of range");
  EXPECT_SAYS(
      says([](fb::PlanT &p) { program(p).instructions[0].mutate_target(50); }),
      "kernel 50 is out of range");
  EXPECT_SAYS(
      says([](fb::PlanT &p) { program(p).instructions[3].mutate_axes(50); }),
      "axis list 50 is out of range");
  EXPECT_SAYS(says([](fb::PlanT &p) {
                program(p).instructions[3].mutate_location(50);
              }),
              "location 50 is out of range");
  EXPECT_SAYS(says([](fb::PlanT &p) {
                program(p).instructions[3].mutate_numbers_count(3);
              }),
              "last number 3 is out of range");
  EXPECT_SAYS(says([](fb::PlanT &p) {
                program(p).instructions[3].mutate_op(
                    static_cast<fb::Opcode>(77));
              }),
              "operation 77 is out of range");
  EXPECT_SAYS(
      says([](fb::PlanT &p) { program(p).instructions[3].mutate_stream(500); }),
      "stream 500 is out of range");
  EXPECT_SAYS(says([](fb::PlanT &p) { program(p).values[1].mutate_type(50); }),
              "value 1: type 50 is out of range");
  EXPECT_SAYS(says([](fb::PlanT &p) { program(p).values[1].mutate_index(7); }),
              "value 1: parameter 7 is out of range");
  EXPECT_SAYS(says([](fb::PlanT &p) { p.entries[0]->programs.clear(); }),
              "entry 'forward' has 0 programs, the plan 1 stages");
  EXPECT_SAYS(says([](fb::PlanT &p) { p.stages = 3; }),
              "the plan says it has 3 stages, its mesh tp=2 has 1");
  EXPECT_SAYS(says([](fb::PlanT &p) { p.memory.clear(); }),
              "the plan says the memory of 0 stages, it has 1");
  EXPECT_SAYS(says([](fb::PlanT &p) { p.types[0]->dtype = 20; }),
              "type 0 of the plan: unknown element type 20");
  EXPECT_SAYS(says([](fb::PlanT &p) { p.types[0]->dim_axes.pop_back(); }),
              "type 0 of the plan: sharding has 1 dimensions, the tensor has "
              "2");
  EXPECT_SAYS(says([](fb::PlanT &p) { p.types[0]->shape[0] = -4; }),
              "a dimension has the size -4, below 0");
  EXPECT_SAYS(says([](fb::PlanT &p) { p.mesh[0]->size = 0; }), "below 1");
  EXPECT_SAYS(
      says([](fb::PlanT &p) { p.axis_lists[1]->axes[0].mutate_size(3); }),
      "is no part of the mesh tp=2");
  EXPECT_SAYS(
      says([](fb::PlanT &p) { p.rules[0]->operands[0]->dims = {1, 40}; }),
      "a factor is out of range");
  EXPECT_SAYS(
      says([](fb::PlanT &p) { p.rules[0]->operands[0]->dims = {40, 1}; }),
      "a factor is out of range");
  EXPECT_SAYS(says([](fb::PlanT &p) { p.parameters[1]->name = "w1"; }),
              "parameter 'w1' is named twice");
  EXPECT_SAYS(says([](fb::PlanT &p) { p.parameters[1]->stages = {4}; }),
              "stage 4 is out of range");
  EXPECT_SAYS(
      says([](fb::PlanT &p) { p.entries[0]->inputs[0]->values = {0, 0}; }),
      "says its values in 2 programs, there are 1");
}

TEST(VerifyStructure, StageMustHoldWhatItsProgramNames) {
  EXPECT_SAYS(
      mutated(twoStagePlan(),
              [](fb::PlanT &plan) { plan.parameters[0]->stages = {1}; }),
      "pp 0, value 1: the stage does not hold Parameter 0");
}

} // namespace
} // namespace tandem
