#include "frontend/ModelTensors.h"

#include "runtime/base/Suggest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tandem {
namespace {

/// Whether the family's `layout` is meant: a linear layer of a layer.
bool hasLayout(Role role) {
  switch (role) {
  case Role::Query:
  case Role::Key:
  case Role::Value:
  case Role::Output:
  case Role::Gate:
  case Role::Up:
  case Role::Down:
    return true;
  default:
    return false;
  }
}

bool isNorm(Role role) {
  switch (role) {
  case Role::EmbeddingNorm:
  case Role::AttentionNorm:
  case Role::AttentionPostNorm:
  case Role::QueryNorm:
  case Role::KeyNorm:
  case Role::MlpNorm:
  case Role::MlpPostNorm:
  case Role::FinalNorm:
  case Role::HeadNorm:
    return true;
  default:
    return false;
  }
}

/// Element `i` of a stored tensor of plain floats.
double floatAt(const StoredTensor &tensor, uint64_t i) {
  const std::byte *at =
      tensor.data + i * static_cast<uint64_t>(blockBytes(tensor.dtype));
  uint16_t half;
  float single;
  double wide;
  switch (tensor.dtype) {
  case DType::F64:
    std::memcpy(&wide, at, sizeof wide);
    return wide;
  case DType::F32:
    std::memcpy(&single, at, sizeof single);
    return single;
  case DType::F16:
  case DType::BF16:
    std::memcpy(&half, at, sizeof half);
    return tensor.dtype == DType::F16 ? halfToFloat(half) : bfloatToFloat(half);
  default:
    return std::nan("");
  }
}

/// How far a value may be off that was rounded to `dtype`.
double tolerance(DType dtype) {
  return dtype == DType::BF16 ? 1e-2 : dtype == DType::F16 ? 2e-3 : 1e-5;
}

bool agrees(const StoredTensor &tensor, const std::vector<double> &expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    // Half precision has nothing below 6e-8.
    if (!(std::abs(floatAt(tensor, i) - expected[i]) <=
          tolerance(tensor.dtype) * expected[i] + 1e-7))
      return false;
  return true;
}

} // namespace

std::string withLayer(const std::string &pattern, int64_t layer) {
  size_t star = pattern.find('*');
  if (star == std::string::npos)
    return pattern;
  return pattern.substr(0, star) + std::to_string(layer) +
         pattern.substr(star + 1);
}

bool matchesLayer(const std::string &name, const std::string &pattern) {
  size_t star = pattern.find('*');
  if (star == std::string::npos)
    return name == pattern;
  size_t tail = pattern.size() - star - 1;
  if (name.size() < star + tail + 1 ||
      name.compare(0, star, pattern, 0, star) != 0 ||
      name.compare(name.size() - tail, tail, pattern, star + 1, tail) != 0)
    return false;
  return std::all_of(name.begin() + static_cast<long>(star),
                     name.end() - static_cast<long>(tail),
                     [](char c) { return c >= '0' && c <= '9'; });
}

Result<ModelTensors> ModelTensors::make(const Architecture &family,
                                        const ModelConfig &config,
                                        const ModelFiles &files) {
  ModelTensors result;
  result.family_ = &family;
  result.files_ = &files;
  result.config_ = config;
  result.prefix_ = family.prefixes[0];
  for (const std::string &prefix : family.prefixes) {
    std::string name = family.find(Role::Tokens)->stem + ".weight";
    if (name[0] == '$' && files.tensors.find(prefix + name.substr(1))) {
      result.prefix_ = prefix;
      break;
    }
  }
  TANDEM_TRY(result.findPresent());
  result.listPatterns();
  return result;
}

Result<bool> ModelTensors::holds(const When &when,
                                 const std::string &name) const {
  switch (when.rule) {
  case When::Never:
    return false;
  case When::Always:
    return true;
  case When::IfStored:
    return files_->tensors.find(withLayer(name, 0)) != nullptr;
  case When::IfSet:
  case When::IfNotSet:
    break;
  }
  TANDEM_ASSIGN(bool set, files_->config.booleanOr(when.key, when.otherwise));
  return set == (when.rule == When::IfSet);
}

