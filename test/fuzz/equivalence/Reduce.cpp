#include "test/fuzz/equivalence/Reduce.h"

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/EquivalenceClasses.h"

#include <map>

using namespace mlir;

namespace tandem::test {
namespace {

//===----------------------------------------------------------------------===//
// What may be taken away
//===----------------------------------------------------------------------===//

/// One way to make a module smaller. Ways are numbered; the number is of
/// anything that the module has at the time.
struct Way {
  /// How many numbers there are.
  size_t (*count)(func::FuncOp function);
  /// False where there is nothing to take away.
  bool (*apply)(func::FuncOp function, size_t number);
};

SmallVector<Operation *> operationsOf(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    ops.push_back(&op);
  std::reverse(ops.begin(), ops.end()); // late ones free most
  return ops;
}

size_t operationCount(func::FuncOp function) {
  return operationsOf(function).size();
}

void setType(func::FuncOp function) {
  Block &body = function.getBody().front();
  function.setFunctionType(
      FunctionType::get(function.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
}

/// Makes a state an ordinary input.
void forgetState(func::FuncOp function, unsigned index) {
  Attribute name = function.removeArgAttr(index, TandemDialect::kState);
  function.removeArgAttr(index, TandemDialect::kAliases);
  function.setArgAttr(index, TandemDialect::kInput, name);
}

bool dropResult(func::FuncOp function, size_t number) {
  if (function.getNumResults() < 2)
    return false;
  auto index = static_cast<unsigned>(number);
  Builder builder(function.getContext());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto aliases =
        function.getArgAttrOfType<IntegerAttr>(i, TandemDialect::kAliases);
    if (aliases && aliases.getInt() == index)
      forgetState(function, i);
    else if (aliases && aliases.getInt() > index)
      function.setArgAttr(i, TandemDialect::kAliases,
                          builder.getI64IntegerAttr(aliases.getInt() - 1));
  }
  (void)function.eraseResult(index);
  function.getBody().front().getTerminator()->eraseOperand(index);
  return true;
}

/// Gives users of the operation arguments in place of its results.
bool cutOff(func::FuncOp function, size_t number) {
  Operation *op = operationsOf(function)[number];
  Builder builder(function.getContext());
  for (Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    unsigned index = function.getNumArguments();
    std::string name = "r" + std::to_string(index);
    while (llvm::any_of(llvm::seq(0u, index), [&](unsigned i) {
      Attribute other = function.getArgAttr(i, TandemDialect::kInput);
      return other == builder.getStringAttr(name);
    }))
      name += "r";
    DictionaryAttr attributes = builder.getDictionaryAttr(builder.getNamedAttr(
        TandemDialect::kInput, builder.getStringAttr(name)));
    if (failed(function.insertArgument(index, result.getType(), attributes,
                                       op->getLoc())))
      return false;
    result.replaceAllUsesWith(function.getArgument(index));
  }
  return true;
}

/// Gives users of the operation an operand in place of its result.
bool passBy(func::FuncOp function, size_t number) {
  Operation *op = operationsOf(function)[number];
  if (op->getNumResults() != 1)
    return false;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(operand);
      return true;
    }
  return false;
}

bool dropOperand(func::FuncOp function, size_t number) {
  auto sum = dyn_cast<SumOp>(operationsOf(function)[number]);
  if (!sum || sum->getNumOperands() < 2)
    return false;
  sum->eraseOperand(sum->getNumOperands() - 1);
  return true;
}

//===----------------------------------------------------------------------===//
// Shardings and the mesh
//===----------------------------------------------------------------------===//

/// A place that holds a sharding.
struct Place {
  ShardingAttr now;
  std::function<void(ShardingAttr)> set; ///< Null removes it.
};

SmallVector<Place> shardingsOf(func::FuncOp function) {
  SmallVector<Place> places;
  StringRef name = TandemDialect::kSharding;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto attr = function.getArgAttrOfType<ShardingAttr>(i, name))
      places.push_back({attr, [=](ShardingAttr to) mutable {
                          to ? function.setArgAttr(i, name, to)
                             : (void)function.removeArgAttr(i, name);
                        }});
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto attr = function.getResultAttrOfType<ShardingAttr>(i, name))
      places.push_back(
          {attr, [=](ShardingAttr to) mutable {
             to ? function.setResultAttr(i, name, to)
                : (void)function.removeResultAttr(
                      i, StringAttr::get(function.getContext(), name));
           }});
  function.walk([&](ShardingConstraintOp op) {
    if (ShardingAttr attr = op.getShardingAttr())
      places.push_back({attr, [=](ShardingAttr to) mutable {
                          to ? op.setShardingAttr(to)
                             : (void)op.removeShardingAttr();
                        }});
  });
  return places;
}

size_t shardingCount(func::FuncOp function) {
  return shardingsOf(function).size();
}

