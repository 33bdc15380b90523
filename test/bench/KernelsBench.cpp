//===- KernelsBench.cpp - Kernels beside this machine's peaks ---*- C++ -*-===//
//
//   kernels_bench [THREADS] [FILTER]     only lines that contain FILTER
//
// Each line is a kernel's speed and its share of the read bandwidth or of the
// sgemm peak, both measured in the same run. Kernel and peak take turns and
// the best of each counts, so that other work on the machine disturbs both
// alike.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/HostMemory.h"
#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/Peaks.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>

using namespace tandem;

namespace {

constexpr int kRounds = 9;

/// A tensor without padding.
struct Tensor {
  Tensor(DType type, std::vector<int64_t> shape) : shape(std::move(shape)) {
    arg.dtype = type;
    for (int64_t size : this->shape)
      arg.dims.push_back({size, size, 0, size});
    size_t size = std::max<size_t>(bytes(), 64);
    Result<std::byte *> pages = memory->allocate(size);
    if (!pages.ok()) {
      std::fprintf(stderr, "%s\n", pages.status().message().c_str());
      std::exit(1);
    }
    arg.data = *pages;
    // Small positive numbers in f32, and in bf16 and f16 too.
    for (size_t i = 0; i < size; ++i)
      arg.data[i] = std::byte(i % 2 ? 0x3c : 0x11);
  }
  int64_t bytes() const { return storageBytes(arg.dtype, arg.elements()); }

  std::vector<int64_t> shape;
  TensorArg arg;
  /// In pages as an arena's.
  std::unique_ptr<HostMemory> memory = std::make_unique<HostMemory>();
};

int64_t bitsOf(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

class Bench {
public:
  Bench(int threads, std::string filter)
      : pool(threads), filter(std::move(filter)) {}

  /// A prepared launch; `equation` is the rule where one is needed.
  std::unique_ptr<Launch> prepare(const char *kernel,
                                  const std::vector<Tensor *> &inputs,
                                  const std::vector<Tensor *> &outputs,
                                  std::vector<int64_t> numbers,
                                  const char *equation) {
    KernelCall call;
    std::vector<std::vector<int64_t>> in, out;
    for (Tensor *tensor : inputs) {
      call.inputs.push_back(tensor->arg);
      in.push_back(tensor->shape);
    }
    for (Tensor *tensor : outputs) {
      call.outputs.push_back(tensor->arg);
      out.push_back(tensor->shape);
    }
    if (*equation)
      call.rule = RuleBuilder(equation).build(in, out);
    call.numbers = std::move(numbers);
    const Kernel *found = findKernel(kernel);
    Status status = found->check(call);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      std::exit(1);
    }
    int64_t bytes = found->workspaceBytes(call, pool.size());
    workspaces.emplace_back(bytes + 64);
    call.workspace = workspaces.back().data();
    call.workspaceBytes = bytes;
    return found->prepare(call, pool);
  }

  /// Best seconds of one pass over `launches`.
  double seconds(const std::vector<std::unique_ptr<Launch>> &launches,
                 double &peak, double (*measurePeak)(ThreadPool &)) {
    double best = 1e30;
    for (int round = 0; round < kRounds; ++round) {
      if (measurePeak)
        peak = std::max(peak, measurePeak(pool));
      auto start = std::chrono::steady_clock::now();
      for (const auto &launch : launches)
        if (!launch->run().ok())
          std::exit(1);
      std::chrono::duration<double> passed =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, passed.count());
    }
    return best;
  }

