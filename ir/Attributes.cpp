#include "ir/Dialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tandem;

#include "ir/Enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/Attributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/Types.cpp.inc"

namespace tandem {

void TandemDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/Attributes.cpp.inc"
      >();
}

void TandemDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/Types.cpp.inc"
      >();
}

llvm::hash_code hash_value(const ShardingRule &rule) {
  llvm::hash_code code(0);
  for (const Factor &factor : rule.factors)
    code = llvm::hash_combine(code, factor.size, static_cast<int>(factor.kind));
  auto add = [&](const std::vector<FactorMapping> &tensors) {
    for (const FactorMapping &tensor : tensors)
      for (const auto &dim : tensor.dims)
        code = llvm::hash_combine(
            code, tensor.linear,
            llvm::hash_combine_range(dim.begin(), dim.end()));
  };
  add(rule.operands);
  add(rule.results);
  return code;
}

//===----------------------------------------------------------------------===//
// Meshes and axes
//===----------------------------------------------------------------------===//

static FailureOr<AxisAttr> parseAxis(AsmParser &parser) {
  std::string name;
  int64_t size;
  if (parser.parseString(&name) || parser.parseEqual() ||
      parser.parseInteger(size))
    return failure();
  return AxisAttr::get(parser.getContext(), name, size);
}

static void printAxis(AsmPrinter &printer, AxisAttr axis) {
  printer << "\"" << axis.getName() << "\"=" << axis.getSize();
}

Attribute AxisAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<AxisAttr> axis = parseAxis(parser);
  if (failed(axis) || parser.parseGreater())
    return {};
  return *axis;
}

void AxisAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxis(printer, *this);
  printer << ">";
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisAttr> axes;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<AxisAttr> axis = parseAxis(parser);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    axes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer,
                        [&](AxisAttr axis) { printAxis(printer, axis); });
  printer << "]>";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<AxisAttr> axes) {
  llvm::SmallSet<StringRef, 4> names;
  std::string text;
  for (AxisAttr axis : axes) {
    if (!names.insert(axis.getName()).second)
      return emitError() << "axis \"" << axis.getName() << "\" is named twice";
    if (axis.getSize() < 1)
      return emitError() << "axis \"" << axis.getName() << "\" has size "
                         << axis.getSize() << ", expected at least 1";
    text += (text.empty() ? "" : ",") + axis.getName().str() + "=" +
            std::to_string(axis.getSize());
  }
  // What else a mesh may not be: nameless, or of too many ranks.
  Result<Mesh> mesh = Mesh::parse(text);
  if (!mesh.ok())
    return emitError() << mesh.status().message();
  return success();
}

Mesh MeshAttr::getValue() const {
  std::vector<Axis> axes;
  for (AxisAttr axis : getAxes())
    axes.push_back({axis.getName().str(), axis.getSize()});
  return Mesh(std::move(axes));
}

MeshAttr MeshAttr::get(MLIRContext *context, const Mesh &mesh) {
  SmallVector<AxisAttr> axes;
  for (const Axis &axis : mesh.axes())
    axes.push_back(AxisAttr::get(context, axis.name, axis.size));
  return get(context, axes);
}

/// `"tp"` or `"tp":(1)2`.
static FailureOr<AxisRefAttr> parseAxisRef(AsmParser &parser) {
  std::string name;
  int64_t preSize = 1, size = 0;
  if (parser.parseString(&name))
    return failure();
  if (succeeded(parser.parseOptionalColon()))
    if (parser.parseLParen() || parser.parseInteger(preSize) ||
        parser.parseRParen() || parser.parseInteger(size))
      return failure();
  return AxisRefAttr::get(parser.getContext(), name, preSize, size);
}

static void printAxisRef(AsmPrinter &printer, AxisRefAttr axis) {
  printer << "\"" << axis.getName() << "\"";
  if (axis.getSize() != 0)
    printer << ":(" << axis.getPreSize() << ")" << axis.getSize();
}

static void printAxisRefs(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes) {
  llvm::interleaveComma(axes, printer,
                        [&](AxisRefAttr axis) { printAxisRef(printer, axis); });
}