bool dropSharding(func::FuncOp function, size_t number) {
  shardingsOf(function)[number].set({});
  return true;
}

constexpr size_t kEdits = 16; ///< Numbers for one sharding.

size_t editCount(func::FuncOp function) {
  return kEdits * shardingCount(function);
}

/// Takes element `edit` out of a list, or counts it off.
bool eraseAt(AxisList &axes, size_t &edit) {
  if (edit < axes.size()) {
    axes.erase(axes.begin() + edit);
    return true;
  }
  edit -= axes.size();
  return false;
}

bool simplify(Sharding &sharding, size_t edit) {
  Sharding before = sharding;
  if (edit == 0 || edit == 1) {
    for (DimSharding &dim : sharding.dims) {
      dim.priority = 0;
      dim.open &= edit == 0;
    }
    return sharding != before;
  }
  edit -= 2;
  for (DimSharding &dim : sharding.dims)
    if (eraseAt(dim.axes, edit))
      return true;
  return eraseAt(sharding.replicated, edit) ||
         eraseAt(sharding.unreduced, edit);
}

bool simplifySharding(func::FuncOp function, size_t number) {
  Mesh mesh = meshOf(function);
  Place place = shardingsOf(function)[number / kEdits];
  Sharding sharding = place.now.getValue(mesh);
  if (!simplify(sharding, number % kEdits))
    return false;
  place.set(ShardingAttr::get(place.now.getMesh(), sharding, mesh));
  return true;
}

size_t axisCount(func::FuncOp function) {
  return 2 * meshOf(function).axes().size();
}

/// What is left of `axes` on a mesh on which `axis` has changed: whole axes
/// stay whole, parts of it go.
void follow(AxisList &axes, const Mesh &from, const Mesh &to,
            const std::string &axis) {
  AxisList kept;
  for (const AxisRef &ref : axes) {
    if (ref.name != axis)
      kept.push_back(ref);
    else if (to.has(axis) && from.isWhole(ref))
      kept.push_back(to.whole(axis));
  }
  axes = kept;
}

/// Even numbers take an axis away, odd ones make it 2.
bool shrinkMesh(func::FuncOp function, size_t number) {
  Mesh from = meshOf(function);
  std::vector<Axis> axes = from.axes();
  std::string name = axes[number / 2].name;
  if (number % 2 && axes[number / 2].size <= 2)
    return false;
  if (number % 2)
    axes[number / 2].size = 2;
  else
    axes.erase(axes.begin() + static_cast<int64_t>(number / 2));
  Mesh to(axes);
  for (Place &place : shardingsOf(function)) {
    Sharding sharding = place.now.getValue(from);
    for (DimSharding &dim : sharding.dims)
      follow(dim.axes, from, to, name);
    follow(sharding.replicated, from, to, name);
    follow(sharding.unreduced, from, to, name);
    place.set(ShardingAttr::get(place.now.getMesh(), sharding, to));
  }
  for (auto op : function->getParentOfType<ModuleOp>().getOps<MeshOp>())
    op.setMeshAttr(MeshAttr::get(op.getContext(), to));
  return true;
}

size_t one(func::FuncOp) { return 1; }

bool dropLayers(func::FuncOp function, size_t) {
  bool had = false;
  function.walk([&](Operation *op) {
    had |= static_cast<bool>(op->removeAttr(TandemDialect::kLayer));
  });
  return had;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

using Dim = std::pair<const void *, int64_t>; ///< A value's dimension.

/// Dimensions that must have one size, as rules say.
struct DimClasses {
  explicit DimClasses(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      add(argument);
    function.walk([&](Operation *op) {
      for (Value result : op->getResults())
        add(result);
      if (auto ruleOp = dyn_cast<ShardingRuleOpInterface>(op))
        join(op, ruleOp.getShardingRule());
    });
  }

  void add(Value value) {
    values.push_back(value);
    for (int64_t d = 0; d < cast<RankedTensorType>(value.getType()).getRank();
         ++d)
      classes.insert({value.getAsOpaquePointer(), d});
  }

  void join(Operation *op, const ShardingRule &rule) {
    std::map<int32_t, Dim> first;
    auto visit = [&](Value value, const FactorMapping &mapping) {
      for (size_t d = 0; d < mapping.dims.size(); ++d) {
        if (mapping.dims[d].size() != 1)
          continue;
        Dim dim{value.getAsOpaquePointer(), static_cast<int64_t>(d)};
        auto [it, added] = first.try_emplace(mapping.dims[d][0], dim);
        classes.unionSets(it->second, dim);
      }
    };
    for (auto [value, mapping] : llvm::zip(op->getOperands(), rule.operands))
      visit(value, mapping);
    for (auto [value, mapping] : llvm::zip(op->getResults(), rule.results))
      visit(value, mapping);
  }

  /// Leaders in the order in which values stand in the text.
  SmallVector<Dim> leaders() {
    SmallVector<Dim> result;
    for (Value value : values)
      for (int64_t d = 0; d < cast<RankedTensorType>(value.getType()).getRank();
           ++d) {
        Dim leader = classes.getLeaderValue({value.getAsOpaquePointer(), d});
        if (!llvm::is_contained(result, leader))
          result.push_back(leader);
      }
    return result;
  }

  llvm::EquivalenceClasses<Dim> classes;
  SmallVector<Value> values;
};

constexpr size_t kSizes = 4; ///< Sizes to try: 1, 2, 3, half.

size_t sizeCount(func::FuncOp function) {
  return kSizes * DimClasses(function).leaders().size();
}

/// The first elements of a constant, as many as its new type has.
void cutConstant(ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense || dense.getType() == type)
    return;
  SmallVector<Attribute> values(dense.getValues<Attribute>());
  SmallVector<Attribute> kept;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    kept.push_back(values[i % values.size()]);
  op.setValueAttr(DenseElementsAttr::get(type, kept));
}