Status ModelTensors::findPresent() {
  for (const TensorRow &row : family_->tensors) {
    TANDEM_ASSIGN(bool there, holds(row.there, stem(row.role) + ".weight"));
    bool projects = row.role == Role::ProjectIn || row.role == Role::ProjectOut;
    if (!there || (projects && config_.embedding == config_.hidden))
      continue;
    present_.insert(row.role);
    TANDEM_ASSIGN(bool biased, holds(row.bias, stem(row.role) + ".bias"));
    if (isNorm(row.role))
      biased = family_->normBias && row.role != Role::QueryNorm &&
               row.role != Role::KeyNorm;
    if (biased)
      biased_.insert(row.role);
  }
  return Status();
}

std::string ModelTensors::prefixed(const std::string &name) const {
  return name[0] == '$' ? prefix_ + name.substr(1) : name;
}

std::string ModelTensors::stem(Role role) const {
  return prefixed(family_->find(role)->stem);
}

std::vector<Dim> ModelTensors::dims(Role role) const {
  bool each = family_->headNorm == HeadNorm::Each;
  switch (role) {
  case Role::Tokens:
  case Role::Head:
    return {Dim::Vocab, Dim::Embedding};
  case Role::Positions:
    return {Dim::Positions, Dim::Model};
  case Role::TokenTypes:
    return {Dim::TokenTypes, Dim::Model};
  case Role::ProjectIn:
    return {Dim::Model, Dim::Embedding};
  case Role::ProjectOut:
    return {Dim::Embedding, Dim::Model};
  case Role::Query:
    return {Dim::Heads, Dim::Model};
  case Role::Key:
  case Role::Value:
    return {Dim::KvHeads, Dim::Model};
  case Role::Output:
    return {Dim::Model, Dim::Heads};
  case Role::Gate:
  case Role::Up:
    return {Dim::Ffn, Dim::Model};
  case Role::Down:
    return {Dim::Model, Dim::Ffn};
  case Role::HeadTransform:
    return {Dim::Model, Dim::Model};
  case Role::QueryNorm:
    return {each ? Dim::HeadDim : Dim::Heads};
  case Role::KeyNorm:
    return {each ? Dim::HeadDim : Dim::KvHeads};
  default:
    return {Dim::Model};
  }
}

std::vector<Role> ModelTensors::sharing(Role role) const {
  std::vector<Role> roles;
  for (const TensorRow &row : family_->tensors)
    if (row.stem == family_->find(role)->stem && has(row.role))
      roles.push_back(row.role);
  return roles;
}

/// Whether the role's tensor is shared by group.
bool ModelTensors::isGrouped(Role role) const {
  bool attends =
      role == Role::Query || role == Role::Key || role == Role::Value;
  return attends && family_->fusion == Fusion::PerGroup;
}

/// How much of a shared tensor is the role's: outputs, or heads of a group.
int64_t ModelTensors::partSize(Role role) const {
  if (!isGrouped(role))
    return config_.sizeOf(dims(role)[0]);
  return role == Role::Query ? config_.group() : 1;
}

Place ModelTensors::place(Role role, int64_t layer, bool bias) const {
  Place place;
  const std::string &own = family_->find(role)->biasStem;
  std::string stem = bias && !own.empty() ? prefixed(own) : this->stem(role);
  place.name = withLayer(stem, layer) + (bias ? ".bias" : ".weight");
  std::vector<Dim> over = dims(role);
  std::vector<Role> roles = sharing(role);
  int64_t out = 0, part = 0;
  for (Role other : roles) {
    if (other == role)
      place.begin = part;
    out += config_.sizeOf(dims(other)[0]);
    part += partSize(other);
  }
  place.inGroup = roles.size() > 1 && isGrouped(role);
  place.end = roles.size() > 1 ? place.begin + partSize(role) : out;
  place.shape = {out};
  if (bias || over.size() == 1)
    return place;
  place.shape.push_back(config_.sizeOf(over[1]));
  if (hasLayout(role) && family_->layout == Layout::InOut) {
    std::swap(place.shape[0], place.shape[1]);
    place.outDim = 1;
  }
  return place;
}

