#include "frontend/Annotations.h"

#include "ir/Dialect.h"
#include "ir/PortAttributes.h"
#include "runtime/base/Suggest.h"
#include "runtime/files/Json.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>

using namespace mlir;

namespace tandem {
namespace {

/// Where an annotation goes: a function's argument or a named activation.
struct Target {
  func::FuncOp function; ///< Null for an activation.
  unsigned argument = 0;
  ShardingConstraintOp constraint;
  ViewAttr view;              ///< Null for inputs and caches.
  std::vector<int64_t> shape; ///< What annotations speak of.
  NameKind kind = NameKind::Other;
};

/// How gradients of parameters are named, before the parameter's key.
constexpr StringLiteral kGradientPrefix = "grad.";

/// All targets of a module by name, in order of appearance.
using Targets = llvm::MapVector<StringRef, std::vector<Target>>;

std::vector<int64_t> storedShape(ViewAttr view, Type type) {
  return view.getStoredShape().empty() ? toVector(globalShape(type))
                                       : toVector(view.getStoredShape());
}

void addArgument(Targets &targets, func::FuncOp function, unsigned index) {
  Target target;
  target.function = function;
  target.argument = index;
  Type type = function.getArgument(index).getType();
  target.shape = toVector(globalShape(type));
  if (auto view = function.getArgAttrOfType<ViewAttr>(
          index, TandemDialect::kParameter)) {
    target.view = view;
    target.shape = storedShape(view, type);
    target.kind = NameKind::Parameter;
    targets[view.getKey()].push_back(target);
    return;
  }
  if (auto view =
          function.getArgAttrOfType<ViewAttr>(index, TandemDialect::kMoment)) {
    target.view = view;
    target.shape = storedShape(view, type);
    target.kind = NameKind::Moment;
  }
  for (StringRef kind : {TandemDialect::kInput, TandemDialect::kState})
    if (auto name = function.getArgAttrOfType<StringAttr>(index, kind))
      targets[name.getValue()].push_back(target);
}

Targets collect(ModuleOp module) {
  Targets targets;
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      addArgument(targets, function, i);
  module.walk([&](ShardingConstraintOp op) {
    if (!op.getView())
      return;
    Target target;
    target.constraint = op;
    target.view = *op.getView();
    target.shape = storedShape(*op.getView(), op.getType());
    if (target.view.getKey().starts_with(kGradientPrefix))
      target.kind = NameKind::Gradient;
    targets[target.view.getKey()].push_back(target);
  });
  return targets;
}

/// Where the layer's number stands in `name`: its first part of digits.
std::optional<std::pair<size_t, size_t>> layerPart(StringRef name) {
  for (size_t begin = 0; begin < name.size();) {
    size_t end = std::min(name.find('.', begin), name.size());
    StringRef part = name.slice(begin, end);
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      return std::make_pair(begin, end);
    begin = end + 1;
  }
  return std::nullopt;
}

/// `name` with `*` for the layer's number.
std::string patternOf(StringRef name) {
  auto part = layerPart(name);
  if (!part)
    return name.str();
  return (name.take_front(part->first) + "*" + name.drop_front(part->second))
      .str();
}

Status refusal(const Annotation &annotation, const std::string &what) {
  return Status::refused(annotation.where + ": " + what);
}

/// Whether `sharding` can be what `annotation` wants of `shape`.
Status checkFits(const Annotation &annotation,
                 const std::vector<int64_t> &shape, const Mesh &mesh) {
  const Sharding &sharding = annotation.sharding;
  if (sharding.dims.size() != shape.size()) {
    std::string text;
    for (int64_t size : shape)
      text += (text.empty() ? "" : ", ") + std::to_string(size);
    return refusal(annotation, "'" + annotation.name + "': got a sharding of " +
                                   std::to_string(sharding.dims.size()) +
                                   " dimensions, expected " +
                                   std::to_string(shape.size()) +
                                   " as in shape [" + text + "]");
  }
  if (Status status = check(sharding, shape.size(), mesh); !status.ok())
    return refusal(annotation,
                   "'" + annotation.name + "': " + status.message());
  for (const DimSharding &dim : sharding.dims)
    for (const AxisRef &axis : dim.axes)
      if (axis.name == "pp")
        return refusal(annotation, "'" + annotation.name +
                                       "': axis \"pp\" holds stages and "
                                       "splits no tensor");
  return Status();
}

/// Only what passes make is unreduced; what a model holds is whole.
Status checkWhole(const Annotation &annotation, const Target &target) {
  if (annotation.sharding.unreduced.empty() || !target.function)
    return Status();
  return refusal(annotation,
                 "'" + annotation.name +
                     "': got unreduced axes, expected none: only activations "
                     "can be partial sums");
}

class Applier {
public:
  Applier(ModuleOp module, const std::vector<Annotation> &annotations)
      : targets_(collect(module)), annotations_(annotations),
        mesh_(meshOf(module)), meshName_(meshNameOf(module)) {}