bool shrinkDims(func::FuncOp function, size_t number) {
  DimClasses dims(function);
  Dim leader = dims.leaders()[number / kSizes];
  bool changed = false;
  for (Value value : dims.values) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (dims.classes.getLeaderValue({value.getAsOpaquePointer(), d}) !=
          leader)
        continue;
      size_t choice = number % kSizes;
      int64_t size =
          choice < 3 ? static_cast<int64_t>(choice) + 1 : (shape[d] + 1) / 2;
      changed |= size < shape[d];
      shape[d] = std::min(shape[d], size);
    }
    value.setType(RankedTensorType::get(shape, type.getElementType()));
  }
  function.walk([](ConstantOp op) { cutConstant(op); });
  setType(function);
  return changed;
}

const Way ways[] = {
    {[](func::FuncOp f) { return size_t(f.getNumResults()); }, dropResult},
    {operationCount, cutOff},
    {operationCount, passBy},
    {operationCount, dropOperand},
    {axisCount, shrinkMesh},
    {shardingCount, dropSharding},
    {sizeCount, shrinkDims},
    {editCount, simplifySharding},
    {one, dropLayers},
};

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Erases what nothing uses.
void clean(func::FuncOp function) {
  for (Operation *op : operationsOf(function))
    if (op->use_empty())
      op->erase();
  for (unsigned i = function.getNumArguments(); i > 0; --i)
    if (function.getArgument(i - 1).use_empty() &&
        !function.getArgAttr(i - 1, TandemDialect::kAliases))
      (void)function.eraseArgument(i - 1);
}

class Reducer {
public:
  Reducer(const std::string &text,
          const std::function<bool(const std::string &)> &fails, int most)
      : handler(&context, [](Diagnostic &) { return success(); }), fails(fails),
        left(most), text(text) {
    context.disableMultithreading();
    context.loadDialect<TandemDialect, func::FuncDialect>();
    while (text.compare(header.size(), 2, "//") == 0 &&
           text.find('\n', header.size()) != std::string::npos)
      header = text.substr(0, text.find('\n', header.size()) + 1);
    module = parseSourceString<ModuleOp>(text, &context);
  }

  std::string run() {
    bool smaller = static_cast<bool>(module);
    while (smaller && left > 0) {
      smaller = false;
      for (const Way &way : ways)
        smaller |= goDown(way);
    }
    return text;
  }

private:
  static func::FuncOp functionOf(ModuleOp module) {
    return *module.getOps<func::FuncOp>().begin();
  }

  bool goDown(const Way &way) {
    bool smaller = false;
    for (size_t number = 0;
         left > 0 && number < way.count(functionOf(*module));) {
      if (attempt(way, number))
        smaller = true;
      else
        ++number;
    }
    return smaller;
  }

  /// Takes the step if the module still fails behind it.
  bool attempt(const Way &way, size_t number) {
    OwningOpRef<ModuleOp> candidate = module->clone();
    func::FuncOp function = functionOf(*candidate);
    if (!way.apply(function, number))
      return false;
    clean(function);
    if (failed(verify(*candidate)))
      return false;
    std::string candidateText = header;
    llvm::raw_string_ostream stream(candidateText);
    candidate->print(stream);
    stream << "\n";
    if (candidateText == text)
      return false;
    --left;
    if (!fails(candidateText))
      return false;
    module = std::move(candidate);
    text = candidateText;
    return true;
  }

  MLIRContext context;
  ScopedDiagnosticHandler handler;
  const std::function<bool(const std::string &)> &fails;
  int left;
  std::string header, text;
  OwningOpRef<ModuleOp> module;
};

} // namespace

std::string reduceCase(const std::string &text,
                       const std::function<bool(const std::string &)> &fails,
                       int most) {
  return Reducer(text, fails, most).run();
}

} // namespace tandem::test