  void streaming(const char *name, DType type, int64_t rows, int64_t in,
                 int64_t out, const char *equation, int64_t matrices) {
    if (skips(name))
      return;
    bool outFirst = std::string(equation).find(",fd") != std::string::npos;
    Tensor x(DType::F32, {rows, in}), y(DType::F32, {rows, out});
    std::vector<Tensor> weights;
    std::vector<std::unique_ptr<Launch>> launches;
    int64_t bytes = 0;
    for (int64_t i = 0; i < matrices; ++i)
      weights.emplace_back(type, outFirst ? std::vector<int64_t>{out, in}
                                          : std::vector<int64_t>{in, out});
    for (Tensor &weight : weights) {
      // The tensor moved; its memory did not.
      launches.push_back(prepare("einsum", {&x, &weight}, {&y}, {}, equation));
      bytes += weight.bytes();
    }
    double t = seconds(launches, bandwidth, [](ThreadPool &threads) {
      return measureReadBandwidth(threads, size_t(128) << 20);
    });
    std::printf("%-34s %7.2f GB/s   %5.1f %% of read bandwidth %.2f\n", name,
                bytes / t * 1e-9, 100 * bytes / t * 1e-9 / bandwidth,
                bandwidth);
  }

  void product(const char *name, int64_t rows, int64_t in, int64_t out,
               const char *equation, DType type = DType::F32) {
    if (skips(name))
      return;
    bool outFirst = std::string(equation).find(",fd") != std::string::npos;
    Tensor x(DType::F32, {rows, in}), y(DType::F32, {rows, out});
    Tensor w(type, outFirst ? std::vector<int64_t>{out, in}
                            : std::vector<int64_t>{in, out});
    std::vector<std::unique_ptr<Launch>> launches;
    for (int i = 0; i < 4; ++i)
      launches.push_back(prepare("einsum", {&x, &w}, {&y}, {}, equation));
    double t = seconds(launches, sgemm,
                       [](ThreadPool &pool) { return measureSgemmPeak(pool); });
    double speed = 4 * 2e-9 * rows * in * out / t;
    std::printf("%-34s %7.1f GFLOP/s %5.1f %% of sgemm peak %.1f\n", name,
                speed, 100 * speed / sgemm, sgemm);
  }

  /// Any product of two f32 tensors, with the sizes of its letters.
  void einsum(const char *name, const std::string &equation,
              const std::map<char, int64_t> &sizes,
              const std::vector<int64_t> &numbers = {}) {
    if (skips(name))
      return;
    auto tensor = [&](size_t begin, size_t end) {
      std::vector<int64_t> shape;
      for (size_t i = begin; i < end; ++i)
        shape.push_back(sizes.at(equation[i]));
      return Tensor(DType::F32, shape);
    };
    size_t comma = equation.find(','), arrow = equation.find("->");
    Tensor a = tensor(0, comma), b = tensor(comma + 1, arrow);
    Tensor c = tensor(arrow + 2, equation.size());
    std::vector<std::unique_ptr<Launch>> launches;
    launches.push_back(
        prepare("einsum", {&a, &b}, {&c}, numbers, equation.c_str()));
    double t = seconds(launches, sgemm,
                       [](ThreadPool &pool) { return measureSgemmPeak(pool); });
    double speed = 2e-9 / t;
    for (auto [letter, size] : sizes)
      speed *= static_cast<double>(size);
    std::printf("%-34s %7.1f GFLOP/s %5.1f %% of sgemm peak %.1f\n", name,
                speed, 100 * speed / sgemm, sgemm);
  }

  /// A kernel that reads and writes `bytes` of memory.
  void moving(const char *name, const char *kernel,
              std::vector<Tensor *> inputs, std::vector<Tensor *> outputs,
              std::vector<int64_t> numbers, double bytes,
              const char *equation = "") {
    if (skips(name))
      return;
    std::vector<std::unique_ptr<Launch>> launches;
    launches.push_back(prepare(kernel, inputs, outputs, numbers, equation));
    double t = seconds(launches, bandwidth, [](ThreadPool &threads) {
      return measureReadBandwidth(threads, size_t(128) << 20);
    });
    std::printf("%-34s %7.2f GB/s   %5.1f %% of read bandwidth %.2f\n", name,
                bytes / t * 1e-9, 100 * bytes / t * 1e-9 / bandwidth,
                bandwidth);
  }

