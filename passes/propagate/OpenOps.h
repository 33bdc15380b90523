//===- OpenOps.h - Open operations decided together -------------*- C++ -*-===//
//
// What it is: of the choices of all operations (Candidates.h) the ones that
// together put the fewest bytes on the wire. The cost network has a variable
// for each operation, and between operations what their values cost:
//
//   a value with one user      the reshard path from how it is made to how it
//                              is used
//   a value with several       a variable of its own: the set of layouts that
//                              it is brought to, each paid once; a user's
//                              layout must be in it
//   a local form               what ranks exchange for a selection factor
//   terms that are added first one reduction of their sum
//
//   q, k, v = x Wq, x Wk, x Wv;  x [.., {"tp"}, ..], W [.., {"tp"}]
//     gathering x once serves all three: cheaper than three weights, though
//     dearer than any one of them
//
// What runs once for each microbatch of a step counts so often; a parameter is
// brought to each of its uses anew. Bytes decide; then the number of
// collectives; then the order of choices.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PROPAGATE_OPENOPS_H
#define TANDEM_PASSES_PROPAGATE_OPENOPS_H

#include "passes/propagate/Candidates.h"
#include "passes/strategy/CostNetwork.h"
#include "passes/strategy/ReshardPaths.h"

namespace tandem {

class OpenOps {
public:
  /// `graph` and `paths` outlive this.
  /// With `flow` annotations flow through all operations; see Candidates.h.
  OpenOps(const PropagationGraph &graph, ReshardPaths &paths, bool flow = true);

  /// Fails where no combination can be carried out.
  Status solve();
  /// Takes each operation's first choice instead.
  void takeFirst();

  /// `i={"tp"} j={"dp"}`, factors named as the rule's text names them.
  std::string text(int op, int choice) const;
  const std::vector<OpChoice> &choices(int op) const { return all[op]; }
  int taken(int op) const { return decided[op]; }
  const OpChoice &choice(int op) const { return all[op][decided[op]]; }
  /// How tensor `tensor` lies where it is made.
  Sharding sharding(int tensor) const;
  /// Wire bytes of one device at operation `op`, its operands, results and
  /// what it exchanges, were it to take `choice` and all others what they
  /// took.
  int64_t bytesWith(int op, int choice);
  /// Wire bytes of one device, all operations taking these choices; nothing
  /// where that cannot be carried out.
  std::optional<int64_t> bytesOf(const std::vector<int> &taken);
  const std::vector<int> &taken() const { return decided; }
  /// Whether it is proved that nothing moves fewer bytes; else by how many
  /// there might be fewer.
  bool isExact() const { return exact; }
  int64_t gap() const { return gapBytes; }

private:
  struct Use {
    int op;
    size_t operand;
  };
  struct Made {
    int op = -1;
    size_t result = 0;
  };

  int made(int op, int choice, size_t result);
  int used(int op, int choice, size_t operand);
  int64_t exchanged(int op, int choice);
  std::optional<int64_t> bytesOfValue(int tensor,
                                      const std::vector<int> &taken);
  static int64_t weigh(const ReshardPaths::Cost &cost, int64_t times);
  /// How often `tensor` is brought to where it is used, in a step.
  int64_t timesOf(int tensor) const;
  bool isOpen(int tensor) const;
  void addBeforeReducing(int op);
  void addOps();
  void addValue(int tensor);
  void addApart(int tensor);
  void addShared(int tensor);
  void addTie(int first, int second);

  const PropagationGraph &graph;
  ReshardPaths &paths;
  std::vector<std::vector<OpChoice>> all;
  std::vector<int> decided;
  std::vector<Made> makers;           ///< By tensor.
  std::vector<std::vector<Use>> uses; ///< By tensor.
  CostNetwork network;
  bool exact = true;
  int64_t gapBytes = 0;
};

} // namespace tandem

#endif // TANDEM_PASSES_PROPAGATE_OPENOPS_H
