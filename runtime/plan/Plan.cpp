#include "runtime/plan/Plan.h"
#include "runtime/plan/Structure.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tandem {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHashBytes = 8;
constexpr size_t kPrefix = sizeof(flatbuffers::uoffset_t);

uint64_t hashOf(const uint8_t *data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ data[i]) * 0x100000001b3;
  return hash;
}

uint64_t readWord(const uint8_t *data, size_t bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < bytes; ++i)
    word |= uint64_t(data[i]) << (8 * i);
  return word;
}

/// How long a file is whose FlatBuffer has `size` bytes.
size_t fileSize(size_t size) {
  return (kPrefix + size + kHashBytes + kPage - 1) / kPage * kPage;
}

/// Only the field that says which schema wrote the rest, which another schema
/// may not let us read.
struct SchemaOnly : private flatbuffers::Table {
  bool Verify(flatbuffers::Verifier &verifier) const {
    return VerifyTableStart(verifier) &&
           VerifyField<uint32_t>(verifier, fb::Plan::VT_SCHEMA, 4) &&
           verifier.EndTable();
  }
  uint32_t schema() const { return GetField<uint32_t>(fb::Plan::VT_SCHEMA, 0); }
};

Status checkSize(const std::vector<uint8_t> &bytes, size_t &size) {
  if (bytes.size() < kPrefix + 8 ||
      std::memcmp(bytes.data() + kPrefix + 4, fb::PlanIdentifier(), 4) != 0)
    return Status::refused(
        "not a plan: no identifier 'TNDM'; a plan is written by "
        "'tandem compile'");
  size = readWord(bytes.data(), kPrefix);
  if (fileSize(size) != bytes.size())
    return Status::refused(
        "the plan is cut or has something behind it: it has " +
        std::to_string(bytes.size()) + " bytes, its head says " +
        std::to_string(fileSize(size)) + "; compile the model again");
  return Status();
}

Status checkHash(const std::vector<uint8_t> &bytes, size_t size) {
  uint64_t said = readWord(&bytes[bytes.size() - kHashBytes], kHashBytes);
  if (said == 0 || said == hashOf(bytes.data(), kPrefix + size))
    return Status();
  return Status::refused("the plan is damaged: its bytes do not have the hash "
                         "that its end says; compile the model again");
}

flatbuffers::Verifier::Options limits() {
  flatbuffers::Verifier::Options options;
  options.max_tables = 0x7fffffff;
  return options;
}

Status checkSchema(const std::vector<uint8_t> &bytes, size_t size) {
  flatbuffers::Verifier verifier(bytes.data(), kPrefix + size, limits());
  if (!verifier.VerifySizePrefixedBuffer<SchemaOnly>(fb::PlanIdentifier()))
    return Status::refused("the plan is damaged: its root is no table");
  uint32_t schema =
      flatbuffers::GetSizePrefixedRoot<SchemaOnly>(bytes.data())->schema();
  if (schema == kSchemaVersion)
    return Status();
  return Status::refused("the plan has schema version " +
                         std::to_string(schema) + ", this runtime reads " +
                         std::to_string(kSchemaVersion) +
                         "; compile the model again");
}

Status failure(const std::string &what, const std::string &path) {
  return Status::refused("cannot " + what + " '" + path +
                         "': " + std::strerror(errno));
}

Result<std::vector<uint8_t>> readFile(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return failure("open", path);
  std::vector<uint8_t> bytes;
  struct stat info;
  bool good = fstat(file, &info) == 0;
  if (good && !S_ISREG(info.st_mode)) {
    close(file);
    return Status::refused(
        "cannot read '" + path + "': it is " +
        (S_ISDIR(info.st_mode) ? "a folder" : "no regular file") +
        "; expected a plan, which 'tandem compile' writes");
  }
  if (good && info.st_size > INT32_MAX) {
    close(file);
    return Status::refused("'" + path + "' is no plan: it is above 2 GiB");
  }
  size_t done = 0;
  if (good)
    bytes.resize(static_cast<size_t>(info.st_size));
  while (good && done < bytes.size()) {
    ssize_t got = read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got == 0)
      bytes.resize(done);
    good = got >= 0;
    done += good ? static_cast<size_t>(got) : 0;
  }
  Status status = good ? Status() : failure("read", path);
  close(file);
  if (!status.ok())
    return status;
  return bytes;
}

/// Writes all bytes to a new file and makes them durable.
Status writeFile(const std::vector<uint8_t> &bytes, const std::string &path) {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0)
    return failure("write", path);
  size_t done = 0;
  bool good = true;
  while (good && done < bytes.size()) {
    ssize_t put = write(file, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR)
      continue;
    good = put >= 0;
    done += good ? static_cast<size_t>(put) : 0;
  }
  good = good && fsync(file) == 0;
  Status status = good ? Status() : failure("write", path);
  if (close(file) != 0 && status.ok())
    status = failure("write", path);
  return status;
}