  void attention(const char *name, int64_t s, int64_t t, int64_t k, int64_t g,
                 int64_t d, DType cache) {
    if (skips(name))
      return;
    Tensor q(DType::F32, {1, s, k, g, d}), out(DType::F32, {1, s, k, g, d});
    Tensor key(cache, {1, t, k, d}), value(cache, {1, t, k, d});
    Tensor positions(DType::I32, {1});
    int32_t first = static_cast<int32_t>(t - s);
    std::memcpy(positions.arg.data, &first, sizeof first);
    std::vector<std::unique_ptr<Launch>> launches;
    launches.push_back(prepare("attention", {&q, &key, &value, &positions},
                               {&out}, {bitsOf(0.125), 1, 0, 0, 0}, ""));
    double none = 0, best = seconds(launches, none, nullptr);
    double flops = 4.0 * s * k * g * d * (t - s / 2.0);
    std::printf("%-34s %7.1f us, %.1f GFLOP/s\n", name, best * 1e6,
                flops / best * 1e-9);
  }

  /// A kernel of so many operations, beside the sgemm peak.
  void timed(const char *name, const char *kernel, std::vector<Tensor *> inputs,
             std::vector<Tensor *> outputs, std::vector<int64_t> numbers,
             double flops) {
    if (skips(name))
      return;
    std::vector<std::unique_ptr<Launch>> launches;
    launches.push_back(prepare(kernel, inputs, outputs, numbers, ""));
    double t = seconds(launches, sgemm,
                       [](ThreadPool &pool) { return measureSgemmPeak(pool); });
    std::printf("%-34s %7.1f us, %.1f GFLOP/s, %.1f %% of sgemm peak %.1f\n",
                name, t * 1e6, flops / t * 1e-9, 100e-9 * flops / t / sgemm,
                sgemm);
  }

  void row(const char *name, const char *kernel, std::vector<Tensor *> inputs,
           Tensor &out, std::vector<int64_t> numbers, const char *equation) {
    if (skips(name))
      return;
    std::vector<std::unique_ptr<Launch>> launches;
    launches.push_back(prepare(kernel, inputs, {&out}, numbers, equation));
    double none = 0, best = seconds(launches, none, nullptr);
    std::printf("%-34s %7.1f us, %.2f ns a lane\n", name, best * 1e6,
                best * 1e9 / out.arg.elements());
  }

private:
  bool skips(const char *name) const {
    return std::string(name).find(filter) == std::string::npos;
  }

  ThreadPool pool;
  std::string filter;
  std::vector<std::vector<std::byte>> workspaces;
  double bandwidth = 0, sgemm = 0;
};

void benchRows(Bench &bench) {
  for (int64_t tokens : {1, 256}) {
    std::string at = " x" + std::to_string(tokens);
    Tensor x(DType::F32, {1, tokens, 576}), y(DType::F32, {1, tokens, 576});
    Tensor w(DType::F32, {576}), positions(DType::I32, {1});
    bench.row(("rms_norm 576" + at).c_str(), "rms_norm", {&x, &w}, y,
              {bitsOf(1e-5), 0}, "");
    Tensor gate(DType::F32, {1, tokens, 1536}),
        up(DType::F32, {1, tokens, 1536});
    Tensor act(DType::F32, {1, tokens, 1536});
    bench.row(("silu(gate) * up 1536" + at).c_str(), "map", {&gate, &up}, act,
              {0, 0, 18, 0, 0, 1, 4, 0}, "abc,abc->abc");
    Tensor q(DType::F32, {1, tokens, 9, 64}), r(DType::F32, {1, tokens, 9, 64});
    std::vector<int64_t> numbers = {0, 64, bitsOf(1)};
    for (int i = 0; i < 32; ++i)
      numbers.push_back(bitsOf(1.0 / (1 + i)));
    bench.row(("rope 9 x 64" + at).c_str(), "rope", {&q, &positions}, r,
              numbers, "");
  }
}

