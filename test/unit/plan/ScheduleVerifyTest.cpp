// What is said of plans whose schedules or microbatches are wrong.

#include "runtime/plan/Inspect.h"
#include "runtime/plan/Verify.h"
#include "test/unit/exec/PipelineSketch.h"

#include <functional>

namespace tandem {
namespace {

using Order = Pipeline::Order;
using Change = std::function<void(fb::PlanT &)>;

Pipeline sketchOf(Order order, bool streams) {
  Pipeline pipeline;
  pipeline.order = order;
  pipeline.streams = streams;
  return pipeline;
}

/// What loading or verifying says of a step of training, changed.
std::string verdict(const Pipeline &pipeline, const Change &change) {
  PlanSketch sketch = pipeline.sketch();
  (void)sketch.finish(); // Declares the memory.
  change(sketch.builder.plan);
  Result<Plan> plan = Plan::fromNative(sketch.builder.plan);
  if (!plan.ok())
    return plan.status().message();
  Status status = verify(*plan);
  return status.ok() ? "fine" : status.message();
}

/// Stage 0: P F0/0 F1/1 B0/0 F2/0 B1/1 B2/0 E    stage 1: P F0 B0 F1 B1 F2 B2 E
std::string verdict(const Change &change) {
  return verdict(sketchOf(Order::OneForwardOneBackward, true), change);
}

/// P F0 F1 F2 B0 B1 B2 E on both, and one stream.
std::string verdictOfGPipe(const Change &change) {
  return verdict(sketchOf(Order::GPipe, false), change);
}

fb::ProgramT &programOf(fb::PlanT &plan, uint32_t stage) {
  return *plan.entries[0]->programs[stage];
}

Change inProgram(uint32_t stage,
                 const std::function<void(fb::ProgramT &)> &change) {
  return [=](fb::PlanT &plan) { change(programOf(plan, stage)); };
}

void expectSaid(const std::string &said, const char *expected) {
  EXPECT_NE(said.find(expected), std::string::npos)
      << said << "\n  expected: " << expected;
}

/// Puts an instruction in front of instruction `index`, into its action.
void insert(fb::ProgramT &p, uint32_t index, fb::Instruction instruction) {
  p.instructions.insert(p.instructions.begin() + index, instruction);
  for (fb::Action &action : p.actions)
    if (action.first() > index)
      action.mutate_first(action.first() + 1);
    else if (action.first() + action.count() > index)
      action.mutate_count(action.count() + 1);
}

/// The `nth` instruction of a kind.
uint32_t find(const fb::ProgramT &p, fb::Opcode op, int nth = 0) {
  uint32_t i = 0;
  while (p.instructions[i].op() != op || nth-- > 0)
    ++i;
  return i;
}

uint32_t firstOf(const fb::ProgramT &p, fb::Region region) {
  uint32_t v = 0;
  while (p.values[v].region() != region)
    ++v;
  return v;
}

TEST(VerifySchedule, TrainingIsFine) {
  auto nothing = [](fb::PlanT &) {};
  EXPECT_EQ(verdict(nothing), "fine");
  EXPECT_EQ(verdictOfGPipe(nothing), "fine");
  EXPECT_EQ(verdict(sketchOf(Order::GPipe, true), nothing), "fine");
}

TEST(VerifySchedule, SendsAheadWithoutAStreamNeverComplete) {
  expectSaid(verdict(sketchOf(Order::OneForwardOneBackward, false),
                     [](fb::PlanT &) {}),
             "instruction 3 (send) of microbatch 1 at boundary: it never "
             "completes: send on stream 0 with pp 1; meanwhile pp 1 is at "
             "instruction 6 (send), send on stream 0 with pp 0");
}

TEST(VerifySchedule, EveryMicrobatchRunsOnce) {
  expectSaid(verdict(inProgram(
                 0, [](auto &p) { p.schedule.erase(p.schedule.begin() + 4); })),
             "its schedule skips action 'forward.0' for microbatch 2");
  expectSaid(verdict(inProgram(0,
                               [](auto &p) {
                                 p.schedule.insert(p.schedule.begin() + 3,
                                                   p.schedule[2]);
                               })),
             "its schedule runs action 'forward.0' for microbatch 1 twice");
  expectSaid(verdict(inProgram(1, [](auto &p) { p.schedule.pop_back(); })),
             "its schedule skips action 'epilogue' for microbatch 0");
}

TEST(VerifySchedule, BackwardNeedsItsForward) {
  expectSaid(verdictOfGPipe(inProgram(1,
                                      [](auto &p) {
                                        std::swap(p.schedule[3],
                                                  p.schedule[6]); // F2 and B2
                                      })),
             "is read before anything writes it for microbatch 2");
  // B1 before F1: its slot still has what microbatch 0 left.
  expectSaid(verdict(inProgram(
                 1, [](auto &p) { std::swap(p.schedule[3], p.schedule[4]); })),
             "is of microbatch 0 where microbatch 1 reads it");
  expectSaid(verdict(inProgram(
                 0, [](auto &p) { std::swap(p.schedule[0], p.schedule[3]); })),
             "is read before anything writes it");
}

TEST(VerifySchedule, SlotsAreFreeBeforeTheyAreTaken) {
  expectSaid(verdict(inProgram(
                 0, [](auto &p) { std::swap(p.schedule[3], p.schedule[4]); })),
             "action 'forward.0' takes slot 0 of pool 0 for microbatch 2 while "
             "microbatch 0 is still in flight");
  expectSaid(
      verdict(inProgram(0, [](auto &p) { p.schedule[3].mutate_slot(1); })),
      "action 'backward.0' has slot 1 for microbatch 0, an action "
      "before it slot 0");
  expectSaid(verdict(inProgram(0,
                               [](auto &p) {
                                 for (auto &item : p.schedule)
                                   item.mutate_slot(0);
                               })),
             "while microbatch 0 is still in flight");
  expectSaid(verdict([](fb::PlanT &plan) {
               fb::SlotPool &pool = programOf(plan, 0).pools[0];
               pool.mutate_count(3);
               plan.memory[0]->arena_peak += pool.bytes();
             }),
             "pool 0 has 3 slots, its schedule uses 2");
  expectSaid(
      verdict(inProgram(1, [](auto &p) { p.pools.emplace_back(0, 0, 0); })),
      "no action uses pool 1");
}

TEST(VerifySchedule, ExtentsOfPools) {
  expectSaid(
      verdict(inProgram(
          0, [](auto &p) { p.pools[0].mutate_bytes(p.pools[0].bytes() / 2); })),
      "declares slots of 64 bytes, its values end at byte 112");
  expectSaid(verdict(inProgram(0,
                               [](auto &p) {
                                 p.pools[0].mutate_bytes(p.pools[0].bytes() +
                                                         8192);
                               })),
             "declares slots of 8320 bytes");
  expectSaid(
      verdict(inProgram(
          0, [](auto &p) { p.pools[0].mutate_base(p.pools[0].base() + 2); })),
      "which is not aligned to its elements");
  expectSaid(
      verdict(inProgram(
          0, [](auto &p) { p.pools[0].mutate_base(uint64_t(1) << 63); })),
      "pool 0 lies beyond any memory");
}

TEST(VerifySchedule, WhatOneMicrobatchMakesStaysItsOwn) {
  // y in scratch instead of its slot: the next forward writes over it.
  expectSaid(
      verdictOfGPipe(inProgram(1,
                               [](auto &p) {
                                 fb::Value &y =
                                     p.values[firstOf(p, fb::Region::Slot) + 1];
                                 y.mutate_region(fb::Region::Arena);
                                 y.mutate_index(0);
                                 y.mutate_offset(8192);
                               })),
      "is of microbatch 2 where microbatch 0 reads it");
  // The epilogue takes one microbatch's gradient for all.
  expectSaid(verdict([](fb::PlanT &plan) {
               fb::ProgramT &p = programOf(plan, 1);
               uint32_t g = plan.entries[0]->outputs[1]->values[1];
               for (const fb::Instruction &it : p.instructions)
                 if (it.inputs() == 2 && p.args[it.first_arg() + 2] == g)
                   p.args[p.instructions.back().first_arg() + 1] =
                       p.args[it.first_arg() + 1];
             }),
             "is of microbatch 2 alone where it is read for all");
}

TEST(VerifySchedule, CarriedValues) {
  // The epilogue is moved before the last microbatch's backward.
  expectSaid(verdict(inProgram(
                 1, [](auto &p) { std::swap(p.schedule[6], p.schedule[7]); })),
             "is read after 2 of its 3 updates");
  // Nothing sets it to zero before.
  expectSaid(verdict(inProgram(
                 1, [](auto &p) { std::swap(p.schedule[0], p.schedule[7]); })),
             "is read before anything writes it");
  // Two instructions update it.
  expectSaid(verdictOfGPipe([](fb::PlanT &plan) {
               fb::ProgramT &p = programOf(plan, 1);
               uint32_t add = find(p, fb::Opcode::Send) - 2;
               insert(p, add, p.instructions[add]);
             }),
             "is read after 1 of its 3 updates");
}

TEST(VerifySchedule, SlotsAndSlicesBelongToTheirActions) {
  expectSaid(verdict(inProgram(1,
                               [](auto &p) {
                                 p.args[p.instructions[0].first_arg()] =
                                     firstOf(p, fb::Region::Slot);
                               })),
             "lies in a slot of pool 0, which its action does not have");
  expectSaid(verdict(inProgram(0,
                               [](auto &p) {
                                 p.args[p.instructions.back().first_arg()] =
                                     firstOf(p, fb::Region::Microbatch);
                               })),
             "is a microbatch's slice; its action runs for none");
  expectSaid(verdict([](fb::PlanT &plan) {
               fb::ProgramT &p = programOf(plan, 0);
               p.values[firstOf(p, fb::Region::Microbatch)].mutate_index(
                   plan.entries[0]->outputs[0]->values[0]);
             }),
             "a slice for one of 3 microbatches of");
  expectSaid(verdict([](fb::PlanT &plan) {
               fb::ProgramT &p = programOf(plan, 0);
               uint32_t h = firstOf(p, fb::Region::Slot);
               plan.entries[0]->outputs[0]->values[0] = h;
               plan.entries[0]->outputs[0]->type = p.values[h].type();
             }),
             "is of one microbatch");
}

TEST(VerifySchedule, ASliceIsOnlyRead) {
  Pipeline pipeline;
  pipeline.f = pipeline.d; // h is of the slice's type
  expectSaid(verdict(pipeline, inProgram(0,
                                         [](auto &p) {
                                           for (const fb::Instruction &it :
                                                p.instructions)
                                             if (it.inputs() == 2) {
                                               p.args[it.first_arg() + 2] =
                                                   p.args[it.first_arg()];
                                               return;
                                             }
                                         })),
             "a slice of an input");
}

TEST(VerifySchedule, TransfersAreOfOneMicrobatch) {
  expectSaid(
      verdict(inProgram(1,
                        [](auto &p) {
                          // Microbatches 0 and 1 the other way round.
                          for (fb::ScheduleItem &item : p.schedule)
                            if (item.microbatch() < 2 && item.action() % 3 != 0)
                              item.mutate_microbatch(1 - item.microbatch());
                        })),
      "of another microbatch");
}

TEST(VerifySchedule, LanesOfTransfers) {
  expectSaid(verdict(inProgram(0,
                               [](auto &p) {
                                 fb::Instruction send =
                                     p.instructions[find(p, fb::Opcode::Send)];
                                 send.mutate_stream(0);
                                 insert(p, find(p, fb::Opcode::Send) + 1, send);
                               })),
             "of the same lane on stream 1");
  expectSaid(verdictOfGPipe(inProgram(
                 0,
                 [](auto &p) {
                   p.instructions[find(p, fb::Opcode::Send)].mutate_dim(2);
                 })),
             "it never completes: send on stream 0 with pp 1, lane 2");
  expectSaid(verdict(inProgram(
                 0,
                 [](auto &p) {
                   p.instructions[find(p, fb::Opcode::Send)].mutate_dim(32);
                 })),
             "lane 32 is out of range");
}

TEST(VerifySchedule, MissingEventsAroundTransfers) {
  for (uint32_t stage : {0, 1})
    for (int nth = 0; nth < 4; ++nth) {
      auto change = inProgram(stage, [nth](auto &p) {
        p.instructions[find(p, fb::Opcode::Wait, nth)].mutate_stream(3);
      });
      expectSaid(verdict(change), "on another stream without an event");
    }
}

TEST(VerifySchedule, TrainedParametersAreWritten) {
  expectSaid(
      verdict([](fb::PlanT &plan) { plan.parameters[0]->trained = false; }),
      ", a parameter");
  expectSaid(verdict(inProgram(0,
                               [](auto &p) {
                                 p.instructions.pop_back();
                                 p.actions.back().mutate_count(0);
                                 p.values.pop_back();
                               })),
             "parameter 'w1' is trained, but nothing on pp 0 writes it");
}

TEST(VerifySchedule, Structure) {
  auto said = [](const Change &change) { return verdict(change); };
  expectSaid(said(inProgram(0, [](auto &p) { p.schedule.clear(); })),
             "has actions or pools of slots, but no schedule");
  expectSaid(said(inProgram(0,
                            [](auto &p) {
                              p.schedule.clear();
                              p.actions.clear();
                              p.pools.clear();
                            })),
             "pool 0 is out of range");
  expectSaid(said(inProgram(1,
                            [](auto &p) {
                              p.actions[1].mutate_first(p.actions[1].first() +
                                                        1);
                            })),
             ", the one before it ends at");
  expectSaid(
      said(inProgram(1, [](auto &p) { p.actions.back().mutate_count(0); })),
      "its actions end at instruction");
  expectSaid(
      said(inProgram(1, [](auto &p) { p.actions.back().mutate_count(1000); })),
      "last instruction");
  expectSaid(said(inProgram(1, [](auto &p) { p.actions[1].mutate_pool(7); })),
             "pool 7 is out of range");
  expectSaid(
      said(inProgram(1, [](auto &p) { p.actions[1].mutate_name(70000); })),
      "name 70000 is out of range");
  expectSaid(
      said(inProgram(1, [](auto &p) { p.schedule[1].mutate_action(9); })),
      "action 9 is out of range");
  expectSaid(
      said(inProgram(1, [](auto &p) { p.schedule[1].mutate_microbatch(3); })),
      "microbatch 3 is out of range");
  expectSaid(
      said(inProgram(1, [](auto &p) { p.schedule[0].mutate_microbatch(1); })),
      "microbatch 1 is out of range");
  expectSaid(said(inProgram(1, [](auto &p) { p.schedule[1].mutate_slot(1); })),
             "slot 1 is out of range");
  expectSaid(said([](fb::PlanT &plan) { plan.entries[0]->microbatches = 0; }),
             "has 0 microbatches, expected 1 to");
  expectSaid(
      said([](fb::PlanT &plan) { plan.entries[0]->outputs[0]->parameter = 9; }),
      "parameter 9 is out of range");
  expectSaid(said(inProgram(0,
                            [](auto &p) {
                              for (fb::Value &value : p.values)
                                if (value.region() == fb::Region::Microbatch)
                                  value.mutate_index(1);
                            })),
             "it is a slice of value 1, which does not lie in the arena");
}

TEST(VerifySchedule, StructureOfTheLastMicrobatchAndOfEventsOfSlots) {
  expectSaid(verdict(inProgram(1, [](auto &p) { p.last = {70000}; })),
             "instruction of the last microbatch 70000 is out of range");
  expectSaid(verdict(inProgram(1,
                               [](auto &p) {
                                 uint32_t first = p.actions[1].first();
                                 p.last = {first, first};
                               })),
             "its instructions of the last microbatch do not ascend");
  expectSaid(verdict(inProgram(1, [](auto &p) { p.last = {0}; })),
             "it is of the last microbatch, but its action runs once");
  expectSaid(verdict(inProgram(
                 0,
                 [](auto &p) {
                   p.instructions[find(p, fb::Opcode::Record, 0)].mutate_dim(2);
                 })),
             "event of a slot 2 is out of range");
}

// What runs with the last microbatch is for all of them: a sum's last term
// alone is none, and what reads the sum finds it complete.
TEST(VerifySchedule, WithTheLastMicrobatchRunsWhatIsForAll) {
  for (uint32_t stage : {0u, 1u})
    for (uint32_t action : {1u, 2u})
      expectSaid(
          verdictOfGPipe(inProgram(stage,
                                   [=](auto &p) {
                                     const fb::Action &it = p.actions[action];
                                     for (uint32_t i = 0; i < it.count(); ++i)
                                       p.last.push_back(it.first() + i);
                                   })),
          action == 1 ? "is read before anything writes it for"
                      : "alone where it is read for all");
}

TEST(VerifySchedule, NoMoreStepsThanCanBeSpelledOut) {
  expectSaid(verdict([](fb::PlanT &plan) {
               fb::ProgramT &p = programOf(plan, 1);
               for (int i = 0; i < 100000; ++i)
                 p.instructions.push_back(p.instructions[0]);
               p.actions.back().mutate_count(100001);
               for (int i = 0; i < 200; ++i)
                 p.schedule.push_back(p.schedule.back());
             }),
             "steps, at most 16777216 are allowed");
}

TEST(VerifySchedule, AnEntryOfMicrobatchesHasASchedule) {
  // Stage 1 without what needs one.
  expectSaid(verdict([](fb::PlanT &plan) {
               fb::ProgramT &p = programOf(plan, 1);
               p.schedule.clear();
               p.actions.clear();
               p.pools.clear();
               for (fb::Value &value : p.values)
                 if (value.region() == fb::Region::Slot) {
                   value.mutate_region(fb::Region::Arena);
                   value.mutate_index(0);
                 }
             }),
             "it has no schedule, its entry has 3 microbatches");
}

TEST(InspectSchedule, OneLineACoordinate) {
  Plan plan = Pipeline().sketch().finish();
  std::string text = inspectText(plan);
  expectSaid(text, "  schedule of 3 microbatches\n"
                   "    pp 0   P F0 F1 B0 F2 B1 B2 E; 2 slots of 128 B\n"
                   "    pp 1   P F0 B0 F1 B1 F2 B2 E; 1 slot of 128 B\n");
  expectSaid(text, "   optimizer activations ");
  std::string json = inspectJson(plan);
  expectSaid(json, "\"schedule\": \"P F0 F1 B0 F2 B1 B2 E\"");
  expectSaid(json, "\"microbatches\": 3");
  expectSaid(json, "\"slots\": 256");
  // A send of each microbatch.
  std::vector<CollectiveRow> rows =
      collectivesOf(plan, *plan.table().entries()->Get(0));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].count, 3);
}

} // namespace
} // namespace tandem