FactorMapping toMapping(const fb::Mapping &native, bool &inBounds) {
  FactorMapping mapping;
  mapping.linear = native.linear();
  const auto &flat = *native.dims();
  for (uint32_t at = 0; at < flat.size();) {
    uint32_t count = flat[at++];
    if (count > flat.size() - at) {
      inBounds = false;
      return mapping;
    }
    std::vector<int32_t> dim;
    for (uint32_t i = 0; i < count; ++i)
      dim.push_back(static_cast<int32_t>(flat[at++]));
    mapping.dims.push_back(std::move(dim));
  }
  return mapping;
}

bool factorsExist(const std::vector<FactorMapping> &tensors, size_t factors) {
  for (const FactorMapping &tensor : tensors)
    for (const std::vector<int32_t> &dim : tensor.dims)
      for (int32_t factor : dim)
        if (factor < 0 || static_cast<size_t>(factor) >= factors)
          return false;
  return true;
}

Status bad(const char *what, size_t index, const std::string &why) {
  return Status::refused(std::string(what) + " " + std::to_string(index) +
                         " of the plan: " + why);
}

} // namespace

Result<Plan> Plan::loadBytes(std::vector<uint8_t> bytes) {
  size_t size = 0;
  TANDEM_TRY(checkSize(bytes, size));
  TANDEM_TRY(checkHash(bytes, size));
  TANDEM_TRY(checkSchema(bytes, size));
  flatbuffers::Verifier verifier(bytes.data(), kPrefix + size, limits());
  if (!fb::VerifySizePrefixedPlanBuffer(verifier))
    return Status::refused("the plan is damaged: its tables do not lie within "
                           "its bytes; compile the model again");
  Plan plan;
  plan.bytes_ = std::move(bytes);
  plan.root = fb::GetSizePrefixedPlan(plan.bytes_.data());
  TANDEM_TRY(plan.decode());
  TANDEM_TRY(checkStructure(plan));
  return plan;
}

Result<Plan> Plan::load(const std::string &path) {
  TANDEM_ASSIGN(std::vector<uint8_t> bytes, readFile(path));
  Result<Plan> plan = loadBytes(std::move(bytes));
  if (!plan.ok())
    return plan.status().withContext("'" + path + "'");
  return plan;
}

Result<Plan> Plan::fromNative(const fb::PlanT &plan) {
  return loadBytes(serialize(plan));
}

std::vector<uint8_t> Plan::serialize(const fb::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  fb::FinishSizePrefixedPlanBuffer(builder, fb::Plan::Pack(builder, &plan));
  std::vector<uint8_t> bytes(fileSize(builder.GetSize() - kPrefix));
  std::memcpy(bytes.data(), builder.GetBufferPointer(), builder.GetSize());
  uint64_t hash = hashOf(bytes.data(), builder.GetSize());
  for (size_t i = 0; i < kHashBytes; ++i)
    bytes[bytes.size() - kHashBytes + i] = static_cast<uint8_t>(hash >> 8 * i);
  return bytes;
}

Status Plan::save(const fb::PlanT &plan, const std::string &path) {
  std::string temporary = path + ".tmp" + std::to_string(getpid());
  struct stat there;
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    return Status::refused(
        "cannot write '" + path + "': it is " +
        (S_ISDIR(there.st_mode) ? "a folder" : "no regular file"));
  Status status = writeFile(serialize(plan), temporary);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0)
    status = failure("write", path);
  if (!status.ok())
    unlink(temporary.c_str());
  return status;
}

uint32_t Plan::stageOf(int64_t rank) const {
  if (!mesh_.has(kStageAxis))
    return 0;
  return static_cast<uint32_t>(mesh_.coordinate(rank, mesh_.whole(kStageAxis)));
}

int64_t Plan::rankOfStage(uint32_t stage) const {
  if (!mesh_.has(kStageAxis))
    return 0;
  return mesh_.withCoordinate(0, {mesh_.whole(kStageAxis)}, stage);
}

std::optional<std::string> Plan::fact(std::string_view name) const {
  for (const flatbuffers::String *fact : *root->facts()) {
    std::string_view text = fact->string_view();
    if (text.size() > name.size() && text[name.size()] == '=' &&
        text.substr(0, name.size()) == name)
      return std::string(text.substr(name.size() + 1));
  }
  return std::nullopt;
}

std::optional<int64_t> Plan::numberFact(std::string_view name) const {
  std::optional<std::string> text = fact(name);
  int64_t number = 0;
  if (!text)
    return std::nullopt;
  const char *last = text->data() + text->size();
  auto [end, error] = std::from_chars(text->data(), last, number);
  if (error != std::errc() || end != last)
    return std::nullopt;
  return number;
}

