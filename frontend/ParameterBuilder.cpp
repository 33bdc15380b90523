#include "frontend/ParameterBuilder.h"

#include <numeric>

using namespace mlir;

namespace tandem {
namespace {

Type elementType(MLIRContext *context, DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  default:
    return Float32Type::get(context);
  }
}

bool hasHeads(Dim dim) { return dim == Dim::Heads || dim == Dim::KvHeads; }

} // namespace

ViewStepAttr viewStep(MLIRContext *context, llvm::StringRef name,
                      llvm::ArrayRef<int64_t> arguments) {
  return ViewStepAttr::get(context, name, arguments);
}

llvm::SmallVector<int64_t> trailing(size_t rank, size_t count) {
  llvm::SmallVector<int64_t> dims(count);
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(rank - count));
  return dims;
}

ParameterBuilder::ParameterBuilder(FunctionBuilder &f,
                                   const ModelConfig &config,
                                   const ModelTensors &tensors,
                                   const ModelFiles &files, DType dtype)
    : f_(f), config_(config), tensors_(tensors), files_(files), dtype_(dtype),
      element_(elementType(f.builder().getContext(), dtype)) {}

/// Makes stored dimension `at`, which runs over heads, one of heads and lanes;
/// returns how many dimensions it becomes.
int64_t
ParameterBuilder::splitHeads(Dim dim, int64_t at, const Place &place,
                             llvm::SmallVectorImpl<ViewStepAttr> &steps) {
  MLIRContext *context = f_.builder().getContext();
  int64_t kv = config_.kvHeads, group = config_.group(),
          lanes = config_.headDim;
  if (place.inGroup) {
    steps.push_back(viewStep(context, "split", {at, kv, group + 2, lanes}));
    steps.push_back(
        viewStep(context, "slice", {at + 1, place.begin, place.end}));
    return 3;
  }
  bool keys = dim == Dim::KvHeads;
  steps.push_back(
      viewStep(context, keys ? "kv_heads" : "heads", {at, kv, group, lanes}));
  return keys ? 2 : 3;
}

ViewAttr ParameterBuilder::view(Role role, const Place &place) {
  MLIRContext *context = f_.builder().getContext();
  llvm::SmallVector<ViewStepAttr> steps;
  if (!place.isWhole() && !place.inGroup)
    steps.push_back(
        viewStep(context, "slice", {place.outDim, place.begin, place.end}));
  std::vector<Dim> dims = tensors_.dims(role); // outputs, inputs
  dims.resize(place.shape.size());
  if (place.outDim == 1)
    std::swap(dims[0], dims[1]);
  int64_t rank = 0, last = 1;
  // From behind, so that dimensions in front keep their numbers.
  for (size_t i = dims.size(); i-- > 0; rank += last)
    last = hasHeads(dims[i])
               ? splitHeads(dims[i], static_cast<int64_t>(i), place, steps)
               : 1;
  if (place.outDim == 1) {
    // [inputs, outputs] is read as [outputs, inputs]; `last` are inputs.
    size_t all = static_cast<size_t>(rank);
    llvm::SmallVector<int64_t> order =
        trailing(all, all - static_cast<size_t>(last));
    for (int64_t i = 0; i < last; ++i)
      order.push_back(i);
    steps.push_back(viewStep(context, "transpose", order));
  }
  const StoredTensor *stored = files_.tensors.find(place.name);
  StringAttr storedType;
  if (stored && stored->dtype != (mastersKept_ ? DType::F32 : dtype_))
    storedType = f_.builder().getStringAttr(std::string(name(stored->dtype)));
  llvm::SmallVector<int64_t> shape;
  if (!steps.empty())
    shape.assign(place.shape.begin(), place.shape.end());
  return ViewAttr::get(context, place.name, shape, storedType, steps);
}

Value ParameterBuilder::parameter(Role role, const Place &place,
                                  Normal initial) {
  Type held = mastersKept_ ? f_.f32() : element_;
  auto begins =
      f_.builder().getDenseF64ArrayAttr({initial.mean, initial.deviation});
  return f_.cast(f_.parameter(view(role, place), place.shape, held, begins),
                 element_);
}

Value ParameterBuilder::weight(Role role, int64_t layer) {
  return parameter(role, tensors_.weight(role, layer),
                   tensors_.initialWeight(role));
}

Value ParameterBuilder::plainBias(Role role, int64_t layer) {
  if (!tensors_.hasBias(role))
    return Value();
  return parameter(role, tensors_.bias(role, layer), Normal());
}

Value ParameterBuilder::bias(Role role, int64_t layer, Value like) {
  Value value = plainBias(role, layer);
  // A key's or value's part of a group is [kv, 1, head_dim].
  if (tensors_.bias(role, layer).inGroup && role != Role::Query)
    value = f_.reshape(value, {config_.kvHeads, config_.headDim});
  return f_.broadcast(value, like,
                      trailing(sizesOf(like).size(), sizesOf(value).size()));
}

} // namespace tandem
