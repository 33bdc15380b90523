#include "ir/Dialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace tandem;

#include "ir/Dialect.cpp.inc"
#include "ir/Interfaces.cpp.inc"
#define GET_OP_CLASSES
#include "ir/Ops.cpp.inc"

namespace tandem {

void TandemDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "ir/Ops.cpp.inc"
      >();
}

namespace {

LogicalResult verifyShardings(Operation *op, ArrayAttr shardings) {
  if (!shardings || shardings.size() != op->getNumResults())
    return op->emitOpError()
           << "attribute 'tandem.shardings': expected one sharding for each "
              "result";
  for (auto [attr, result] : llvm::zip_equal(shardings, op->getResults())) {
    auto sharding = dyn_cast<ShardingAttr>(attr);
    if (!sharding)
      return op->emitOpError()
             << "attribute 'tandem.shardings': expected shardings, got "
             << attr;
    if (failed(sharding.verifyFor(op, result.getType(),
                                  "attribute 'tandem.shardings'")))
      return failure();
  }
  return success();
}

LogicalResult verifyView(Operation *op, Attribute attr, Type type,
                         StringRef what) {
  auto view = dyn_cast<ViewAttr>(attr);
  if (!view)
    return op->emitOpError() << what << ": expected a view, got " << attr;
  if (!isa<RankedTensorType, BufferType>(type))
    return op->emitOpError() << what << ": expected a tensor, got " << type;
  SmallVector<int64_t> shape = globalShape(type);
  std::optional<SmallVector<int64_t>> viewed = view.getShape(shape);
  if (!viewed || *viewed != shape)
    return op->emitOpError()
           << what << ": the view has shape [" << (viewed ? *viewed : shape)
           << "], the tensor has [" << shape << "]";
  return success();
}

LogicalResult verifySharding(Operation *op, Attribute attr, Type type,
                             StringRef what) {
  if (auto sharding = dyn_cast<ShardingAttr>(attr))
    return sharding.verifyFor(op, type, what);
  return op->emitOpError() << what << ": expected a sharding, got " << attr;
}

/// Mean and deviation.
LogicalResult verifyInitial(Operation *op, Attribute attr, StringRef what) {
  auto numbers = dyn_cast<DenseF64ArrayAttr>(attr);
  if (numbers && numbers.size() == 2 && std::isfinite(numbers[0]) &&
      std::isfinite(numbers[1]) && numbers[1] >= 0)
    return success();
  return op->emitOpError() << what
                           << ": expected array<f64: mean, deviation>, the "
                              "deviation at least 0, got "
                           << attr;
}

LogicalResult verifyName(Operation *op, Attribute attr, StringRef what) {
  if (isa<StringAttr>(attr))
    return success();
  return op->emitOpError() << what << ": expected a name, got " << attr;
}

} // namespace

LogicalResult TandemDialect::verifyOperationAttribute(Operation *op,
                                                      NamedAttribute attr) {
  if (attr.getName() == kShardings)
    return verifyShardings(op, dyn_cast<ArrayAttr>(attr.getValue()));
  if (attr.getName() == kLayer || attr.getName() == kStage)
    if (!isa<IntegerAttr>(attr.getValue()))
      return op->emitOpError()
             << "attribute '" << attr.getName().getValue()
             << "': expected an integer, got " << attr.getValue();
  return success();
}

LogicalResult TandemDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                      unsigned index,
                                                      NamedAttribute attr) {
  // MLIR calls this for the arguments of functions only.
  auto function = cast<FunctionOpInterface>(op);
  Type type = function.getArgumentTypes()[index];
  std::string what =
      ("argument " + Twine(index) + " '" + attr.getName().getValue() + "'")
          .str();
  if (attr.getName() == kSharding)
    return verifySharding(op, attr.getValue(), type, what);
  if (attr.getName() == kParameter)
    return verifyView(op, attr.getValue(), type, what);
  if (attr.getName() == kInput || attr.getName() == kState)
    return verifyName(op, attr.getValue(), what);
  if (attr.getName() == kInitial)
    return verifyInitial(op, attr.getValue(), what);
  if (attr.getName() == kAliases) {
    auto results = function.getNumResults();
    auto number = dyn_cast<IntegerAttr>(attr.getValue());
    if (!number || number.getInt() < 0 || number.getInt() >= results)
      return op->emitOpError() << what << ": expected a result below "
                               << results << ", got " << attr.getValue();
    Type result = function.getResultTypes()[number.getInt()];
    if (result != type)
      return op->emitOpError()
             << what << ": expected a result of type " << type << ", result "
             << number.getInt() << " is " << result;
  }
  return success();
}

LogicalResult TandemDialect::verifyRegionResultAttribute(Operation *op,
                                                         unsigned,
                                                         unsigned index,
                                                         NamedAttribute attr) {
  std::string what =
      ("result " + Twine(index) + " '" + attr.getName().getValue() + "'").str();
  if (attr.getName() == kSharding)
    return verifySharding(op, attr.getValue(),
                          cast<FunctionOpInterface>(op).getResultTypes()[index],
                          what);
  if (attr.getName() == kOutput || attr.getName() == kState)
    return verifyName(op, attr.getValue(), what);
  return success();
}