  Status run();

private:
  Status choose(const Annotation &annotation);
  void spreadOverLayers();
  void write(const Target &target, const Annotation &annotation);
  PortAttributes &portsOf(func::FuncOp function);
  std::vector<std::string> knownNames() const;

  Targets targets_;
  const std::vector<Annotation> &annotations_;
  Mesh mesh_;
  FlatSymbolRefAttr meshName_;
  std::map<std::string, const Annotation *> chosen_;
  llvm::MapVector<Operation *, PortAttributes> ports_;
};

std::vector<std::string> Applier::knownNames() const {
  std::vector<std::string> names;
  for (const auto &[name, targets] : targets_) {
    std::string pattern = patternOf(name);
    if (!llvm::is_contained(names, pattern))
      names.push_back(pattern);
  }
  return names;
}

/// Notes `annotation` for every name that it means.
Status Applier::choose(const Annotation &annotation) {
  bool star = annotation.name.find('*') != std::string::npos;
  bool found = false;
  for (const auto &[name, targets] : targets_) {
    if ((star ? patternOf(name) : name.str()) != annotation.name)
      continue;
    found = true;
    TANDEM_TRY(checkFits(annotation, targets[0].shape, mesh_));
    TANDEM_TRY(checkWhole(annotation, targets[0]));
    chosen_[name.str()] = &annotation;
  }
  if (found)
    return Status();
  // A name with a layer's number is compared as the layers' pattern.
  std::string near = didYouMean(annotation.name, knownNames());
  if (near.empty())
    near = didYouMean(patternOf(annotation.name), knownNames());
  return refusal(annotation, "unknown name '" + annotation.name + "'" + near);
}

void Applier::spreadOverLayers() {
  std::map<std::string, const Annotation *> byPattern;
  for (const auto &[name, targets] : targets_)
    if (auto it = chosen_.find(name.str()); it != chosen_.end())
      byPattern.emplace(patternOf(name), it->second);
  for (const auto &[name, targets] : targets_)
    if (auto it = byPattern.find(patternOf(name)); it != byPattern.end())
      chosen_.emplace(name.str(), it->second);
}

PortAttributes &Applier::portsOf(func::FuncOp function) {
  return ports_.try_emplace(function, function).first->second;
}

void Applier::write(const Target &target, const Annotation &annotation) {
  Sharding sharding = annotation.sharding;
  if (target.view)
    sharding = target.view.carry(sharding, target.shape);
  // Of an activation's gradient, what is copied along an axis is a sum over it.
  if (target.constraint && target.kind == NameKind::Other &&
      target.constraint->hasAttr(TandemDialect::kBackward))
    std::swap(sharding.replicated, sharding.unreduced);
  // So it is of a weight of which several ranks have a copy.
  if (target.kind == NameKind::Gradient) {
    llvm::append_range(sharding.unreduced, sharding.replicated);
    sharding.replicated.clear();
  }
  auto attr = ShardingAttr::get(meshName_, sharding, mesh_);
  if (target.function) {
    portsOf(target.function)
        .argument(target.argument)
        .set(TandemDialect::kSharding, attr);
  } else {
    ShardingConstraintOp op = target.constraint;
    op.setShardingAttr(attr);
  }
}

Status Applier::run() {
  for (const Annotation &annotation : annotations_)
    TANDEM_TRY(choose(annotation));
  spreadOverLayers();
  for (const auto &[name, targets] : targets_)
    if (auto it = chosen_.find(name.str()); it != chosen_.end())
      for (const Target &target : targets)
        write(target, *it->second);
  for (auto &[function, ports] : ports_)
    ports.write();
  return Status();
}

/// `line` without its comment and the space around it.
StringRef content(StringRef line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    quoted ^= line[i] == '"';
    if (line[i] == '#' && !quoted)
      return line.take_front(i).trim();
  }
  return line.trim();
}

} // namespace