Place ModelTensors::weight(Role role, int64_t layer) const {
  return place(role, layer, false);
}

Place ModelTensors::bias(Role role, int64_t layer) const {
  return place(role, layer, true);
}

Normal ModelTensors::initialWeight(Role role) const {
  if (isNorm(role))
    return {1 - family_->normOffset, 0};
  return {0, config_.initializerRange};
}

std::string ModelTensors::location(Role role, int64_t layer) const {
  std::string name = family_->find(role)->stem;
  if (name[0] == '$')
    name = name.substr(1);
  else if (name.compare(0, 6, "model.") == 0)
    name = name.substr(6);
  return withLayer(name, layer);
}

void ModelTensors::listPatterns() {
  for (const TensorRow &row : family_->tensors) {
    if (!has(row.role) || sharing(row.role)[0] != row.role)
      continue;
    for (bool bias : {false, true}) {
      if (bias ? !hasBias(row.role) : row.role == Role::Head && config_.tied)
        continue;
      Place at = place(row.role, 0, bias);
      TensorPattern pattern;
      const std::string &own = row.biasStem;
      pattern.name = (bias && !own.empty() ? prefixed(own) : stem(row.role)) +
                     (bias ? ".bias" : ".weight");
      pattern.shape = at.shape;
      pattern.dims = dims(row.role);
      pattern.dims.resize(pattern.shape.size());
      if (at.outDim == 1)
        std::swap(pattern.dims[0], pattern.dims[1]);
      pattern.perLayer = pattern.name.find('*') != std::string::npos;
      patterns_.push_back(std::move(pattern));
    }
  }
}

std::string ModelTensors::fileOf(const StoredTensor &tensor) const {
  return files_->tensors.files()[static_cast<size_t>(tensor.fileIndex)].path;
}

Status ModelTensors::checkStored(const TensorPattern &pattern,
                                 int64_t layer) const {
  std::string name = withLayer(pattern.name, layer);
  std::string meaning;
  for (size_t i = 0; i < pattern.dims.size(); ++i)
    meaning += (i ? ", " : "") + std::string(dimName(pattern.dims[i]));
  const StoredTensor *tensor = files_->tensors.find(name);
  if (!tensor) {
    std::set<std::string> read = readNames();
    std::vector<std::string> names;
    for (const StoredTensor &stored : files_->tensors.tensors())
      if (!read.count(stored.name))
        names.push_back(stored.name);
    return Status::refused(files_->path + ": tensor '" + name +
                           "' is missing; expected shape " +
                           shapeToString(pattern.shape) + " (" + meaning + ")" +
                           didYouMean(name, names));
  }
  if (tensor->shape != pattern.shape)
    return Status::refused(fileOf(*tensor) + ": tensor '" + name +
                           "': got shape " + shapeToString(tensor->shape) +
                           ", expected " + shapeToString(pattern.shape) + " (" +
                           meaning + ") by " + files_->config.file());
  if (!isFloat(tensor->dtype) && !isQuantised(tensor->dtype))
    return Status::refused(fileOf(*tensor) + ": tensor '" + name + "': got " +
                           std::string(tandem::name(tensor->dtype)) +
                           ", expected floats");
  return Status();
}

Status ModelTensors::checkFrequencies(const StoredTensor &tensor) const {
  size_t pairs = config_.frequencies.size();
  std::vector<int64_t> expected = {static_cast<int64_t>(pairs)};
  if (tensor.shape != expected)
    return Status::refused(fileOf(tensor) + ": tensor '" + tensor.name +
                           "': got shape " + shapeToString(tensor.shape) +
                           ", expected " + shapeToString(expected));
  if (agrees(tensor, config_.frequencies) ||
      agrees(tensor, config_.plainFrequencies))
    return Status();
  size_t i = 0;
  while (i + 1 < pairs &&
         std::abs(floatAt(tensor, i) - config_.frequencies[i]) <=
             tolerance(tensor.dtype) * config_.frequencies[i])
    ++i;
  return Status::refused(fileOf(tensor) + ": tensor '" + tensor.name +
                         "': element " + std::to_string(i) + ": got " +
                         std::to_string(floatAt(tensor, i)) + ", expected " +
                         std::to_string(config_.frequencies[i]) +
                         " by the rotary settings of " + files_->config.file());
}

