#include "passes/propagate/Advice.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tandem {
namespace {

/// How much more than one rank alone all ranks compute before it is said, and
/// how much fewer bytes an annotation must move to be proposed.
constexpr double kRepeatedFlops = 1.05;
constexpr double kFewerBytes = 0.8;

/// What one way to annotate costs.
struct Outcome {
  double compute = 1; ///< Flops of all ranks over those of one alone.
  int64_t bytes = 0;  ///< On the wire, of one device.
};

/// Something without an annotation.
struct Unannotated {
  std::string name;
  std::vector<int64_t> shape;
};

class Adviser {
public:
  Adviser(ModuleOp module, const PropagationOptions &options,
          ReshardPaths &paths)
      : module(module), mesh(meshOf(module)), options(options), paths(paths) {}

  void run(ModuleGraph &graph) {
    Outcome now = outcomeOf(graph);
    findUnannotated();
    bool repeats = now.compute > kRepeatedFlops;
    if (!repeats && inputsSaid)
      return;
    Outcome best = now;
    while (improve(best))
      ;
    if (!repeats && best.bytes >= now.bytes * kFewerBytes)
      return;
    InFlightDiagnostic warning = module.emitWarning();
    std::string axes = graph.operations().repeating();
    if (repeats && axes.empty())
      warning << "uneven pieces make work: ";
    else if (repeats)
      warning << "the ranks of " << axes << " repeat work: ";
    if (repeats)
      warning << ratio(now.compute) << " x the flops of one rank alone, and "
              << now.bytes << " bytes a device";
    else
      warning << now.bytes << " bytes move on each device";
    if (added.empty()) {
      warning << "; no annotation of an input would mend that";
      return;
    }
    warning << "; annotating";
    for (const Unannotated &tensor : tensors)
      if (auto it = added.find(tensor.name); it != added.end())
        warning << " " << tensor.name << " : " << toString(it->second, mesh);
    warning << " would make that ";
    if (repeats)
      warning << ratio(best.compute) << " x and ";
    warning << best.bytes << " bytes";
  }

private:
  static std::string ratio(double value) {
    return llvm::formatv("{0:F2}", value).str();
  }

  static Outcome outcomeOf(ModuleGraph &graph) {
    return {graph.operations().compute(), graph.operations().bytes()};
  }

  /// A name with a layer's number is one of many.
  static bool isInLayer(StringRef name) {
    SmallVector<StringRef> parts;
    name.split(parts, '.');
    return llvm::any_of(parts, [](StringRef part) {
      return !part.empty() && llvm::all_of(part, llvm::isDigit);
    });
  }

  void findUnannotated() {
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        StringRef name = argumentName(function, i);
        auto view =
            function.getArgAttrOfType<ViewAttr>(i, TandemDialect::kParameter);
        bool said =
            static_cast<bool>(function.getArgAttr(i, TandemDialect::kSharding));
        if (said && function.getArgAttr(i, TandemDialect::kInput))
          inputsSaid = true;
        if (name.empty() || said || isInLayer(name) ||
            function.getArgAttr(i, TandemDialect::kState) ||
            (view && !view.getSteps().empty()) ||
            llvm::any_of(tensors, [&](const Unannotated &tensor) {
              return tensor.name == name;
            }))
          continue;
        tensors.push_back({name.str(), toVector(globalShape(
                                           function.getArgumentTypes()[i]))});
      }
  }

  std::optional<Outcome> attempt(const llvm::StringMap<Sharding> &annotations) {
    ScopedDiagnosticHandler silent(module.getContext(),
                                   [](Diagnostic &) { return success(); });
    ModuleGraph graph(module, annotations);
    if (failed(graph.build()) || !graph.decide(options, paths).ok())
      return std::nullopt;
    return outcomeOf(graph);
  }

  static bool isBetter(const Outcome &a, const Outcome &b) {
    if (a.compute < b.compute * 0.98)
      return true;
    return a.compute <= b.compute * 1.001 && a.bytes < b.bytes * kFewerBytes;
  }

  /// Adds the axis that helps most; false where none does.
  bool improve(Outcome &best) {
    llvm::StringMap<Sharding> better;
    for (const Unannotated &tensor : tensors)
      for (size_t d = 0; d < tensor.shape.size(); ++d)
        for (const Axis &axis : mesh.axes())
          if (auto annotations = withAxis(tensor, d, axis)) {
            auto outcome = attempt(*annotations);
            if (!outcome || !isBetter(*outcome, best))
              continue;
            best = *outcome;
            better = *annotations;
          }
    if (better.empty())
      return false;
    added = std::move(better);
    return true;
  }

  std::optional<llvm::StringMap<Sharding>>
  withAxis(const Unannotated &tensor, size_t dim, const Axis &axis) {
    if (axis.size == 1 || axis.name == "pp")
      return std::nullopt;
    llvm::StringMap<Sharding> result = added;
    Sharding &sharding =
        result
            .try_emplace(tensor.name,
                         Sharding::replicatedOver(tensor.shape.size()))
            .first->second;
    AxisRef whole = mesh.whole(axis.name);
    for (const DimSharding &other : sharding.dims)
      if (overlaps(other.axes, whole))
        return std::nullopt;
    AxisList &axes = sharding.dims[dim].axes;
    axes.push_back(whole);
    if (tensor.shape[dim] < sizeOf(axes))
      return std::nullopt;
    return result;
  }

  ModuleOp module;
  Mesh mesh;
  const PropagationOptions &options;
  ReshardPaths &paths;
  std::vector<Unannotated> tensors;
  /// Who annotates some inputs may mean the others to be whole, and is only
  /// told of work that is repeated.
  bool inputsSaid = false;
  llvm::StringMap<Sharding> added;
};

} // namespace

void advise(ModuleOp module, ModuleGraph &graph,
            const PropagationOptions &options, ReshardPaths &paths) {
  Adviser(module, options, paths).run(graph);
}

} // namespace tandem