static ParseResult parseAxisRefs(AsmParser &parser,
                                 AsmParser::Delimiter delimiter,
                                 SmallVectorImpl<AxisRefAttr> &axes) {
  return parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
    FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
    return success();
  });
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
  if (failed(axis) || parser.parseGreater())
    return {};
  return *axis;
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisRef(printer, *this);
  printer << ">";
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  if (parseAxisRefs(parser, AsmParser::Delimiter::LessGreater, axes))
    return {};
  return get(parser.getContext(), axes);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisRefs(printer, getAxes());
  printer << ">";
}

static AxisList toValue(ArrayRef<AxisRefAttr> axes, const Mesh &mesh) {
  AxisList list;
  for (AxisRefAttr axis : axes) {
    std::string name = axis.getName().str();
    int64_t size = axis.getSize() ? axis.getSize() : mesh.sizeOf(name);
    list.push_back({std::move(name), axis.getPreSize(), size});
  }
  return list;
}

static SmallVector<AxisRefAttr> toAttr(MLIRContext *context,
                                       const AxisList &axes, const Mesh &mesh) {
  SmallVector<AxisRefAttr> attrs;
  for (const AxisRef &axis : axes)
    attrs.push_back(AxisRefAttr::get(context, axis.name, axis.preSize,
                                     mesh.isWhole(axis) ? 0 : axis.size));
  return attrs;
}

AxisList AxesAttr::getValue(const Mesh &mesh) const {
  return toValue(getAxes(), mesh);
}

AxesAttr AxesAttr::get(MLIRContext *context, const AxisList &axes,
                       const Mesh &mesh) {
  return get(context, toAttr(context, axes, mesh));
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

static FailureOr<DimShardingAttr> parseDimSharding(AsmParser &parser) {
  SmallVector<AxisRefAttr> axes;
  bool open = false;
  int32_t priority = 0;
  if (parser.parseLBrace())
    return failure();
  while (failed(parser.parseOptionalRBrace())) {
    if (!axes.empty() && parser.parseComma())
      return failure();
    if (succeeded(parser.parseOptionalQuestion())) {
      open = true;
      if (parser.parseRBrace())
        return failure();
      break;
    }
    FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
  }
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&keyword)))
    if (!keyword.consume_front("p") || keyword.getAsInteger(10, priority))
      return parser.emitError(loc, "expected a priority such as p1");
  return DimShardingAttr::get(parser.getContext(), axes, open, priority);
}

static void printDimSharding(AsmPrinter &printer, DimShardingAttr dim) {
  printer << "{";
  printAxisRefs(printer, dim.getAxes());
  if (dim.getOpen())
    printer << (dim.getAxes().empty() ? "?" : ", ?");
  printer << "}";
  if (dim.getPriority())
    printer << "p" << dim.getPriority();
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<DimShardingAttr> dim = parseDimSharding(parser);
  if (failed(dim) || parser.parseGreater())
    return {};
  return *dim;
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDimSharding(printer, *this);
  printer << ">";
}

/// `@mesh, [...]` and what follows, up to the closing `>` or `terminator`.
static FailureOr<ShardingAttr> parseShardingBody(AsmParser &parser,
                                                 StringRef *trailing) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  auto parseDim = [&]() -> ParseResult {
    FailureOr<DimShardingAttr> dim = parseDimSharding(parser);
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
    return success();
  };
  if (parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    if (trailing && (keyword == "max" || keyword == "min")) {
      *trailing = keyword;
      break;
    }
    if (keyword != "replicated" && keyword != "unreduced")
      return parser.emitError(loc, "expected 'replicated' or 'unreduced'");
    if (parser.parseEqual() ||
        parseAxisRefs(parser, AsmParser::Delimiter::Braces,
                      keyword == "replicated" ? replicated : unreduced))
      return failure();
  }
  return ShardingAttr::get(parser.getContext(), mesh, dims, replicated,
                           unreduced);
}

static void printShardingBody(AsmPrinter &printer, ShardingAttr sharding) {
  printer << sharding.getMesh() << ", [";
  llvm::interleaveComma(sharding.getDims(), printer, [&](DimShardingAttr dim) {
    printDimSharding(printer, dim);
  });
  printer << "]";
  auto printSet = [&](StringRef name, ArrayRef<AxisRefAttr> axes) {
    if (axes.empty())
      return;
    printer << ", " << name << "={";
    printAxisRefs(printer, axes);
    printer << "}";
  };
  printSet("replicated", sharding.getReplicated());
  printSet("unreduced", sharding.getUnreduced());
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<ShardingAttr> sharding = parseShardingBody(parser, nullptr);
  if (failed(sharding) || parser.parseGreater())
    return {};
  return *sharding;
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printShardingBody(printer, *this);
  printer << ">";
}

