//===- Annotations.h - Which axes split what people name --------*- C++ -*-===//
//
// What it is: lines that say how named tensors lie on the mesh.
//
//   # column-parallel up, row-parallel down; the residual stream whole
//   model.layers.*.mlp.up_proj.weight   : [{"tp"}, {}]
//   model.layers.*.mlp.down_proj.weight : [{}, {"tp"}]
//   @residual                           : [{"dp"}, {}, {}]
//
// A name is a stored tensor (`*` for the layer's number), an entry's input or
// state, or an activation that the builder named. Dimensions are those of the
// stored tensor; the parameter's view carries them to the parameter, so that
// each part of a fused tensor is split so. Later lines win. A line on one
// layer counts for the same tensor of all layers that have none.
//
// Invariant: a preset is nothing but such lines. What a flag does can be
// printed, edited and passed back.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_ANNOTATIONS_H
#define TANDEM_FRONTEND_ANNOTATIONS_H

#include "runtime/mesh/Sharding.h"

#include "mlir/IR/BuiltinOps.h"

namespace tandem {

struct Annotation {
  std::string name;
  Sharding sharding;
  std::string where; ///< `FILE:LINE`, for messages.
};

/// Parses the lines of `text`; `file` names it in messages.
Result<std::vector<Annotation>> parseAnnotations(llvm::StringRef text,
                                                 const std::string &file,
                                                 const Mesh &mesh);
/// Reads and parses a file.
Result<std::vector<Annotation>> readAnnotations(const std::string &path,
                                                const Mesh &mesh);
std::string printAnnotations(const std::vector<Annotation> &annotations,
                             const Mesh &mesh);

/// Declares `mesh` in the module, in place of one that it declares already.
void setMesh(mlir::ModuleOp module, const Mesh &mesh);

/// Writes the annotations onto arguments and named activations of `module`,
/// which declares a mesh. Refuses unknown names, with a suggestion, and
/// shardings that do not fit.
Status applyAnnotations(mlir::ModuleOp module,
                        const std::vector<Annotation> &annotations);

/// What of a training step a name is; a parameter's gradient and what an
/// optimizer keeps of it have the dimensions of the parameter as stored.
enum class NameKind { Other, Parameter, Gradient, Moment };

/// Something that a line may name.
struct AnnotatedName {
  std::string name; ///< With `*` for the layer.
  NameKind kind = NameKind::Other;
  std::vector<int64_t> shape;
  std::string dims; ///< What they run over, where the module says.
};

/// All names of `module`, each once, in order of appearance.
std::vector<AnnotatedName> listNames(mlir::ModuleOp module);
std::string printNames(const std::vector<AnnotatedName> &names);

struct PresetOptions {
  /// Between blocks the residual stream is split along the sequence too.
  bool sequenceParallel = false;
  /// ZeRO's stage: 1 splits what the optimizer keeps over `dp`, 2 gradients
  /// too, 3 parameters too; arXiv:1910.02054.
  int64_t zero = 0;
};

/// The lines that the mesh's axes mean by custom: `dp` and `fsdp` split the
/// batch, `cp` the sequence, `tp` heads, feed-forward and vocabulary
/// (Megatron's columns and rows), `fsdp` the first dimension of a parameter
/// that `tp` leaves. `pp` splits no tensor.
Result<std::vector<Annotation>> presetAnnotations(mlir::ModuleOp module,
                                                  const Mesh &mesh,
                                                  PresetOptions options = {});

} // namespace tandem

#endif // TANDEM_FRONTEND_ANNOTATIONS_H