const fb::Entry *Plan::entry(std::string_view name) const {
  for (const fb::Entry *entry : *root->entries())
    if (entry->name()->string_view() == name)
      return entry;
  return nullptr;
}

Status Plan::decode() {
  TANDEM_TRY(decodeMesh());
  TANDEM_TRY(decodeAxisLists());
  TANDEM_TRY(decodeTypes());
  return decodeRules();
}

Status Plan::decodeMesh() {
  std::string text;
  for (const fb::Axis *axis : *root->mesh())
    text += (text.empty() ? "" : ",") + axis->name()->str() + "=" +
            std::to_string(axis->size());
  // Mesh::parse refuses what a mesh may not be.
  Result<Mesh> mesh = Mesh::parse(text);
  if (!mesh.ok())
    return Status::refused("the plan's " + mesh.status().message());
  if (mesh->axes().size() != root->mesh()->size())
    return Status::refused("the plan's mesh '" + text + "' has " +
                           std::to_string(mesh->axes().size()) +
                           " axes, the plan lists " +
                           std::to_string(root->mesh()->size()));
  mesh_ = std::move(*mesh);
  return Status();
}

Status Plan::decodeAxisLists() {
  for (const fb::AxisList *native : *root->axis_lists()) {
    AxisList list;
    for (const fb::AxisRef *axis : *native->axes()) {
      if (axis->axis() >= mesh_.axes().size())
        return bad("axis list", axisLists.size(),
                   "axis " + std::to_string(axis->axis()) +
                       " is out of range; the mesh has " +
                       std::to_string(mesh_.axes().size()));
      AxisRef ref{mesh_.axes()[axis->axis()].name, axis->pre_size(),
                  axis->size()};
      if (!mesh_.contains(ref))
        return bad("axis list", axisLists.size(),
                   tandem::toString(ref, mesh_) + " is no part of the mesh " +
                       mesh_.toString());
      if (overlaps(list, ref))
        return bad("axis list", axisLists.size(),
                   tandem::toString(ref, mesh_) + " is used twice");
      list.push_back(std::move(ref));
    }
    axisLists.push_back(std::move(list));
  }
  if (axisLists.empty() || !axisLists[0].empty())
    return Status::refused("axis list 0 of the plan: expected the empty list");
  return Status();
}

Status Plan::decodeTypes() {
  for (const fb::Type *native : *root->types()) {
    TensorType type;
    type.dtype = static_cast<DType>(native->dtype());
    if (!isElementType(native->dtype()))
      return bad("type", types.size(),
                 "unknown element type " + std::to_string(native->dtype()));
    if (native->reduction() > fb::ReductionKind::MAX)
      return bad("type", types.size(), "unknown reduction kind");
    type.reduction = static_cast<ReductionKind>(native->reduction());
    type.shape.assign(native->shape()->begin(), native->shape()->end());
    for (uint32_t list : *native->dim_axes()) {
      if (list >= axisLists.size())
        return bad("type", types.size(),
                   "axis list " + std::to_string(list) + " is out of range");
      type.sharding.dims.push_back({axisLists[list], false, 0});
    }
    if (native->unreduced() >= axisLists.size())
      return bad("type", types.size(),
                 "axis list " + std::to_string(native->unreduced()) +
                     " is out of range");
    type.sharding.unreduced = axisLists[native->unreduced()];
    Status status = check(type, mesh_);
    if (!status.ok())
      return bad("type", types.size(), status.message());
    types.push_back(std::move(type));
  }
  return Status();
}

Status Plan::decodeRules() {
  for (const fb::Rule *native : *root->rules()) {
    ShardingRule rule;
    rule.additive = native->additive();
    for (const fb::Factor *factor : *native->factors()) {
      if (factor->kind() > fb::FactorKind::MAX ||
          factor->reduction() > fb::ReductionKind::MAX || factor->size() < 0)
        return bad("rule", rules.size(), "a factor of unknown kind");
      rule.factors.push_back({factor->size(),
                              static_cast<FactorKind>(factor->kind()),
                              static_cast<ReductionKind>(factor->reduction())});
    }
    bool inBounds = true;
    for (const fb::Mapping *operand : *native->operands())
      rule.operands.push_back(toMapping(*operand, inBounds));
    for (const fb::Mapping *result : *native->results())
      rule.results.push_back(toMapping(*result, inBounds));
    if (!inBounds || !factorsExist(rule.operands, rule.factors.size()) ||
        !factorsExist(rule.results, rule.factors.size()))
      return bad("rule", rules.size(), "a factor is out of range");
    rules.push_back(std::move(rule));
  }
  return Status();
}

} // namespace tandem