Status ModelTensors::checkBuffer(const StoredTensor &tensor,
                                 const Buffer &buffer) const {
  bool positions = buffer.kind == Buffer::PositionIds;
  if (buffer.kind == Buffer::RotaryFrequencies)
    return checkFrequencies(tensor);
  if (buffer.kind != Buffer::CausalMask && !positions)
    return Status(); // Factors were checked where they were applied.
  if (positions
          ? tensor.elements() == static_cast<uint64_t>(config_.positionRows)
          : tensor.elements() == 1)
    return Status();
  int64_t size = config_.maxPosition;
  std::vector<int64_t> expected = {1, 1, size, size};
  if (positions)
    expected = {1, config_.positionRows};
  if (tensor.shape == expected)
    return Status();
  return Status::refused(fileOf(tensor) + ": tensor '" + tensor.name +
                         "': got shape " + shapeToString(tensor.shape) +
                         ", expected " + shapeToString(expected) +
                         (positions ? " (positions)" : " (a causal mask)"));
}

bool ModelTensors::isCopy(const StoredTensor &tensor,
                          const std::string &of) const {
  const StoredTensor *other = files_->tensors.find(of);
  return other && other->bytes == tensor.bytes &&
         std::memcmp(other->data, tensor.data, tensor.bytes) == 0;
}

/// A tied head that is stored too, and buffers.
Status ModelTensors::checkKnown(const StoredTensor &tensor, bool &known,
                                std::vector<std::string> &warnings) const {
  known = true;
  if (has(Role::Head) && tensor.name == stem(Role::Head) + ".weight") {
    if (!isCopy(tensor, stem(Role::Tokens) + ".weight"))
      warnings.push_back(fileOf(tensor) + ": tensor '" + tensor.name +
                         "' differs from the embedding table, which the tied "
                         "head uses in its place");
    return Status();
  }
  for (const Buffer &buffer : family_->buffers) {
    if (!matchesLayer(tensor.name, prefixed(buffer.name)))
      continue;
    if (buffer.kind == Buffer::Copy && !isCopy(tensor, prefixed(buffer.of)))
      warnings.push_back(fileOf(tensor) + ": tensor '" + tensor.name +
                         "' differs from '" + prefixed(buffer.of) +
                         "', which is used in its place");
    return checkBuffer(tensor, buffer);
  }
  known = false;
  return Status();
}

std::set<std::string> ModelTensors::readNames() const {
  std::set<std::string> names;
  for (const TensorPattern &pattern : patterns_)
    for (int64_t i = 0, n = pattern.perLayer ? config_.layers : 1; i < n; ++i)
      names.insert(withLayer(pattern.name, i));
  return names;
}

Status ModelTensors::check(bool strict,
                           std::vector<std::string> &warnings) const {
  for (const TensorPattern &pattern : patterns_)
    for (int64_t i = 0, n = pattern.perLayer ? config_.layers : 1; i < n; ++i)
      TANDEM_TRY(checkStored(pattern, i));
  std::set<std::string> read = readNames();
  for (const StoredTensor &tensor : files_->tensors.tensors()) {
    if (read.count(tensor.name))
      continue;
    bool known = false;
    TANDEM_TRY(checkKnown(tensor, known, warnings));
    if (known)
      continue;
    std::string message = fileOf(tensor) + ": tensor '" + tensor.name +
                          "' of shape " + shapeToString(tensor.shape) +
                          " is not used by the model";
    if (strict)
      return Status::refused(message);
    warnings.push_back(message);
  }
  return Status();
}

} // namespace tandem
