//===- RandomGraph.h - A function of tensor operations, drawn ---*- C++ -*-===//
//
// What it is: the text of a function of phase 1 under construction. Makers
// (RandomOps.h) take values from the pool, or new arguments where none fits,
// emit an operation and put its results into the pool, so that values are
// shared and long chains arise.
//
// So that two correct programs agree to 1e-10 a value carries
//   bound   no lane is larger; makers tame what grows
//   exact   every correct program gives the same bits: only then may a maker
//           apply what jumps (compare, floor, casts to integers, top_k)
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMGRAPH_H
#define TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMGRAPH_H

#include "runtime/mesh/Sharding.h"
#include "test/fuzz/equivalence/Random.h"

#include <functional>
#include <optional>
#include <string>

namespace tandem::test {

using Shape = std::vector<int64_t>;

struct Drawn {
  std::string name; ///< `%5`
  Shape shape;
  std::string element = "f64";
  bool exact = true;
  double bound = 1;

  size_t rank() const { return shape.size(); }
  int64_t elements() const;
  /// `tensor<2x3xf64>`
  std::string type() const;
  bool isFloat() const { return element == "f64"; }
  bool isInteger() const { return element == "i32" || element == "i64"; }
};

/// What a maker says of a result.
struct Made {
  Shape shape;
  std::string element = "f64";
  bool exact = true;
  double bound = 1;
};

class RandomGraph {
public:
  RandomGraph(const Mesh &mesh, bool mayBeUnreduced, Random &random)
      : random(random), mesh(mesh), mayBeUnreduced(mayBeUnreduced),
        hasParameters(random.chance(15)) {}

  Random &random;
  const Mesh &mesh;
  /// Elements that a tensor may have.
  static constexpr int64_t kMaxElements = 200;

  using Filter = std::function<bool(const Drawn &)>;
  /// A value of the pool that `filter` accepts.
  std::optional<Drawn> find(const Filter &filter);
  /// The same, or a new argument of that element type and a random shape of
  /// `least` to `most` dimensions. `filter` accepts any such argument.
  Drawn any(const std::string &element, size_t least, size_t most,
            const Filter &filter = {});
  /// A float, exact where that is asked for.
  Drawn number(size_t least = 0, size_t most = 4, bool exact = false);
  /// A value with the type of `value`, maybe itself.
  Drawn like(const Drawn &value);
  /// A value of that element type and shape.
  Drawn shaped(const std::string &element, const Shape &shape,
               bool exact = false);
  /// A new argument.
  Drawn argument(const std::string &element, const Shape &shape);
  /// One that nothing else uses: what its use allows it to hold is its own.
  Drawn hiddenArgument(const std::string &element, const Shape &shape);
  /// One that tieState() gives a new value.
  Drawn stateArgument(const std::string &element, const Shape &shape);
  /// `value` is a number, or lists of them; the result is not in the pool.
  Drawn constant(const std::string &element, const Shape &shape,
                 const std::string &value);
  /// Puts a value into the pool that no lane of which is larger than `bound`.
  void keep(Drawn value, double bound);
  /// `value`, brought below a bound by tanh where it is beyond.
  Drawn tame(const Drawn &value, double bound);

  Shape randomShape(size_t least, size_t most);

  /// Emits `tandem.NAME BODY {ATTRIBUTES} : (operand types) -> result types`
  /// and puts the results into the pool.
  std::vector<Drawn> emit(const std::string &operation, const std::string &body,
                          const std::vector<Drawn> &operands,
                          const std::vector<Made> &results,
                          const std::string &attributes = "");
  /// The same for operations that print their result's type alone.
  Drawn emitShort(const std::string &operation, const std::string &body,
                  const Made &result, const std::string &attributes = "");
  /// Forgets the last `count` values of the pool: they are returned only.
  void hide(size_t count);
  /// Makes `value` the new value of a state that `argument` holds.
  void tieState(const Drawn &state, const Drawn &value);

  /// `sharding = #tandem.sharding<...>`
  std::string shardingText(const Sharding &sharding) const;
  size_t operations() const { return ops.size(); }
  /// The module, with the mesh, layers, names and shardings.
  std::string text();

private:
  struct Argument {
    Drawn value;
    int64_t aliases = -1; ///< Result that replaces a state.
  };
  struct Operation {
    std::string results, call, attributes, types;
    bool hasLayer = true;
  };

  std::string fresh() { return "%" + std::to_string(nextName++); }
  std::vector<Drawn> chooseResults();
  std::string signature(const std::vector<Drawn> &results);
  std::string argumentText(size_t index);
  std::string body();
  void add(Operation op, const std::vector<Drawn> &operands);
  bool isUsed(const Drawn &value) const;

  bool mayBeUnreduced, hasParameters;
  int64_t nextName = 0;
  std::vector<Argument> arguments;
  std::vector<Operation> ops;
  std::vector<Drawn> pool;
  std::vector<std::string> used;
  std::vector<Drawn> states; ///< Results that states get.
};

/// `%1, %2`
std::string namesOf(const std::vector<Drawn> &values);
/// `[1, 2]`
std::string listOf(const std::vector<int64_t> &numbers);

/// A whole case: a mesh, a graph, shardings. The same for one seed.
std::string randomCase(uint64_t seed);

} // namespace tandem::test

#endif // TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMGRAPH_H