Result<std::vector<Annotation>>
parseAnnotations(StringRef text, const std::string &file, const Mesh &mesh) {
  std::vector<Annotation> annotations;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    StringRef line = content(lines[i]);
    if (line.empty())
      continue;
    Annotation annotation;
    annotation.where = file + ":" + std::to_string(i + 1);
    auto [name, sharding] = line.split(':');
    annotation.name = name.trim().str();
    if (annotation.name.empty() || sharding.trim().empty())
      return refusal(annotation, "expected NAME : SHARDING, got " +
                                     describeJson(line.str()));
    Result<Sharding> parsed = parseSharding(sharding.trim().str(), mesh);
    if (!parsed.ok())
      return refusal(annotation,
                     "'" + annotation.name + "': " + parsed.status().message());
    annotation.sharding = *parsed;
    annotations.push_back(std::move(annotation));
  }
  return annotations;
}

Result<std::vector<Annotation>> readAnnotations(const std::string &path,
                                                const Mesh &mesh) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (std::error_code error = buffer.getError())
    return Status::refused("cannot read annotations '" + path +
                           "': " + error.message());
  return parseAnnotations((*buffer)->getBuffer(), path, mesh);
}

std::string printAnnotations(const std::vector<Annotation> &annotations,
                             const Mesh &mesh) {
  std::string text;
  for (const Annotation &annotation : annotations)
    text +=
        annotation.name + " : " + toString(annotation.sharding, mesh) + "\n";
  return text;
}

void setMesh(ModuleOp module, const Mesh &mesh) {
  auto value = MeshAttr::get(module.getContext(), mesh);
  for (MeshOp op : module.getOps<MeshOp>())
    return op.setMeshAttr(value);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  MeshOp::create(builder, module.getLoc(), builder.getStringAttr("mesh"),
                 value);
}

Status applyAnnotations(ModuleOp module,
                        const std::vector<Annotation> &annotations) {
  return Applier(module, annotations).run();
}

/// The name whose dimensions `target` has: its own, or a parameter's.
static StringRef nameOfDims(StringRef name, const Target &target) {
  if (target.kind == NameKind::Moment)
    return target.view.getKey();
  if (target.kind == NameKind::Gradient)
    name.consume_front(kGradientPrefix);
  return name;
}

std::vector<AnnotatedName> listNames(ModuleOp module) {
  auto dims = module->getAttrOfType<DictionaryAttr>("tandem.dims");
  std::vector<AnnotatedName> names;
  for (const auto &[name, targets] : collect(module)) {
    AnnotatedName entry;
    entry.name = patternOf(name);
    entry.shape = targets[0].shape;
    entry.kind = targets[0].kind;
    if (dims)
      if (auto words =
              dims.getAs<StringAttr>(patternOf(nameOfDims(name, targets[0]))))
        entry.dims = words.getValue().str();
    if (llvm::none_of(names, [&](const AnnotatedName &other) {
          return other.name == entry.name;
        }))
      names.push_back(std::move(entry));
  }
  return names;
}

std::string printNames(const std::vector<AnnotatedName> &names) {
  std::string text;
  for (const AnnotatedName &name : names) {
    text += name.name + " [";
    for (size_t i = 0; i < name.shape.size(); ++i)
      text += (i ? ", " : "") + std::to_string(name.shape[i]);
    text += "]" + (name.dims.empty() ? "" : "  # " + name.dims) + "\n";
  }
  return text;
}

} // namespace tandem
