#include "runtime/kernels/Contract.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/Optimizer.h"
#include "runtime/kernels/Tiles.h"
#include "runtime/kernels/TrainingRows.h"

namespace tandem {
namespace {

/// Tensors that one optimizer walks at most: p, m, v, g, p', m', v'.
constexpr size_t kMaxTensors = 7;
using TensorNest = LoopNest<kMaxTensors>;

double scalar(const KernelCall &call, size_t input) {
  const TensorArg &arg = call.inputs[input];
  return loadOne<double>(arg.data, arg.dtype, 0);
}

template <typename C> struct AdamStep {
  using Terms = AdamTerms<C>;
  static constexpr const char *kName = "adamw";
  static constexpr size_t kTensors = 4, kResults = 3, kScalars = 7;

  static Terms terms(const KernelCall &call) {
    double rate = scalar(call, 5), beta1 = scalar(call, 6);
    double beta2 = scalar(call, 7), step = scalar(call, 10);
    double decay = call.numbers[0] ? rate * scalar(call, 9) : 0;
    Terms terms;
    terms.scale = static_cast<C>(scalar(call, 4));
    terms.keep = static_cast<C>(1 - decay);
    terms.beta1 = static_cast<C>(beta1);
    terms.rest1 = static_cast<C>(1 - beta1);
    terms.beta2 = static_cast<C>(beta2);
    terms.rest2 = static_cast<C>(1 - beta2);
    terms.rate = static_cast<C>(rate / (1 - std::pow(beta1, step)));
    terms.root = static_cast<C>(1 / std::sqrt(1 - std::pow(beta2, step)));
    terms.epsilon = static_cast<C>(scalar(call, 8));
    return terms;
  }
};

template <typename C> struct SgdStep {
  using Terms = SgdTerms<C>;
  static constexpr const char *kName = "sgd";
  static constexpr size_t kTensors = 3, kResults = 2, kScalars = 4;

  static Terms terms(const KernelCall &call) {
    double decay = call.numbers[0] ? scalar(call, 6) : 0;
    return {static_cast<C>(scalar(call, 3)), static_cast<C>(decay),
            static_cast<C>(scalar(call, 5)), static_cast<C>(scalar(call, 4))};
  }
};

/// One step over all valid lanes, a tile at a time.
template <template <typename> class Step, typename C> class OptimizerRun {
  using Rule = Step<C>;

public:
  explicit OptimizerRun(const KernelCall &call) : call(call) {
    for (size_t i = 0; i < Rule::kTensors; ++i)
      tensors.push_back(call.inputs[i]);
    for (const TensorArg &result : call.outputs)
      tensors.push_back(result);
    std::vector<TensorNest::Offsets> strides(tensors[0].dims.size());
    for (size_t t = 0; t < tensors.size(); ++t) {
      std::vector<int64_t> own = stridesOf(tensors[t]);
      for (size_t d = 0; d < own.size(); ++d)
        strides[d][t] = own[d];
    }
    for (size_t d = 0; d < strides.size(); ++d)
      nest.add(tensors[0].dims[d].valid, strides[d]);
    nest.merge();
    // Tiles are of neighbours, which a padded dimension of one lane has not.
    if (!nest.loops.empty() && nest.loops.back().strides[0] == 1)
      inner = nest.takeInnermost();
  }

  void run(ThreadPool &threads) const {
    typename Rule::Terms terms = Rule::terms(call);
    int64_t tiles = (inner.size + kTileLanes - 1) / kTileLanes;
    forRanges(threads, nest.count() * tiles, 8,
              [&](int64_t begin, int64_t end) {
                for (int64_t tile = begin; tile < end; ++tile) {
                  int64_t first = tile % tiles * kTileLanes;
                  runTile(terms, nest.offsets(tile / tiles), first,
                          std::min(kTileLanes, inner.size - first));
                }
              });
  }

private:
  void runTile(const typename Rule::Terms &terms, const TensorNest::Offsets &at,
               int64_t first, int64_t n) const {
    C buffers[Rule::kTensors + Rule::kResults][kTileLanes];
    const C *in[Rule::kTensors];
    C *out[Rule::kResults];
    for (size_t i = 0; i < Rule::kTensors; ++i)
      in[i] = loadTile<C>(tensors[i].data, tensors[i].dtype, at[i] + first, n,
                          buffers[i]);
    for (size_t r = 0; r < Rule::kResults; ++r)
      out[r] = placeOf(r, at, first, buffers[Rule::kTensors + r]);
    rowStep(out, in, terms, n);
    for (size_t r = 0; r < Rule::kResults; ++r) {
      const TensorArg &to = tensors[Rule::kTensors + r];
      storeTile<C>(to.data, to.dtype, at[Rule::kTensors + r] + first, n,
                   out[r]);
    }
  }

  /// Where a result's lanes are computed: in the tensor itself where it has
  /// type C, which spares a copy.
  C *placeOf(size_t result, const TensorNest::Offsets &at, int64_t first,
             C *buffer) const {
    const TensorArg &to = tensors[Rule::kTensors + result];
    bool same = to.dtype == (sizeof(C) == 8 ? DType::F64 : DType::F32);
    return same ? reinterpret_cast<C *>(to.data) + at[Rule::kTensors + result] +
                      first
                : buffer;
  }

  KernelCall call;
  std::vector<TensorArg> tensors; ///< Operands, then results.
  TensorNest nest;
  TensorNest::Loop inner = {1, {}};
};

template <template <typename> class Step>
class OptimizerKernel final : public Kernel {
  using Rule = Step<float>;

public:
  std::string_view name() const override { return Rule::kName; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(Rule::kTensors + Rule::kScalars).outputs(Rule::kResults);
    contract.numbers(1);
    for (size_t i = 0; i < Rule::kTensors; ++i)
      contract.floating(in(i)).sameShape(in(0), in(i));
    for (size_t i = 0; i < Rule::kResults; ++i)
      contract.floating(out(i)).sameShape(in(0), out(i));
    for (size_t i = Rule::kTensors; contract.ok() && i < call.inputs.size();
         ++i)
      contract.rank(in(i), 0);
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return launch<double>(call, threads);
    return launch<float>(call, threads);
  }

private:
  template <typename C>
  static std::unique_ptr<Launch> launch(const KernelCall &call,
                                        ThreadPool &threads) {
    return makeLaunch([step = OptimizerRun<Step, C>(call), &threads] {
      step.run(threads);
      return Status();
    });
  }
};

} // namespace

const Kernel &adamwKernel() {
  static const OptimizerKernel<AdamStep> kernel;
  return kernel;
}
const Kernel &sgdKernel() {
  static const OptimizerKernel<SgdStep> kernel;
  return kernel;
}

} // namespace tandem
