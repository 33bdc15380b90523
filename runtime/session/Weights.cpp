#include "runtime/session/Weights.h"

#include "runtime/base/Guarded.h"
#include "runtime/comm/control/CrashHandler.h"
#include "runtime/files/Gguf.h"
#include "runtime/files/Safetensors.h"
#include "runtime/session/DrawnTensor.h"

#include <algorithm>
#include <filesystem>

namespace tandem {
namespace {

std::string fileName(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool isGguf(const std::string &path) {
  const std::string suffix = ".gguf";
  return path.size() >= suffix.size() &&
         path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
}

bool isDirectory(const std::string &path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

/// Where a source is looked for.
std::string placeOf(const fb::Source &source, const std::string &elsewhere) {
  if (elsewhere.empty())
    return source.path()->str();
  if (isDirectory(elsewhere))
    return elsewhere + "/" + fileName(source.path()->str());
  return elsewhere;
}

Result<TensorStore> openFile(const std::string &path) {
  if (!isGguf(path))
    return readSafetensors(path);
  TANDEM_ASSIGN(GgufModel model, readGguf(path));
  return std::move(model.tensors);
}

const StoredFile *findFile(const std::vector<TensorStore> &stores,
                           const std::string &name) {
  for (const TensorStore &store : stores)
    for (const StoredFile &file : store.files())
      if (fileName(file.name) == name)
        return &file;
  return nullptr;
}

Status checkFingerprint(const fb::Source &source, const StoredFile &file) {
  Fingerprint expected{source.size(), source.hash()};
  if (file.fingerprint == expected)
    return Status();
  return Status::refused("'" + file.path +
                         "' holds other weights than the plan was compiled "
                         "for: its fingerprint is " +
                         file.fingerprint.toString() + ", expected " +
                         expected.toString() +
                         "; compile the plan again or pass --weights");
}

/// Opens what `sources` name; the first part of a split GGUF model brings
/// its other parts.
Result<std::vector<TensorStore>> openSources(const Plan &plan,
                                             const std::string &elsewhere) {
  std::vector<TensorStore> stores;
  const auto &sources = *plan.table().sources();
  if (!elsewhere.empty() && !isDirectory(elsewhere) && sources.size() > 1 &&
      !isGguf(elsewhere))
    return Status::refused("'" + elsewhere +
                           "' is one file, the plan's "
                           "weights are " +
                           std::to_string(sources.size()) +
                           "; name their directory");
  for (const fb::Source *source : sources) {
    std::string path = placeOf(*source, elsewhere);
    if (findFile(stores, fileName(path)))
      continue;
    Result<TensorStore> store = openFile(path);
    if (!store.ok())
      return store.status().withContext(
          elsewhere.empty() ? "the plan's weights (--weights DIR names "
                              "another place)"
                            : "--weights");
    stores.push_back(std::move(*store));
  }
  return stores;
}

Status checkStored(const fb::Parameter &parameter, const StoredTensor *tensor) {
  std::string label = "parameter '" + parameter.name()->str() + "': ";
  if (!tensor)
    return Status::refused(label + "the weights hold no tensor '" +
                           parameter.key()->str() + "'");
  std::vector<int64_t> shape(parameter.stored_shape()->begin(),
                             parameter.stored_shape()->end());
  DType dtype = static_cast<DType>(parameter.stored_dtype());
  if (tensor->shape == shape && tensor->dtype == dtype)
    return Status();
  return Status::refused(label + "'" + tensor->name + "' is " +
                         std::string(name(tensor->dtype)) +
                         shapeToString(tensor->shape) + ", the plan expects " +
                         std::string(name(dtype)) + shapeToString(shape));
}

const StoredTensor *findTensor(const std::vector<TensorStore> &stores,
                               const std::string &key) {
  for (const TensorStore &store : stores)
    if (const StoredTensor *tensor = store.find(key))
      return tensor;
  return nullptr;
}

/// A part of one parameter's slice on one rank.
struct SliceRead {
  const fb::Parameter *parameter;
  StridedView view;
  DType dtype;
  std::byte *target;
  std::vector<int64_t> targetStrides;

  int64_t bytes() const {
    int64_t count = 1;
    for (int64_t size : view.sizes)
      count *= size;
    return storageBytes(dtype, count);
  }
};

SliceRead sliceOf(const fb::Parameter &parameter, const TensorArg &target) {
  SliceRead read{&parameter, {}, target.dtype, target.data, {}};
  size_t rank = target.dims.size();
  read.view.offset = parameter.view_offset();
  read.targetStrides.resize(rank);
  int64_t step = 1;
  for (size_t i = rank; i-- > 0;) {
    read.targetStrides[i] = step;
    step *= target.dims[i].capacity;
  }
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t stride = parameter.view_strides()->Get(i);
    read.view.offset += static_cast<uint64_t>(target.dims[i].begin * stride);
    read.view.sizes.push_back(target.dims[i].valid);
    read.view.strides.push_back(stride);
  }
  return read;
}

/// Cuts a slice along its first dimension, so that threads share the work of
/// large tensors.
void addParts(const SliceRead &whole, std::vector<SliceRead> &parts) {
  constexpr int64_t partBytes = 4 << 20;
  int64_t rows = whole.view.sizes.empty() ? 1 : whole.view.sizes[0];
  int64_t each = std::max<int64_t>(1, rows * partBytes /
                                          std::max<int64_t>(1, whole.bytes()));
  for (int64_t row = 0; row < rows; row += each) {
    SliceRead part = whole;
    if (row + each < rows || row > 0) {
      part.view.sizes[0] = std::min(each, rows - row);
      part.view.offset += static_cast<uint64_t>(row * whole.view.strides[0]);
      part.target += row * whole.targetStrides[0] * blockBytes(whole.dtype);
    }
    parts.push_back(std::move(part));
  }
}

} // namespace

Status Weights::read(const fb::Parameter &parameter, const StridedView &view,
                     DType to, std::byte *out,
                     const std::vector<int64_t> &outStrides) const {
  std::string key = parameter.key()->str();
  if (seed)
    return DrawnTensor(*seed, key, parameter.initial_mean(),
                       parameter.initial_deviation())
        .draw(view, to, out, outStrides);
  return readView(*findTensor(stores, key), view, to, out, outStrides);
}

Weights drawnWeights(uint64_t seed) {
  Weights weights;
  weights.seed = seed;
  return weights;
}

Result<Weights> openWeights(const Plan &plan, const std::string &elsewhere) {
  Weights weights;
  TANDEM_ASSIGN(weights.stores, openSources(plan, elsewhere));
  for (const fb::Source *source : *plan.table().sources()) {
    std::string name = fileName(placeOf(*source, elsewhere));
    const StoredFile *file = findFile(weights.stores, name);
    if (!file)
      return Status::refused("'" + name +
                             "' is not among the files of the "
                             "weights, the plan needs it");
    TANDEM_TRY(checkFingerprint(*source, *file));
  }
  for (const fb::Parameter *parameter : *plan.table().parameters())
    TANDEM_TRY(checkStored(
        *parameter, findTensor(weights.stores, parameter->key()->str())));
  return weights;
}

Status loadWeights(const Plan &plan, const Weights &weights, Executor &executor,
                   FaultPoint &fault, ThreadPool &threads,
                   LoadProgress &progress) {
  std::vector<SliceRead> reads;
  const auto &parameters = *plan.table().parameters();
  for (uint32_t i = 0; i < parameters.size(); ++i)
    if (std::optional<TensorArg> target = executor.parameter(i))
      addParts(sliceOf(*parameters.Get(i), *target), reads);
  for (const SliceRead &read : reads)
    progress.total += read.bytes();
  std::vector<Status> results(reads.size());
  threads.run(static_cast<int64_t>(reads.size()), [&](int64_t i) {
    const SliceRead &read = reads[static_cast<size_t>(i)];
    setCrashActivity(executor.rank(), "load", read.parameter->name()->c_str());
    results[static_cast<size_t>(i)] = guarded([&] {
      TANDEM_TRY(fault.reach(executor.rank(), "load"));
      return weights.read(*read.parameter, read.view, read.dtype, read.target,
                          read.targetStrides);
    });
    progress.done += read.bytes();
  });
  for (size_t i = 0; i < results.size(); ++i)
    if (!results[i].ok())
      return results[i].withContext("parameter '" +
                                    reads[i].parameter->name()->str() + "'");
  return Status();
}

} // namespace tandem