Sharding ShardingAttr::getValue(const Mesh &mesh) const {
  Sharding sharding;
  for (DimShardingAttr dim : getDims())
    sharding.dims.push_back(
        {toValue(dim.getAxes(), mesh), dim.getOpen(), dim.getPriority()});
  sharding.replicated = toValue(getReplicated(), mesh);
  sharding.unreduced = toValue(getUnreduced(), mesh);
  return sharding;
}

ShardingAttr ShardingAttr::get(FlatSymbolRefAttr meshName,
                               const Sharding &sharding, const Mesh &mesh) {
  MLIRContext *context = meshName.getContext();
  SmallVector<DimShardingAttr> dims;
  for (const DimSharding &dim : sharding.dims)
    dims.push_back(DimShardingAttr::get(
        context, toAttr(context, dim.axes, mesh), dim.open, dim.priority));
  return get(context, meshName, dims,
             toAttr(context, sharding.replicated, mesh),
             toAttr(context, sharding.unreduced, mesh));
}

LogicalResult ShardingAttr::verifyFor(Operation *op, Type type,
                                      StringRef what) const {
  auto error = [&](const Twine &message) {
    return op->emitOpError() << what << ": " << message;
  };
  if (meshNameOf(op) != getMesh())
    return error("unknown mesh @" + getMesh().getValue() +
                 ", expected a tandem.mesh of that name in the module");
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!isTensor(type))
    return error("expected a ranked tensor to shard, of static sizes and an "
                 "element type that plans know");
  Mesh mesh = meshOf(op);
  Status status = check(getValue(mesh), tensor.getRank(), mesh);
  return status.ok() ? success() : error(status.message());
}

Attribute LocalAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape;
  auto parseSize = [&] { return parser.parseInteger(shape.emplace_back()); };
  StringRef trailing;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize) ||
      parser.parseComma())
    return {};
  FailureOr<ShardingAttr> sharding = parseShardingBody(parser, &trailing);
  if (failed(sharding) || parser.parseGreater())
    return {};
  ReductionKind kind = trailing == "max"   ? ReductionKind::Max
                       : trailing == "min" ? ReductionKind::Min
                                           : ReductionKind::Sum;
  return get(parser.getContext(), shape, *sharding, kind);
}

void LocalAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getGlobalShape(), printer);
  printer << "], ";
  printShardingBody(printer, getSharding());
  if (getReduction() != ReductionKind::Sum)
    printer << (getReduction() == ReductionKind::Max ? ", max" : ", min");
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static FailureOr<ViewStepAttr> parseViewStep(AsmParser &parser) {
  StringRef step;
  SmallVector<int64_t> arguments;
  auto parseArgument = [&] {
    return parser.parseInteger(arguments.emplace_back());
  };
  if (parser.parseKeyword(&step) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                     parseArgument))
    return failure();
  return ViewStepAttr::get(parser.getContext(), step, arguments);
}

static void printViewStep(AsmPrinter &printer, ViewStepAttr step) {
  printer << step.getStep() << "(";
  llvm::interleaveComma(step.getArguments(), printer);
  printer << ")";
}

Attribute ViewStepAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<ViewStepAttr> step = parseViewStep(parser);
  if (failed(step) || parser.parseGreater())
    return {};
  return *step;
}

void ViewStepAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printViewStep(printer, *this);
  printer << ">";
}

Attribute ViewAttr::parse(AsmParser &parser, Type) {
  std::string key;
  SmallVector<int64_t> shape;
  SmallVector<ViewStepAttr> steps;
  StringAttr storedType;
  auto parseSize = [&] { return parser.parseInteger(shape.emplace_back()); };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&key) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalSquare,
                                     parseSize))
    return {};
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword)))
    storedType = StringAttr::get(parser.getContext(), keyword);
  while (succeeded(parser.parseOptionalComma())) {
    FailureOr<ViewStepAttr> step = parseViewStep(parser);
    if (failed(step))
      return {};
    steps.push_back(*step);
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    key, shape, storedType, steps);
}

