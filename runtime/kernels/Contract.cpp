#include "runtime/kernels/Contract.h"

namespace tandem {
namespace {

constexpr size_t kMaxDims = 16;

std::string toText(ArgRef arg) {
  return (arg.output ? "output " : "input ") + std::to_string(arg.index);
}

std::string countText(size_t least, size_t most) {
  if (least == most)
    return std::to_string(least);
  if (most == SIZE_MAX)
    return "at least " + std::to_string(least);
  return std::to_string(least) + " to " + std::to_string(most);
}

bool isPlain(DType type) { return static_cast<int>(type) < 32; }

} // namespace

Contract::Contract(const Kernel &kernel, const KernelCall &call)
    : kernel(kernel), call(call) {
  for (bool output : {false, true}) {
    const auto &args = output ? call.outputs : call.inputs;
    for (size_t i = 0; i < args.size(); ++i) {
      plain({output, i});
      require(args[i].dims.size() <= kMaxDims,
              toText({output, i}) + " has more than 16 dimensions");
      for (const TensorDim &dim : args[i].dims)
        require(0 <= dim.valid && dim.valid <= dim.capacity,
                toText({output, i}) + " has valid extent " +
                    std::to_string(dim.valid) + " of capacity " +
                    std::to_string(dim.capacity));
    }
  }
}

Contract &Contract::fail(const std::string &message) {
  if (status_.ok())
    status_ = Status::refused(std::string(kernel.name()) + ": " + message);
  return *this;
}

Contract &Contract::require(bool condition, const std::string &message) {
  return condition ? *this : fail(message);
}

const TensorArg *Contract::find(ArgRef arg) {
  const auto &args = arg.output ? call.outputs : call.inputs;
  if (arg.index < args.size())
    return &args[arg.index];
  fail(toText(arg) + " is missing");
  return nullptr;
}

const TensorDim *Contract::dim(ArgRef arg, int index) {
  const TensorArg *found = find(arg);
  if (!found)
    return nullptr;
  int count = static_cast<int>(found->dims.size());
  int position = index < 0 ? index + count : index;
  if (position >= 0 && position < count)
    return &found->dims[position];
  fail(toText(arg) + " has " + std::to_string(count) +
       " dimensions, too few for dimension " + std::to_string(index));
  return nullptr;
}

Contract &Contract::inputs(size_t least, size_t most) {
  size_t count = call.inputs.size();
  return require(least <= count && count <= most,
                 "got " + std::to_string(count) + " inputs, expected " +
                     countText(least, most));
}

Contract &Contract::outputs(size_t least, size_t most) {
  size_t count = call.outputs.size();
  return require(least <= count && count <= most,
                 "got " + std::to_string(count) + " outputs, expected " +
                     countText(least, most));
}

Contract &Contract::rank(ArgRef arg, size_t count) {
  const TensorArg *found = find(arg);
  return require(!found || found->dims.size() == count,
                 toText(arg) + " has " +
                     std::to_string(found ? found->dims.size() : 0) +
                     " dimensions, expected " + std::to_string(count));
}

Contract &Contract::minRank(ArgRef arg, size_t least) {
  const TensorArg *found = find(arg);
  return require(!found || found->dims.size() >= least,
                 toText(arg) + " has " +
                     std::to_string(found ? found->dims.size() : 0) +
                     " dimensions, expected at least " + std::to_string(least));
}

Contract &Contract::type(ArgRef arg, std::initializer_list<DType> allowed) {
  const TensorArg *found = find(arg);
  if (!found ||
      std::find(allowed.begin(), allowed.end(), found->dtype) != allowed.end())
    return *this;
  std::string expected;
  for (DType type : allowed)
    expected +=
        (expected.empty() ? "" : ", ") + std::string(tandem::name(type));
  return fail(toText(arg) + " has type " +
              std::string(tandem::name(found->dtype)) + ", expected " +
              expected);
}

Contract &Contract::floating(ArgRef arg) {
  return type(arg, {DType::F64, DType::F32, DType::F16, DType::BF16});
}

Contract &Contract::plain(ArgRef arg) {
  const TensorArg *found = find(arg);
  return require(!found || isPlain(found->dtype),
                 toText(arg) + " has a quantised type, expected a plain one");
}

Contract &Contract::sameType(ArgRef a, ArgRef b) {
  const TensorArg *first = find(a), *second = find(b);
  if (!first || !second || first->dtype == second->dtype)
    return *this;
  return fail(toText(a) + " has type " +
              std::string(tandem::name(first->dtype)) + " but " + toText(b) +
              " has " + std::string(tandem::name(second->dtype)));
}

Contract &Contract::sameDim(ArgRef a, int da, ArgRef b, int db) {
  const TensorDim *first = dim(a, da), *second = dim(b, db);
  if (!first || !second || first->capacity == second->capacity)
    return *this;
  return fail("dimension " + std::to_string(da) + " of " + toText(a) + " is " +
              std::to_string(first->capacity) + " but dimension " +
              std::to_string(db) + " of " + toText(b) + " is " +
              std::to_string(second->capacity));
}

Contract &Contract::sameShape(ArgRef a, ArgRef b) {
  const TensorArg *first = find(a);
  if (!first)
    return *this;
  rank(b, first->dims.size());
  for (size_t d = 0; ok() && d < first->dims.size(); ++d)
    sameDim(a, static_cast<int>(d), b, static_cast<int>(d));
  return *this;
}

Contract &Contract::numbers(size_t least, size_t most) {
  size_t count = call.numbers.size();
  return require(least <= count && count <= most,
                 "got " + std::to_string(count) + " numbers, expected " +
                     countText(least, most));
}

} // namespace tandem