/// The products of a training step of GPT-2 with 124 M parameters: 4 x 64
/// tokens. x, y: rows of tokens t; weights in either order.
void benchTrainingProducts(Bench &bench) {
  struct Layer {
    const char *name;
    int64_t in, out;
  };
  for (Layer layer : {Layer{"768 x 2304", 768, 2304},
                      {"768 x 768", 768, 768},
                      {"768 x 3072", 768, 3072},
                      {"3072 x 768", 3072, 768},
                      {"768 x 50257", 768, 50257}}) {
    std::map<char, int64_t> sizes = {
        {'t', 256}, {'i', layer.in}, {'o', layer.out}};
    std::string name = layer.name;
    for (auto [what, equation] :
         std::initializer_list<std::pair<const char *, const char *>>{
             {"y, [in, out] ", "ti,io->to"},
             {"y, [out, in] ", "ti,oi->to"},
             {"dx, [in, out] ", "to,io->ti"},
             {"dx, [out, in] ", "to,oi->ti"},
             {"dw, [in, out] ", "ti,to->io"},
             {"dw, [out, in] ", "to,ti->oi"}})
      bench.einsum((what + name).c_str(), equation, sizes);
  }
  std::map<char, int64_t> sizes = {{'t', 2048}, {'i', 768}, {'o', 3072}};
  bench.einsum("y, 2048 rows, 768 x 3072", "ti,io->to", sizes);
  bench.einsum("dx, 2048 rows, 768 x 3072", "to,io->ti", sizes);
  bench.einsum("dw, 2048 rows, 768 x 3072", "ti,to->io", sizes);
  sizes['t'] = 256;
  bench.einsum("y, 8 fixed pieces, 768 x 3072", "ti,io->to", sizes, {8, 2});
  bench.einsum("dw, 8 fixed pieces, 768 x 3072", "ti,to->io", sizes, {8, 1});
}

/// What a step does besides products, by the memory that it has to move.
void benchTrainingRows(Bench &bench) {
  Tensor logits(DType::F32, {256, 50257}), dlogits(DType::F32, logits.shape);
  Tensor labels(DType::I32, {256}), loss(DType::F32, {256});
  Tensor lse(DType::F32, {256});
  std::memset(labels.arg.data, 0, labels.bytes());
  double bytes = static_cast<double>(logits.bytes());
  bench.moving("cross_entropy 256 x 50257", "cross_entropy", {&logits, &labels},
               {&loss, &lse}, {-100}, bytes);
  bench.moving("cross_entropy_grad 256 x 50257", "cross_entropy_grad",
               {&logits, &labels, &lse, &loss}, {&dlogits}, {-100}, 2 * bytes);
  Tensor p(DType::F32, {4096, 4096}), m(DType::F32, p.shape);
  Tensor v(DType::F32, p.shape), g(DType::F32, p.shape);
  Tensor scalar(DType::F32, {}), step(DType::I32, {}), sum(DType::F32, {});
  int32_t first = 1;
  std::memcpy(step.arg.data, &first, sizeof first);
  bytes = static_cast<double>(p.bytes());
  bench.moving("adamw 16 M", "adamw",
               {&p, &m, &v, &g, &scalar, &scalar, &scalar, &scalar, &scalar,
                &scalar, &step},
               {&p, &m, &v}, {1}, 7 * bytes);
  bench.moving("sum of squares 16 M", "einsum", {&g, &g}, {&sum}, {}, bytes,
               "ij,ij->");
  Tensor x(DType::F32, {4, 64, 768}), w(DType::F32, {768});
  Tensor dx(DType::F32, x.shape), dw(DType::F32, {768}), db(DType::F32, {768});
  bench.moving("layer_norm_grad 256 x 768", "layer_norm_grad", {&x, &w, &x},
               {&dx, &dw, &db}, {bitsOf(1e-5)}, 2.0 * x.bytes());
  Tensor bias(DType::F32, {3072}), wide(DType::F32, {4, 64, 3072});
  bench.moving("reduce 256 x 3072 to 3072", "reduce", {&wide}, {&bias}, {0},
               static_cast<double>(wide.bytes()), "bsd->d");
  Tensor ids(DType::I32, {4, 64}), table(DType::F32, {50257, 768});
  std::memset(ids.arg.data, 0, ids.bytes());
  bench.moving("embedding_grad 256 of 50257 x 768", "embedding_grad",
               {&ids, &x}, {&table}, {}, static_cast<double>(table.bytes()));
}