void ViewAttr::print(AsmPrinter &printer) const {
  printer << "<\"";
  llvm::printEscapedString(getKey(), printer.getStream());
  printer << "\"";
  if (!getStoredShape().empty()) {
    printer << "[";
    llvm::interleaveComma(getStoredShape(), printer);
    printer << "]";
  }
  if (getStoredType())
    printer << " " << getStoredType().getValue();
  for (ViewStepAttr step : getSteps()) {
    printer << ", ";
    printViewStep(printer, step);
  }
  printer << ">";
}

namespace {

/// A tensor's dimensions as view steps see them: sizes, where elements are,
/// and how an annotation of the stored tensor splits them.
struct Viewed {
  struct Dim {
    int64_t size;
    int64_t stride;
    DimSharding sharding;
  };
  SmallVector<Dim> dims;
  int64_t offset = 0;
  AxisList replicated; ///< Axes over which KV heads have copies.
};

using Arguments = ArrayRef<int64_t>;

LogicalResult splitDim(Viewed &viewed, int64_t dim, Arguments sizes,
                       ArrayRef<AxisList> axes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 1 || __builtin_mul_overflow(product, size, &product))
      return failure();
  }
  if (product != viewed.dims[dim].size)
    return failure();
  Viewed::Dim whole = viewed.dims[dim];
  viewed.dims.erase(viewed.dims.begin() + dim);
  int64_t stride = whole.stride * whole.size;
  for (size_t i = 0; i < sizes.size(); ++i) {
    stride /= sizes[i];
    DimSharding sharding = whole.sharding;
    sharding.axes = i < axes.size() ? axes[i] : AxisList();
    viewed.dims.insert(viewed.dims.begin() + dim + i,
                       {sizes[i], stride, sharding});
  }
  return success();
}

LogicalResult applySlice(Viewed &viewed, Arguments a) {
  if (a.size() != 3 || a[0] < 0 || a[0] >= int64_t(viewed.dims.size()) ||
      a[1] < 0 || a[1] >= a[2] || a[2] > viewed.dims[a[0]].size)
    return failure();
  viewed.offset += a[1] * viewed.dims[a[0]].stride;
  viewed.dims[a[0]].size = a[2] - a[1];
  return success();
}

LogicalResult applyTranspose(Viewed &viewed, Arguments a) {
  if (a.size() != viewed.dims.size())
    return failure();
  SmallVector<Viewed::Dim> dims;
  SmallVector<bool> seen(a.size(), false);
  for (int64_t from : a) {
    if (from < 0 || from >= int64_t(a.size()) || seen[from])
      return failure();
    seen[from] = true;
    dims.push_back(viewed.dims[from]);
  }
  viewed.dims = std::move(dims);
  return success();
}

bool isDimOf(const Viewed &viewed, int64_t dim) {
  return dim >= 0 && dim < int64_t(viewed.dims.size());
}

LogicalResult applySplit(Viewed &viewed, Arguments a) {
  if (a.size() < 2 || !isDimOf(viewed, a[0]))
    return failure();
  return splitDim(viewed, a[0], a.drop_front(),
                  {viewed.dims[a[0]].sharding.axes});
}

LogicalResult applyHeads(Viewed &viewed, Arguments a) {
  if (a.size() != 4 || !isDimOf(viewed, a[0]) || a[1] < 1 || a[2] < 1)
    return failure();
  const AxisList &axes = viewed.dims[a[0]].sharding.axes;
  AxisList kv = kvAxes(axes, a[1], a[2]);
  AxisList group = withoutPrefix(axes, kv);
  return splitDim(viewed, a[0], a.drop_front(), {kv, group});
}

LogicalResult applyKvHeads(Viewed &viewed, Arguments a) {
  if (a.size() != 4 || !isDimOf(viewed, a[0]) || a[1] < 1 || a[2] < 1)
    return failure();
  const AxisList &axes = viewed.dims[a[0]].sharding.axes;
  AxisList kv = kvAxes(axes, a[1], a[2]);
  llvm::append_range(viewed.replicated, withoutPrefix(axes, kv));
  return splitDim(viewed, a[0], {a[1], a[3]}, {kv});
}

