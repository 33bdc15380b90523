//===- ModelTensors.h - The stored tensors that a model reads ---*- C++ -*-===//
//
// Which tensors a family's model consists of, by role and layer: their names,
// shapes and where in a shared tensor a role's part lies; and the check that
// the files hold them, in these shapes, and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_MODELTENSORS_H
#define TANDEM_FRONTEND_MODELTENSORS_H

#include "frontend/ModelConfig.h"

#include <set>

namespace tandem {

/// A weight or bias of one role in one layer, as the files hold it.
struct Place {
  std::string name;
  std::vector<int64_t> shape; ///< Of the whole stored tensor.
  /// The stored dimension that runs over the role's outputs.
  int64_t outDim = 0;
  /// The role's part of it; all of it where nothing is shared.
  int64_t begin = 0, end = 0;
  /// With Fusion::PerGroup `begin` and `end` count a group's heads instead:
  /// its queries, its key, its value.
  bool inGroup = false;

  bool isWhole() const {
    return !inGroup && begin == 0 && end == shape[static_cast<size_t>(outDim)];
  }
};

/// A stored tensor of all layers, `*` for the layer's number.
struct TensorPattern {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<Dim> dims;
  bool perLayer = false;
};

/// What a new model's elements are drawn from; 0 deviation: all the mean.
struct Normal {
  double mean = 0, deviation = 0;
};

class ModelTensors {
public:
  /// `family` and `files` must outlive it. Nothing is checked against the
  /// files yet but which of a family's optional tensors they hold.
  static Result<ModelTensors> make(const Architecture &family,
                                   const ModelConfig &config,
                                   const ModelFiles &files);

  bool has(Role role) const { return present_.count(role) != 0; }
  bool hasBias(Role role) const { return biased_.count(role) != 0; }
  /// What the role's weight runs over, outputs first.
  std::vector<Dim> dims(Role role) const;
  Place weight(Role role, int64_t layer) const;
  Place bias(Role role, int64_t layer) const;
  /// How the role's weight begins in a new model: norms multiply by 1. Biases
  /// begin with 0.
  Normal initialWeight(Role role) const;

  /// What a person calls the place of `role`: the stem without the family's
  /// prefix, `layers.3.self_attn.q_proj`.
  std::string location(Role role, int64_t layer) const;

  /// All that the model reads, each once, in the row's order.
  const std::vector<TensorPattern> &patterns() const { return patterns_; }

  /// Checks the files against `patterns`. A tensor that nothing uses, or a
  /// known one that says something else than the configuration, is told in
  /// `warnings`; with `strict` a surplus is an error.
  Status check(bool strict, std::vector<std::string> &warnings) const;

private:
  ModelTensors() = default;
  /// `name` with the prefix of this model for `$`.
  std::string prefixed(const std::string &name) const;
  std::string stem(Role role) const;
  Place place(Role role, int64_t layer, bool bias) const;
  bool isGrouped(Role role) const;
  int64_t partSize(Role role) const;
  /// Roles that share `role`'s stem, in order.
  std::vector<Role> sharing(Role role) const;
  Result<bool> holds(const When &when, const std::string &name) const;
  Status findPresent();
  void listPatterns();
  Status checkStored(const TensorPattern &pattern, int64_t layer) const;
  Status checkBuffer(const StoredTensor &tensor, const Buffer &buffer) const;
  Status checkFrequencies(const StoredTensor &tensor) const;
  Status checkKnown(const StoredTensor &tensor, bool &known,
                    std::vector<std::string> &warnings) const;
  bool isCopy(const StoredTensor &tensor, const std::string &of) const;
  std::set<std::string> readNames() const;
  std::string fileOf(const StoredTensor &tensor) const;

  const Architecture *family_ = nullptr;
  const ModelFiles *files_ = nullptr;
  ModelConfig config_;
  std::string prefix_;
  std::set<Role> present_, biased_;
  std::vector<TensorPattern> patterns_;
};

/// `pattern` with the layer's number for `*`.
std::string withLayer(const std::string &pattern, int64_t layer);
/// Whether `name` is `pattern` with some number for `*`.
bool matchesLayer(const std::string &name, const std::string &pattern);

} // namespace tandem

#endif // TANDEM_FRONTEND_MODELTENSORS_H
