//===- Plan.h - A plan in memory, and its file ------------------*- C++ -*-===//
//
// What it is: the bytes of one plan (`plan.fbs`) and, decoded once, what all
// readers ask for: mesh, axis lists, types and rules as plain values.
//
//   TANDEM_ASSIGN(Plan plan, Plan::load("model.plan"));
//   for (const fb::Entry *entry : *plan.table().entries()) ...
//   plan.mesh(), plan.type(value.type()), plan.rule(instruction.rule())
//
// A Plan that exists has passed the FlatBuffer verifier and the check of
// structure (Structure.h): every index in it is in bounds, so readers index
// without asking. What it *means* is proved by verify() (Verify.h).
//
// Writers fill an fb::PlanT, by PlanBuilder.h, and `save` it: the same PlanT
// gives the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_PLAN_H
#define TANDEM_RUNTIME_PLAN_PLAN_H

#include "runtime/mesh/TensorType.h"
#include "runtime/plan/plan_generated.h"

namespace tandem {

/// Raised whenever plans of before would be misread.
inline constexpr uint32_t kSchemaVersion = 2;
/// An optional index that is absent.
inline constexpr uint32_t kNone = 0xffffffff;
/// The axis whose coordinate chooses a rank's program.
inline constexpr const char *kStageAxis = "pp";

class Plan {
public:
  /// Reads and checks a file; messages begin with its path.
  static Result<Plan> load(const std::string &path);
  /// Takes over a file's bytes.
  static Result<Plan> loadBytes(std::vector<uint8_t> bytes);
  /// The plan that `save` would write.
  static Result<Plan> fromNative(const fb::PlanT &plan);
  /// The bytes of a file: deterministic, a multiple of 4096.
  static std::vector<uint8_t> serialize(const fb::PlanT &plan);
  /// Writes `path` under a temporary name beside it and renames it, so that
  /// the file is either whole or not there.
  static Status save(const fb::PlanT &plan, const std::string &path);

  const fb::Plan &table() const { return *root; }
  const std::vector<uint8_t> &bytes() const { return bytes_; }

  const Mesh &mesh() const { return mesh_; }
  int64_t numRanks() const { return mesh_.numRanks(); }
  uint32_t stages() const { return root->stages(); }
  /// The `pp` coordinate of a rank: 0 where the mesh has no such axis.
  uint32_t stageOf(int64_t rank) const;
  /// Some rank with that `pp` coordinate: the one whose others are 0.
  int64_t rankOfStage(uint32_t stage) const;

  const AxisList &axisList(uint32_t index) const { return axisLists[index]; }
  const TensorType &type(uint32_t index) const { return types[index]; }
  const Sharding &sharding(uint32_t type) const { return types[type].sharding; }
  const ShardingRule &rule(uint32_t index) const { return rules[index]; }
  /// Ends with a zero and lives as long as the plan; empty for kNone.
  const char *string(uint32_t index) const {
    return index == kNone ? "" : root->strings()->Get(index)->c_str();
  }
  const char *kernel(uint32_t index) const {
    return root->kernels()->Get(index)->c_str();
  }
  /// The value behind argument `position` of an instruction: inputs, then
  /// outputs, then workspace.
  const fb::Value &argument(const fb::Program &program,
                            const fb::Instruction &instruction,
                            uint32_t position) const {
    return *program.values()->Get(
        program.args()->Get(instruction.first_arg() + position));
  }
  /// The value of fact `name`, nothing where the plan has none.
  std::optional<std::string> fact(std::string_view name) const;
  /// The same as a whole number; nothing where it is none.
  std::optional<int64_t> numberFact(std::string_view name) const;
  /// The entry of that name, null where there is none.
  const fb::Entry *entry(std::string_view name) const;

private:
  Plan() = default;
  Status decode();
  Status decodeMesh();
  Status decodeAxisLists();
  Status decodeTypes();
  Status decodeRules();

  std::vector<uint8_t> bytes_;
  const fb::Plan *root = nullptr; ///< Into bytes_.
  Mesh mesh_;
  std::vector<AxisList> axisLists;
  std::vector<TensorType> types;
  std::vector<ShardingRule> rules;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_PLAN_H