/// attention_grad of 5 products where attention has 2.
void benchAttentionGrad(Bench &bench) {
  for (int64_t s : {64, 1024}) {
    int64_t b = 256 / std::min<int64_t>(s, 256);
    Tensor q(DType::F32, {b, s, 12, 1, 64}), dq(DType::F32, q.shape);
    Tensor out(DType::F32, q.shape), lse(DType::F32, {b, s, 12, 1});
    Tensor key(DType::F32, {b, s, 12, 64}), value(DType::F32, key.shape);
    Tensor dkey(DType::F32, key.shape), dvalue(DType::F32, key.shape);
    Tensor positions(DType::I32, {b});
    std::memset(positions.arg.data, 0, positions.bytes());
    std::string name = "attention_grad " + std::to_string(s) + ", 12 x 64";
    bench.timed(name.c_str(), "attention_grad",
                {&q, &key, &value, &positions, &out, &lse, &out},
                {&dq, &dkey, &dvalue}, {bitsOf(0.125), 1, 0, 0, 0},
                5.0 * b * s * s * 12 * 64);
  }
}

} // namespace

int main(int argc, char **argv) {
  Bench bench(argc > 1 ? std::max(std::atoi(argv[1]), 1) : 2,
              argc > 2 ? argv[2] : "");
  bench.streaming("1 row, [out, in] f32, 2048 x 16384", DType::F32, 1, 2048,
                  16384, "bd,fd->bf", 1);
  bench.streaming("1 row, [out, in] f32, 576 x 1536", DType::F32, 1, 576, 1536,
                  "bd,fd->bf", 40);
  bench.streaming("1 row, [out, in] f32, 1536 x 576", DType::F32, 1, 1536, 576,
                  "bd,fd->bf", 40);
  bench.streaming("1 row, [out, in] bf16, 2048 x 32768", DType::BF16, 1, 2048,
                  32768, "bd,fd->bf", 1);
  bench.streaming("1 row, [out, in] f16, 2048 x 32768", DType::F16, 1, 2048,
                  32768, "bd,fd->bf", 1);
  bench.streaming("1 row, [in, out] f32, 2048 x 16384", DType::F32, 1, 2048,
                  16384, "bd,df->bf", 1);
  bench.streaming("4 rows, [out, in] f32", DType::F32, 4, 2048, 16384,
                  "bd,fd->bf", 1);
  bench.streaming("7 rows, [out, in] f32", DType::F32, 7, 2048, 16384,
                  "bd,fd->bf", 1);
  bench.product("256 x 576 x 1536, [out, in]", 256, 576, 1536, "bd,fd->bf");
  bench.product("256 x 1536 x 576, [out, in]", 256, 1536, 576, "bd,fd->bf");
  bench.product("256 x 576 x 576, [out, in]", 256, 576, 576, "bd,fd->bf");
  bench.product("256 x 576 x 192, [out, in]", 256, 576, 192, "bd,fd->bf");
  bench.product("256 x 576 x 1536, [in, out]", 256, 576, 1536, "bd,df->bf");
  bench.product("256 x 576 x 1536, bf16", 256, 576, 1536, "bd,fd->bf",
                DType::BF16);
  bench.product("16 x 576 x 1536, [out, in]", 16, 576, 1536, "bd,fd->bf");
  bench.attention("decode, t 512, 3 x 3 heads of 64", 1, 512, 3, 3, 64,
                  DType::F32);
  bench.attention("decode, t 2048, 8 x 4 heads of 128", 1, 2048, 8, 4, 128,
                  DType::BF16);
  bench.attention("prefill 256, 3 x 3 heads of 64", 256, 256, 3, 3, 64,
                  DType::F32);
  bench.attention("prefill 256 of 2048, 8 x 4 of 128", 256, 2048, 8, 4, 128,
                  DType::F32);
  benchRows(bench);
  benchTrainingProducts(bench);
  benchTrainingRows(bench);
  benchAttentionGrad(bench);
  return 0;
}