int64_t numberBits(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

static MeshOp meshOpOf(Operation *op) {
  while (op && !op->hasTrait<OpTrait::SymbolTable>())
    op = op->getParentOp();
  if (!op)
    return {};
  for (Operation &inner : op->getRegion(0).front())
    if (auto mesh = dyn_cast<MeshOp>(inner))
      return mesh;
  return {};
}

Mesh meshOf(Operation *op) {
  MeshOp mesh = meshOpOf(op);
  return mesh ? mesh.getMesh().getValue() : Mesh();
}

FlatSymbolRefAttr meshNameOf(Operation *op) {
  MeshOp mesh = meshOpOf(op);
  return mesh ? FlatSymbolRefAttr::get(mesh.getSymNameAttr())
              : FlatSymbolRefAttr();
}

SmallVector<int64_t> globalShape(Type type) {
  if (auto buffer = dyn_cast<BufferType>(type))
    type = buffer.getTensor();
  if (LocalAttr local = localOf(type))
    return SmallVector<int64_t>(local.getGlobalShape());
  return SmallVector<int64_t>(cast<RankedTensorType>(type).getShape());
}

std::vector<int64_t> toVector(ArrayRef<int64_t> values) {
  return std::vector<int64_t>(values.begin(), values.end());
}

LocalAttr localOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LocalAttr>(tensor.getEncoding())
                : LocalAttr();
}

/// The shortest list found that splits a dimension of `size` as `axes` do.
static AxisList shortSpelling(int64_t size, const AxisList &axes) {
  AxisList spelled = withoutTrivial(axes);
  for (size_t i = 0; i + 1 < spelled.size();) {
    AxisList joined = spelled;
    joined[i].size *= joined[i + 1].size;
    joined.erase(joined.begin() + static_cast<int64_t>(i) + 1);
    if (spelled[i].precedes(spelled[i + 1]) && sameSplit(size, joined, axes))
      spelled = joined;
    else
      ++i;
  }
  return spelled;
}

RankedTensorType localType(RankedTensorType type, ShardingAttr sharding,
                           const Mesh &mesh, ReductionKind reduction) {
  SmallVector<int64_t> shape = globalShape(type);
  Sharding value = sharding.getValue(mesh);
  std::vector<int64_t> local = localShape(toVector(shape), value);
  // Equal layouts have equal types.
  for (size_t d = 0; d < value.dims.size(); ++d)
    value.dims[d].axes = shortSpelling(shape[d], value.dims[d].axes);
  value.unreduced = withoutTrivial(value.unreduced);
  llvm::sort(value.unreduced);
  value.unreduced = merged(value.unreduced);
  sharding = ShardingAttr::get(sharding.getMesh(), value, mesh);
  auto encoding = LocalAttr::get(type.getContext(), shape, sharding, reduction);
  return RankedTensorType::get(local, type.getElementType(), encoding);
}

DType dtypeOf(Type elementType) {
  std::string text;
  llvm::raw_string_ostream(text) << elementType;
  std::optional<DType> dtype = parseDType(text);
  assert(dtype && "an element type that plans lack");
  return *dtype;
}

TensorType tensorTypeOf(Type type, const Sharding &sharding,
                        ReductionKind reduction) {
  auto tensor = cast<RankedTensorType>(type);
  return {dtypeOf(tensor.getElementType()), toVector(globalShape(type)),
          sharding, reduction};
}

TensorType tensorTypeOf(Type localType, const Mesh &mesh) {
  LocalAttr local = localOf(localType);
  if (!local) {
    size_t rank = cast<RankedTensorType>(localType).getRank();
    return tensorTypeOf(localType, Sharding::replicatedOver(rank));
  }
  return tensorTypeOf(localType, local.getSharding().getValue(mesh),
                      local.getReduction());
}

std::optional<int64_t> layerOf(Operation *op) {
  if (auto layer = op->getAttrOfType<IntegerAttr>(TandemDialect::kLayer))
    return layer.getInt();
  return std::nullopt;
}

/// What divides `size`, ascending, without 1.
static std::vector<int64_t> divisorsOf(int64_t size) {
  std::vector<int64_t> divisors, large;
  for (int64_t part = 1; part <= size / part; ++part) {
    if (size % part != 0)
      continue;
    if (part > 1)
      divisors.push_back(part);
    if (size / part > part)
      large.push_back(size / part);
  }
  divisors.insert(divisors.end(), large.rbegin(), large.rend());
  return divisors;
}

AxisList kvAxes(const AxisList &axes, int64_t kv, int64_t group) {
  auto ceilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  auto fullest = [&](int64_t a, int64_t b) {
    int64_t heads = ceilDiv(kv, a);
    return heads + heads * ceilDiv(group, b);
  };
  AxisList best, lead;
  int64_t all = sizeOf(axes), fewest = fullest(1, all);
  for (const AxisRef &axis : axes) {
    for (int64_t part : divisorsOf(axis.size)) {
      int64_t a = sizeOf(lead) * part;
      if (int64_t heads = fullest(a, all / a); heads <= fewest) {
        fewest = heads;
        best = lead;
        best.push_back({axis.name, axis.preSize, part});
      }
    }
    lead.push_back(axis);
  }
  return best;
}

} // namespace tandem
