#include "ir/reference/RandomInputs.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tandem {
namespace {

/// Integers from `low` up to `high`, both included.
struct Range {
  int64_t low = 0, high = 1;
};

int64_t sizeOfDim(Value value, size_t dim) {
  return globalShape(value.getType())[dim];
}

/// Which integers an operand may hold, nothing where the use does not tell.
std::optional<Range> rangeOf(OpOperand &use) {
  using Found = std::optional<Range>;
  Value value = use.get();
  auto exactly = [](int64_t number) { return Found({number, number}); };
  auto indices = [&](Value is, Value table, size_t dim) {
    return is == value ? Found({0, sizeOfDim(table, dim) - 1}) : Found();
  };
  return llvm::TypeSwitch<Operation *, Found>(use.getOwner())
      .Case([&](EmbeddingOp op) {
        return indices(op.getIds(), op.getTable(), 0);
      })
      .Case([&](GatherOp op) {
        return indices(op.getIndices(), op.getInput(), op.getDim());
      })
      .Case([&](ScatterAddOp op) {
        return indices(op.getIndices(), op.getBase(), op.getDim());
      })
      .Case([&](UpdateSliceOp op) {
        return op.getLengths() == value ? Found({0, sizeOfDim(op.getRows(), 1)})
               : op.getPositions() == value
                   ? Found({0, sizeOfDim(op.getBase(), 1)})
                   : Found();
      })
      .Case([&](EmbeddingGradOp op) {
        return indices(op.getIds(), op.getResult(), 0);
      })
      .Case<CrossEntropyOp, CrossEntropyGradOp>([&](auto op) {
        size_t last = globalShape(op.getLogits().getType()).size() - 1;
        return indices(op.getLabels(), op.getLogits(), last);
      })
      .Case([&](AdamWOp op) {
        return op.getStep() == value ? Found({1, 5}) : Found();
      })
      .Case([&](RopeOp op) {
        return op.getPositions() == value ? Found({0, 7}) : Found();
      })
      .Case<AttentionOp, AttentionGradOp>([&](auto op) {
        return op.getPositions() == value
                   ? Found({0, sizeOfDim(op.getKey(), 1) - 1})
                   : Found();
      })
      .Case([&](SampleOp op) {
        return op.getSeed() == value ? Found({0, 1 << 30}) : exactly(0);
      })
      .Default([](Operation *) { return Found(); });
}

/// The first answer of the argument's uses, followed through annotations.
std::optional<Range> rangeOfValue(Value value) {
  for (OpOperand &use : value.getUses()) {
    if (std::optional<Range> range = rangeOf(use))
      return range;
    if (isa<ShardingConstraintOp, ReshardOp, ReshapeOp, BroadcastInDimOp,
            CastOp, MicrobatchOp>(use.getOwner()))
      if (auto range = rangeOfValue(use.getOwner()->getResult(0)))
        return range;
  }
  return std::nullopt;
}

/// splitmix64: any seed gives a good sequence.
class Numbers {
public:
  Numbers(uint64_t seed, const std::string &name) : state(seed) {
    for (char c : name)
      state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  uint64_t state;
};

Tensor randomTensor(Value argument, Numbers numbers) {
  std::vector<int64_t> shape = toVector(globalShape(argument.getType()));
  auto type = cast<RankedTensorType>(argument.getType()).getElementType();
  size_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::vector<double> data(count);
  Range range = rangeOfValue(argument).value_or(Range());
  for (double &value : data)
    value = isa<FloatType>(type)
                ? 2 * numbers.unit() - 1
                : static_cast<double>(
                      range.low +
                      static_cast<int64_t>(numbers.next() %
                                           (range.high - range.low + 1)));
  return Tensor::whole(shape, std::move(data));
}

} // namespace

NamedTensors randomInputs(func::FuncOp function, uint64_t seed) {
  NamedTensors inputs;
  for (BlockArgument argument : function.getArguments()) {
    std::string name = argumentName(function, argument.getArgNumber());
    inputs.emplace(name, randomTensor(argument, Numbers(seed, name)));
  }
  return inputs;
}

} // namespace tandem