struct StepRow {
  StringLiteral name;
  LogicalResult (*apply)(Viewed &, Arguments);
};

constexpr StepRow stepRows[] = {
    {"slice", applySlice},         {"split", applySplit},
    {"heads", applyHeads},         {"kv_heads", applyKvHeads},
    {"transpose", applyTranspose},
};

const StepRow *findStep(StringRef name) {
  for (const StepRow &row : stepRows)
    if (row.name == name)
      return &row;
  return nullptr;
}

LogicalResult applySteps(Viewed &viewed, ArrayRef<ViewStepAttr> steps) {
  for (ViewStepAttr step : steps) {
    const StepRow *row = findStep(step.getStep());
    if (!row || failed(row->apply(viewed, step.getArguments())))
      return failure();
  }
  return success();
}

Viewed storedView(ArrayRef<int64_t> shape) {
  Viewed viewed;
  int64_t stride = 1;
  for (int64_t size : llvm::reverse(shape)) {
    viewed.dims.insert(viewed.dims.begin(), {size, stride, {}});
    stride *= size;
  }
  return viewed;
}

} // namespace

LogicalResult ViewAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef key, ArrayRef<int64_t> storedShape,
                               StringAttr, ArrayRef<ViewStepAttr> steps) {
  if (storedShape.empty() && !steps.empty())
    return emitError() << "view of \"" << key
                       << "\" has steps but no stored shape";
  int64_t elements = 1;
  for (int64_t size : storedShape)
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements))
      return emitError() << "view of \"" << key << "\": the stored shape ["
                         << storedShape
                         << "] is negative or has too many elements";
  Viewed viewed = storedView(storedShape);
  for (ViewStepAttr step : steps) {
    const StepRow *row = findStep(step.getStep());
    if (!row)
      return emitError() << "view of \"" << key << "\" has the unknown step '"
                         << step.getStep()
                         << "', expected slice, split, heads, kv_heads or "
                            "transpose";
    if (failed(row->apply(viewed, step.getArguments())))
      return emitError() << "view of \"" << key << "\": step '"
                         << step.getStep() << "(" << step.getArguments()
                         << ")' does not fit the dimensions before it";
  }
  return success();
}

std::optional<SmallVector<int64_t>>
ViewAttr::getShape(ArrayRef<int64_t> stored) const {
  Viewed viewed =
      storedView(getStoredShape().empty() ? stored : getStoredShape());
  if (failed(applySteps(viewed, getSteps())))
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (const Viewed::Dim &dim : viewed.dims)
    shape.push_back(dim.size);
  return shape;
}

void ViewAttr::getStrides(ArrayRef<int64_t> stored, int64_t &offset,
                          SmallVectorImpl<int64_t> &strides) const {
  Viewed viewed =
      storedView(getStoredShape().empty() ? stored : getStoredShape());
  [[maybe_unused]] LogicalResult applied = applySteps(viewed, getSteps());
  assert(succeeded(applied) && "verified before");
  offset = viewed.offset;
  strides.clear();
  for (const Viewed::Dim &dim : viewed.dims)
    strides.push_back(dim.stride);
}

Sharding ViewAttr::carry(const Sharding &sharding,
                         ArrayRef<int64_t> stored) const {
  Viewed viewed =
      storedView(getStoredShape().empty() ? stored : getStoredShape());
  for (auto [dim, split] : llvm::zip_equal(viewed.dims, sharding.dims))
    dim.sharding = split;
  [[maybe_unused]] LogicalResult applied = applySteps(viewed, getSteps());
  assert(succeeded(applied) && "verified before");
  Sharding result = sharding;
  result.dims.clear();
  for (const Viewed::Dim &dim : viewed.dims)
    result.dims.push_back(dim.sharding);
  llvm::append_range(result.replicated, withoutTrivial(viewed.replicated));
  return result;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

Attribute RuleAttr::parse(AsmParser &parser, Type) {
  std::string text;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&text) || parser.parseGreater())
    return {};
  Result<ShardingRule> rule = ShardingRule::parse(text);
  if (!rule.ok()) {
    parser.emitError(loc, rule.status().message());
    return {};
  }
  return get(parser.getContext(), *rule);
}

void RuleAttr::print(AsmPrinter &printer) const {
  printer << "<\"" << getRule().toString() << "\">";
}

} // namespace tandem
