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
  /// Which of a head's parts it is with Fusion::PerHead, -1 otherwise.
  int64_t partOfHead = -1;

  bool isWhole() const {
    return partOfHead < 0 && begin == 0 &&
           end == shape[static_cast<size_t>(outDim)];
  }
};

/// A stored tensor of all layers, `*` for the layer's number.
struct TensorPattern {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<Dim> dims;
  bool perLayer = false;
};

class ModelTensors {
public:
  /// `family` and `files` must outlive it. Nothing is checked against the
  /// files yet but which of a family's optional tensors they hold.
  static Result<ModelTensors> make(const Architecture &family,
                                   const ModelConfig &config,
                                   const ModelFiles &files);

  bool has(Role role) const { return family_->find(role) != nullptr; }
  bool hasBias(Role role) const { return biased_.count(role) != 0; }
  Place weight(Role role, int64_t layer) const;
  Place bias(Role role, int64_t layer) const;

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
  std::string stem(Role role) const;
  Place place(Role role, int64_t layer, bool bias) const;
  /// Roles that share `role`'s stem, in order.
  std::vector<Role> sharing(Role role) const;
  Status findBiases();
  void listPatterns();
  Status checkStored(const TensorPattern &pattern, int64_t layer) const;
  Status checkBuffer(const StoredTensor &tensor, const Buffer &buffer) const;
  Status checkFrequencies(const StoredTensor &tensor) const;
  Status checkKnown(const StoredTensor &tensor, bool &known,
                    std::vector<std::string> &warnings) const;
  std::set<std::string> readNames() const;
  std::string fileOf(const StoredTensor &tensor) const;

  const Architecture *family_ = nullptr;
  const ModelFiles *files_ = nullptr;
  ModelConfig config_;
  std::string prefix_;
  std::set<Role> biased_;
  std::vector<TensorPattern> patterns_;
};

/// `pattern` with the layer's number for `*`.
std::string withLayer(const std::string &pattern, int64_t layer);
/// Whether `name` is `pattern` with some number for `*`.
bool matchesLayer(const std::string &name, const std::string &pattern);
/// Whether a role is a linear layer (stored out, in or the other way).
bool isLinear(Role role);
bool isNorm(Role role);

} // namespace tandem

#endif // TANDEM_FRONTEND_MODELTENSORS_H
