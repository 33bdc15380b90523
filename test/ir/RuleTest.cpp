// Every operation's rule is what its definition says, and true: split any
// factors that may be split over any axes, leave any linear operands
// unreduced, and the ranks together compute what one rank does.

#include "test/ir/ReferenceModules.h"

#include "ir/reference/Compare.h"

#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace tandem;
using namespace tandem::test;

namespace {

struct RuleCase {
  const char *name;
  const char *rule;
  const char *arguments; ///< `low to high` behind an integer's type,
                         ///< `positive` behind a float's.
  const char *operation;
};

// Sizes are uneven for the mesh on purpose, but for reshapes, whose pieces
// must have equal boundaries.
const RuleCase cases[] = {
    {"einsum", "(*[i, j], *[j, k]) -> ([i, k]) {i=5, j=7 reduction, k=4}",
     "tensor<5x7xf32>, tensor<7x4xf32>",
     R"(tandem.einsum "ab,bc->ac" %0, %1 : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>)"},
    {"einsum_batch",
     "(*[i, j, k], *[i, l, k]) -> ([l, i, j]) {i=3, j=2, k=5 reduction, l=4}",
     "tensor<3x2x5xf32>, tensor<3x4x5xf32>",
     R"(tandem.einsum "bsd,bfd->fbs" %0, %1 : (tensor<3x2x5xf32>, tensor<3x4x5xf32>) -> tensor<4x3x2xf32>)"},
    {"einsum_one", "(*[i, j]) -> ([j]) {i=5 reduction, j=4}", "tensor<5x4xf32>",
     R"(tandem.einsum "ab->b" %0 : (tensor<5x4xf32>) -> tensor<4xf32>)"},
    {"reduce_sum", "(*[i, j, k]) -> ([i, k]) {i=5, j=4 reduction, k=3}",
     "tensor<5x4x3xf32>",
     "tandem.reduce sum, %0 [1] : (tensor<5x4x3xf32>) -> tensor<5x3xf32>"},
    {"reduce_max", "([i, j]) -> ([j]) {i=5 max_reduction, j=4}",
     "tensor<5x4xf32>",
     "tandem.reduce max, %0 [0] : (tensor<5x4xf32>) -> tensor<4xf32>"},
    {"reduce_min", "([i, j]) -> ([]) {i=5 min_reduction, j=4 min_reduction}",
     "tensor<5x4xf32>",
     "tandem.reduce min, %0 [0, 1] : (tensor<5x4xf32>) -> tensor<f32>"},
    {"cumulative_sum", "(*[i, j]) -> ([i, j]) {i=5, j=4 must_replicate}",
     "tensor<5x4xf32>",
     "tandem.cumulative_sum %0 {dim = 1 : i64} : tensor<5x4xf32>"},
    {"neg", "(*[i, j]) -> ([i, j]) {i=5, j=4}", "tensor<5x4xf32>",
     "tandem.unary neg, %0 : tensor<5x4xf32>"},
    {"exp", "([i, j]) -> ([i, j]) {i=5, j=4}", "tensor<5x4xf32>",
     "tandem.unary exp, %0 : tensor<5x4xf32>"},
    {"sub", "(+[i, j], +[i, j]) -> ([i, j]) {i=5, j=4}",
     "tensor<5x4xf32>, tensor<5x4xf32>",
     "tandem.binary sub, %0, %1 : tensor<5x4xf32>"},
    {"mul", "(*[i, j], *[i, j]) -> ([i, j]) {i=5, j=4}",
     "tensor<5x4xf32>, tensor<5x4xf32>",
     "tandem.binary mul, %0, %1 : tensor<5x4xf32>"},
    {"div", "(*[i, j], [i, j]) -> ([i, j]) {i=5, j=4}",
     "tensor<5x4xf32>, tensor<5x4xf32>",
     "tandem.binary div, %0, %1 : tensor<5x4xf32>"},
    {"max", "([i, j], [i, j]) -> ([i, j]) {i=5, j=4}",
     "tensor<5x4xf32>, tensor<5x4xf32>",
     "tandem.binary max, %0, %1 : tensor<5x4xf32>"},
    {"compare", "([i], [i]) -> ([i]) {i=5}", "tensor<5xf32>, tensor<5xf32>",
     "tandem.compare lt, %0, %1 : (tensor<5xf32>, tensor<5xf32>) -> "
     "tensor<5xi1>"},
    {"select", "([i], +[i], +[i]) -> ([i]) {i=5}",
     "tensor<5xi1>, tensor<5xf32>, tensor<5xf32>",
     "tandem.select %0, %1, %2 : (tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) "
     "-> tensor<5xf32>"},
    {"cast_wider", "(*[i]) -> ([i]) {i=5}", "tensor<5xbf16>",
     "tandem.cast %0 : (tensor<5xbf16>) -> tensor<5xf32>"},
    {"cast_narrower", "([i]) -> ([i]) {i=5}", "tensor<5xf32>",
     "tandem.cast %0 : (tensor<5xf32>) -> tensor<5xbf16>"},
    {"cast_to_integer", "([i]) -> ([i]) {i=5}", "tensor<5xf32>",
     "tandem.cast %0 : (tensor<5xf32>) -> tensor<5xi32>"},
    {"sum", "(+[i], +[i], +[i]) -> ([i]) {i=5}",
     "tensor<5xf32>, tensor<5xf32>, tensor<5xf32>",
     "tandem.sum %0, %1, %2 : tensor<5xf32>"},
    {"gelu", "([i]) -> ([i]) {i=5}", "tensor<5xf32>",
     "tandem.gelu %0 : tensor<5xf32>"},
    {"silu", "([i]) -> ([i]) {i=5}", "tensor<5xf32>",
     "tandem.silu %0 : tensor<5xf32>"},
    {"sharding_constraint", "(*[i]) -> ([i]) {i=5}", "tensor<5xf32>",
     "tandem.sharding_constraint %0 : tensor<5xf32>"},
    {"embedding",
     "(*[i, j], [k, l]) -> ([k, l, j]) {i=7 reduction, j=5, k=2, l=3}",
     "tensor<7x5xf32>, tensor<2x3xi32> 0 to 6",
     "tandem.embedding %0, %1 : (tensor<7x5xf32>, tensor<2x3xi32>) -> "
     "tensor<2x3x5xf32>"},
    {"gather",
     "(*[i, j, k], [i, l]) -> ([i, l, k]) {i=2, j=7 reduction, k=3, l=4}",
     "tensor<2x7x3xf32>, tensor<2x4xi32> 0 to 6",
     "tandem.gather %0, %1 {dim = 1 : i64, batch_dims = 1 : i64} : "
     "(tensor<2x7x3xf32>, tensor<2x4xi32>) -> tensor<2x4x3xf32>"},
    {"gather_bools", "(*[i], [j]) -> ([j]) {i=7 max_reduction, j=4}",
     "tensor<7xi1> 0 to 1, tensor<4xi32> 0 to 6",
     "tandem.gather %0, %1 {dim = 0 : i64, batch_dims = 0 : i64} : "
     "(tensor<7xi1>, tensor<4xi32>) -> tensor<4xi1>"},
    {"scatter_add",
     "(+[i, j, k], [i, l], +[i, l, k]) -> ([i, j, k]) {i=2, j=7, k=3, l=4 "
     "must_replicate}",
     "tensor<2x7x3xf32>, tensor<2x4xi32> 0 to 6, tensor<2x4x3xf32>",
     "tandem.scatter_add %0, %1, %2 {dim = 1 : i64, batch_dims = 1 : i64} : "
     "(tensor<2x7x3xf32>, tensor<2x4xi32>, tensor<2x4x3xf32>) -> "
     "tensor<2x7x3xf32>"},
    {"update_slice",
     "(+[i, j, k], +[i, l, k], [i], [i]) -> ([i, j, k]) {i=3, j=7, k=5, l=4 "
     "must_replicate}",
     "tensor<3x7x5xf32>, tensor<3x4x5xf32>, tensor<3xi32> 0 to 6, "
     "tensor<3xi32> 0 to 4",
     "tandem.update_slice %0, %1, %2, %3 : (tensor<3x7x5xf32>, "
     "tensor<3x4x5xf32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x7x5xf32>"},
    {"top_k",
     "([i, j]) -> ([i, k], [i, k]) {i=5, j=7 selection, k=2 must_replicate}",
     "tensor<5x7xf32>",
     "tandem.top_k %0 : (tensor<5x7xf32>) -> (tensor<5x2xf32>, "
     "tensor<5x2xi32>)"},
    {"top_k_pieces",
     "([i, jk]) -> ([i, jl], [i, jl]) {i=5, j=4, k=3 must_replicate, l=2 "
     "must_replicate}",
     "tensor<5x12xf32>",
     "tandem.top_k %0 {pieces = 4 : i64} : (tensor<5x12xf32>) -> "
     "(tensor<5x8xf32>, tensor<5x8xi32>)"},
    {"sample",
     "([i, j], [i], [i], [i], [i], [i]) -> ([i]) {i=5, j=7 must_replicate}",
     "tensor<5x7xf32>, tensor<5xf32>, tensor<5xi32> 0 to 4, tensor<5xf32>, "
     "tensor<5xi64> 0 to 1000, tensor<5xi32> 0 to 9",
     "tandem.sample %0, %1, %2, %3, %4, %5 : (tensor<5x7xf32>, tensor<5xf32>, "
     "tensor<5xi32>, tensor<5xf32>, tensor<5xi64>, tensor<5xi32>) -> "
     "tensor<5xi32>"},
    {"constant", "() -> ([i, j]) {i=3 must_replicate, j=2 must_replicate}", "",
     "tandem.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : "
     "tensor<3x2xf32>"},
    {"splat", "() -> ([i, j]) {i=3, j=2}", "",
     "tandem.constant dense<2.0> : tensor<3x2xf32>"},
    {"iota", "() -> ([i, j]) {i=5, j=4}", "",
     "tandem.iota {dim = 0 : i64, start = 3.0 : f64, step = 2.0 : f64} : "
     "tensor<5x4xf32>"},
    {"reshape_split", "(*[i, jk]) -> ([i, j, k]) {i=12, j=12, k=2}",
     "tensor<12x24xf32>",
     "tandem.reshape %0 : (tensor<12x24xf32>) -> tensor<12x12x2xf32>"},
    {"reshape_merge", "(*[i, j, k]) -> ([ij, k]) {i=12, j=2, k=5}",
     "tensor<12x2x5xf32>",
     "tandem.reshape %0 : (tensor<12x2x5xf32>) -> tensor<24x5xf32>"},
    {"transpose", "(*[i, j, k]) -> ([k, i, j]) {i=5, j=4, k=3}",
     "tensor<5x4x3xf32>",
     "tandem.transpose %0 [2, 0, 1] : (tensor<5x4x3xf32>) -> "
     "tensor<3x5x4xf32>"},
    {"broadcast_in_dim", "(*[j]) -> ([i, j, k]) {i=5, j=4, k=3}",
     "tensor<4xf32>",
     "tandem.broadcast_in_dim %0 [1] : (tensor<4xf32>) -> tensor<5x4x3xf32>"},
    {"slice", "(*[i, j]) -> ([i, k]) {i=5, j=8 reduction, k=3}",
     "tensor<5x8xf32>",
     "tandem.slice %0 [0, 2] step [1, 2] : (tensor<5x8xf32>) -> "
     "tensor<5x3xf32>"},
    {"slice_last", "(*[i, j, l]) -> ([i, k, l]) {i=3, j=7 reduction, k=1, l=5}",
     "tensor<3x7x5xf32>",
     "tandem.slice %0 [0, 6, 0] step [1, 1, 1] : (tensor<3x7x5xf32>) -> "
     "tensor<3x1x5xf32>"},
    {"slice_bools", "(*[i]) -> ([j]) {i=9 max_reduction, j=4}",
     "tensor<9xi1> 0 to 1",
     "tandem.slice %0 [1] step [2] : (tensor<9xi1>) -> tensor<4xi1>"},
    {"concat",
     "(+[k, j], +[l, j]) -> ([i, j]) {i=5, j=4, k=2 must_replicate, l=3 "
     "must_replicate}",
     "tensor<2x4xf32>, tensor<3x4xf32>",
     "tandem.concat %0, %1 {dim = 0 : i64} : (tensor<2x4xf32>, "
     "tensor<3x4xf32>) -> tensor<5x4xf32>"},
    {"pad_zero", "(*[i, j]) -> ([i, k]) {i=5, j=4 must_replicate, k=7}",
     "tensor<5x4xf32>",
     "tandem.pad %0 low [0, 1] high [0, 2] value 0.0 : (tensor<5x4xf32>) -> "
     "tensor<5x7xf32>"},
    {"pad_one", "([i, j]) -> ([i, k]) {i=5, j=4 must_replicate, k=7}",
     "tensor<5x4xf32>",
     "tandem.pad %0 low [0, 1] high [0, 2] value 1.0 : (tensor<5x4xf32>) -> "
     "tensor<5x7xf32>"},
    {"rms_norm", "([i, j, k], [k]) -> ([i, j, k]) {i=5, j=4, k=3 selection}",
     "tensor<5x4x3xf32>, tensor<3xf32>",
     "tandem.rms_norm %0, %1 {epsilon = 1.0e-5 : f64} : (tensor<5x4x3xf32>, "
     "tensor<3xf32>) -> tensor<5x4x3xf32>"},
    {"layer_norm", "([i, j], [j], [j]) -> ([i, j]) {i=5, j=4 selection}",
     "tensor<5x4xf32>, tensor<4xf32>, tensor<4xf32>",
     "tandem.layer_norm %0, %1, %2 {epsilon = 1.0e-5 : f64} : "
     "(tensor<5x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<5x4xf32>"},
    {"softmax", "([i, j]) -> ([i, j]) {i=5, j=4 selection}", "tensor<5x4xf32>",
     "tandem.softmax %0 : tensor<5x4xf32>"},
    {"rope",
     "(*[i, j, k, l], [i]) -> ([i, j, k, l]) {i=2, j=5, k=3, l=6 "
     "must_replicate}",
     "tensor<2x5x3x6xf32>, tensor<2xi32> 0 to 9",
     "tandem.rope %0, %1 {style = #tandem.rope<half_split>, frequencies = "
     "array<f64: 1.0, 0.1>} : (tensor<2x5x3x6xf32>, tensor<2xi32>) -> "
     "tensor<2x5x3x6xf32>"},
    {"attention",
     "([i, j, k, l, m], [i, n, k, m], [i, n, k, o], [i], [i, n], [k, l]) -> "
     "([i, j, k, l, o], [i, j, k, l]) {i=2, j=5, k=3, l=2, m=4 must_replicate, "
     "n=7 must_replicate, o=3 must_replicate}",
     "tensor<2x5x3x2x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x3xf32>, "
     "tensor<2xi32> 0 to 3, tensor<2x7xi32> 0 to 1, tensor<3x2xf32>",
     "tandem.attention %0, %1, %2, %3 mask %4 slopes %5 {causal, scale = 0.5 : "
     "f64, window = 4 : i64} : (tensor<2x5x3x2x4xf32>, tensor<2x7x3x4xf32>, "
     "tensor<2x7x3x3xf32>, tensor<2xi32>, tensor<2x7xi32>, tensor<3x2xf32>) -> "
     "(tensor<2x5x3x2x3xf32>, tensor<2x5x3x2xf32>)"},
    {"gelu_grad", "([i], *[i]) -> ([i]) {i=5}", "tensor<5xf32>, tensor<5xf32>",
     "tandem.gelu_grad %0, %1 : (tensor<5xf32>, tensor<5xf32>) -> "
     "tensor<5xf32>"},
    {"silu_grad", "([i], *[i]) -> ([i]) {i=5}", "tensor<5xf32>, tensor<5xf32>",
     "tandem.silu_grad %0, %1 : (tensor<5xf32>, tensor<5xf32>) -> "
     "tensor<5xf32>"},
    {"cross_entropy",
     "([i, j, k], [i, j]) -> ([i, j], [i, j]) {i=5, j=4, k=7 selection}",
     "tensor<5x4x7xf32>, tensor<5x4xi32> 0 to 6",
     "tandem.cross_entropy %0, %1 {ignored = 3 : i64} : (tensor<5x4x7xf32>, "
     "tensor<5x4xi32>) -> (tensor<5x4xf32>, tensor<5x4xf32>)"},
    {"cross_entropy_grad",
     "([i, j, k], [i, j], [i, j], *[i, j]) -> ([i, j, k]) {i=5, j=4, k=7}",
     "tensor<5x4x7xf32>, tensor<5x4xi32> 0 to 6, tensor<5x4xf32>, "
     "tensor<5x4xf32>",
     "tandem.cross_entropy_grad %0, %1, %2, %3 {ignored = 3 : i64} : "
     "(tensor<5x4x7xf32>, tensor<5x4xi32>, tensor<5x4xf32>, tensor<5x4xf32>) "
     "-> tensor<5x4x7xf32>"},
    {"embedding_grad",
     "([k, l], *[k, l, j]) -> ([i, j]) {i=7, j=5, k=2 reduction, l=3 "
     "reduction}",
     "tensor<2x3xi32> 0 to 6, tensor<2x3x5xf32>",
     "tandem.embedding_grad %0, %1 : (tensor<2x3xi32>, tensor<2x3x5xf32>) -> "
     "tensor<7x5xf32>"},
    {"rms_norm_grad",
     "([i, j, k], [k], *[i, j, k]) -> ([i, j, k], [k]) {i=5, j=4, k=3 "
     "selection}",
     "tensor<5x4x3xf32>, tensor<3xf32>, tensor<5x4x3xf32>",
     "tandem.rms_norm_grad %0, %1, %2 {epsilon = 1.0e-5 : f64} : "
     "(tensor<5x4x3xf32>, tensor<3xf32>, tensor<5x4x3xf32>) -> "
     "(tensor<5x4x3xf32>, tensor<3xf32>)"},
    {"layer_norm_grad",
     "([i, j], [j], *[i, j]) -> ([i, j], [j], [j]) {i=5, j=4 selection}",
     "tensor<5x4xf32>, tensor<4xf32>, tensor<5x4xf32>",
     "tandem.layer_norm_grad %0, %1, %2 {epsilon = 1.0e-5 : f64} : "
     "(tensor<5x4xf32>, tensor<4xf32>, tensor<5x4xf32>) -> (tensor<5x4xf32>, "
     "tensor<4xf32>, tensor<4xf32>)"},
    {"attention_grad",
     "([i, j, k, l, m], [i, n, k, m], [i, n, k, o], [i], [i, j, k, l, o], [i, "
     "j, k, l], *[i, j, k, l, o], [i, n], [k, l]) -> ([i, j, k, l, m], [i, n, "
     "k, m], [i, n, k, o]) {i=2, j=5, k=3, l=2, m=4 must_replicate, n=7 "
     "must_replicate, o=3 must_replicate}",
     "tensor<2x5x3x2x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x3xf32>, "
     "tensor<2xi32> 0 to 3, tensor<2x5x3x2x3xf32>, tensor<2x5x3x2xf32>, "
     "tensor<2x5x3x2x3xf32>, tensor<2x7xi32> 0 to 1, tensor<3x2xf32>",
     "tandem.attention_grad %0, %1, %2, %3, %4, %5, %6 mask %7 slopes %8 "
     "{causal, scale = 0.5 : f64, window = 4 : i64, softcap = 2.0 : f64} : "
     "(tensor<2x5x3x2x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x3xf32>, "
     "tensor<2xi32>, tensor<2x5x3x2x3xf32>, tensor<2x5x3x2xf32>, "
     "tensor<2x5x3x2x3xf32>, tensor<2x7xi32>, tensor<3x2xf32>) -> "
     "(tensor<2x5x3x2x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x3xf32>)"},
    {"adamw",
     "([i, j], [i, j], [i, j], [i, j], [], [], [], [], [], [], []) -> ([i, j], "
     "[i, j], [i, j]) {i=5, j=4}",
     "tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32> positive, "
     "tensor<5x4xf32>, tensor<f32>, tensor<f32>, tensor<f32> positive, "
     "tensor<f32> positive, tensor<f32> positive, tensor<f32>, tensor<i32> 1 "
     "to 5",
     "tandem.adamw %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 {decay} : "
     "(tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>, "
     "tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, "
     "tensor<f32>, tensor<i32>) -> (tensor<5x4xf32>, tensor<5x4xf32>, "
     "tensor<5x4xf32>)"},
    {"sgd",
     "([i, j], [i, j], [i, j], [], [], [], []) -> ([i, j], [i, j]) {i=5, j=4}",
     "tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>, tensor<f32>, "
     "tensor<f32>, tensor<f32>, tensor<f32>",
     "tandem.sgd %0, %1, %2, %3, %4, %5, %6 {decay} : (tensor<5x4xf32>, "
     "tensor<5x4xf32>, tensor<5x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, "
     "tensor<f32>) -> (tensor<5x4xf32>, tensor<5x4xf32>)"},
};

/// An argument's type, and the numbers that it takes.
struct Argument {
  std::string type;
  int64_t low = 0, high = 1;
  bool positive = false; ///< Floats lie in [0, 1).
};

std::vector<Argument> argumentsOf(const RuleCase &c) {
  std::vector<Argument> arguments;
  SmallVector<StringRef> parts;
  StringRef(c.arguments).split(parts, ", ", -1, false);
  for (StringRef part : parts) {
    Argument argument;
    auto [type, range] = part.split(' ');
    argument.type = type.str();
    argument.positive = range == "positive";
    if (range.contains(" to ")) {
      auto [low, high] = range.split(" to ");
      low.getAsInteger(10, argument.low);
      high.getAsInteger(10, argument.high);
    }
    arguments.push_back(argument);
  }
  return arguments;
}

std::string moduleText(const RuleCase &c) {
  std::string text = "tandem.mesh @mesh = <[\"x\"=4, \"y\"=3]>\n"
                     "func.func @f(";
  std::vector<Argument> arguments = argumentsOf(c);
  for (size_t i = 0; i < arguments.size(); ++i)
    text += (i ? ", %" : "%") + std::to_string(i) + ": " + arguments[i].type;
  StringRef operation = c.operation;
  StringRef results = operation.rsplit(" -> ").second;
  if (results.empty())
    results = operation.rsplit(" : ").second;
  if (results.consume_front("("))
    results = results.drop_back();
  SmallVector<StringRef> types;
  results.split(types, ", ");
  text += ") -> (" + results.str() +
          ") {\n  %r:" + std::to_string(types.size()) + " = " +
          operation.str() + "\n  return ";
  for (size_t i = 0; i < types.size(); ++i)
    text += (i ? ", %r#" : "%r#") + std::to_string(i);
  text += " : " + results.str() + "\n}\n";
  return text;
}

NamedTensors inputsFor(func::FuncOp function, const RuleCase &c,
                       unsigned seed) {
  NamedTensors inputs;
  std::vector<Argument> arguments = argumentsOf(c);
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto type = cast<RankedTensorType>(argument.getType());
    std::vector<int64_t> shape = toVector(type.getShape());
    Tensor values = isa<FloatType>(type.getElementType())
                        ? random(shape, seed + i)
                        : randomIntegers(shape, arguments[i].low,
                                         arguments[i].high, seed + i);
    for (double &value : values.data())
      value = arguments[i].positive ? std::fabs(value) : value;
    inputs.emplace(argumentName(function, i), values);
  }
  return inputs;
}

Operation *operationOf(ModuleOp module) {
  return &module.lookupSymbol<func::FuncOp>("f").getBody().front().front();
}

//===----------------------------------------------------------------------===//
// A random way to split an operation
//===----------------------------------------------------------------------===//

class RandomSplit {
public:
  RandomSplit(Operation *op, unsigned seed)
      : op(op), rule(cast<ShardingRuleOpInterface>(op).getShardingRule()),
        mesh(meshOf(op)), numbers(seed), axesOf(rule.factors.size()) {
    for (const AxisRef &axis :
         {AxisRef{"x", 1, 2}, AxisRef{"x", 2, 2}, AxisRef{"y", 1, 3}})
      place(axis);
  }

  /// Gives the function and the operation their local types.
  void apply() {
    auto function = op->getParentOfType<func::FuncOp>();
    for (auto [operand, mapping, unreduced] :
         llvm::zip_equal(op->getOperands(), rule.operands, operandTerms()))
      operand.setType(
          typeOf(operand.getType(), mapping, unreduced, ReductionKind::Sum));
    ReductionKind kind = ReductionKind::Sum;
    for (size_t f = 0; f < rule.factors.size(); ++f)
      if (rule.factors[f].kind == FactorKind::Reduction && !axesOf[f].empty())
        kind = rule.factors[f].reduction;
    for (auto [result, mapping] :
         llvm::zip_equal(op->getResults(), rule.results))
      result.setType(
          typeOf(result.getType(), mapping, resultTerms(mapping), kind));
    Operation *end = function.getBody().front().getTerminator();
    function.setFunctionType(FunctionType::get(
        op->getContext(), function.getBody().front().getArgumentTypes(),
        end->getOperandTypes()));
  }

private:
  /// Puts an axis on a factor, on linear operands, or nowhere.
  void place(const AxisRef &axis) {
    size_t choices = rule.factors.size() + 2;
    size_t choice = numbers() % choices;
    if (choice < rule.factors.size()) {
      if (maySplit(choice, axis))
        axesOf[choice].push_back(axis);
    } else if (choice == rule.factors.size()) {
      leaveTerms(axis);
    }
  }

  bool maySplit(size_t factor, const AxisRef &axis) const {
    FactorKind kind = rule.factors[factor].kind;
    if (kind != FactorKind::PassThrough && kind != FactorKind::Reduction)
      return false;
    for (const auto *tensors : {&rule.operands, &rule.results})
      for (const FactorMapping &tensor : *tensors)
        for (const auto &dim : tensor.dims)
          if (dim.size() > 1 && llvm::is_contained(dim, int32_t(factor)))
            // Only the major factor of a dimension, and evenly.
            return dim[0] == int32_t(factor) &&
                   rule.factors[factor].size %
                           (axis.size * sizeOf(axesOf[factor])) ==
                       0;
    return true;
  }

  void leaveTerms(const AxisRef &axis) {
    std::vector<size_t> linear;
    for (size_t i = 0; i < rule.operands.size(); ++i)
      if (rule.operands[i].linear)
        linear.push_back(i);
    if (linear.empty())
      return;
    if (rule.additive) {
      for (size_t i : linear)
        terms[i].push_back(axis);
      return;
    }
    terms[linear[numbers() % linear.size()]].push_back(axis);
  }

  std::vector<AxisList> operandTerms() {
    std::vector<AxisList> lists;
    for (size_t i = 0; i < rule.operands.size(); ++i)
      lists.push_back(terms[i]);
    return lists;
  }

  static bool holds(const FactorMapping &tensor, size_t factor) {
    return llvm::any_of(tensor.dims, [&](const auto &dim) {
      return llvm::is_contained(dim, int32_t(factor));
    });
  }

  /// What passes through to other results is summed in one that lacks it.
  bool isSummed(size_t factor, const FactorMapping &result) const {
    if (rule.factors[factor].kind == FactorKind::Reduction)
      return true;
    return rule.factors[factor].kind == FactorKind::PassThrough &&
           !holds(result, factor) &&
           llvm::any_of(rule.results, [&](const FactorMapping &other) {
             return holds(other, factor);
           });
  }

  AxisList resultTerms(const FactorMapping &result) {
    AxisList list;
    for (size_t i = 0; i < rule.operands.size(); ++i)
      // The terms of a sum are unreduced over the same axes.
      if (rule.operands[i].linear && (list.empty() || !rule.additive))
        list.insert(list.end(), terms[i].begin(), terms[i].end());
    for (size_t f = 0; f < rule.factors.size(); ++f)
      if (isSummed(f, result))
        list.insert(list.end(), axesOf[f].begin(), axesOf[f].end());
    return list;
  }

  Type typeOf(Type type, const FactorMapping &mapping,
              const AxisList &unreduced, ReductionKind kind) {
    auto tensor = cast<RankedTensorType>(type);
    Sharding sharding = Sharding::replicatedOver(tensor.getRank());
    for (size_t d = 0; d < mapping.dims.size(); ++d)
      for (int32_t factor : mapping.dims[d])
        sharding.dims[d].axes.insert(sharding.dims[d].axes.end(),
                                     axesOf[factor].begin(),
                                     axesOf[factor].end());
    sharding.unreduced = unreduced;
    return localType(tensor, ShardingAttr::get(meshNameOf(op), sharding, mesh),
                     mesh, unreduced.empty() ? ReductionKind::Sum : kind);
  }

  Operation *op;
  ShardingRule rule;
  Mesh mesh;
  std::mt19937 numbers;
  std::vector<AxisList> axesOf;     ///< For each factor.
  std::map<size_t, AxisList> terms; ///< Of linear operands.
};

class Rules : public testing::TestWithParam<RuleCase> {};

TEST_P(Rules, FollowFromTheDefinition) {
  Fixture fixture;
  auto module = fixture.parse(moduleText(GetParam()));
  ASSERT_TRUE(module) << fixture.errors() << moduleText(GetParam());
  auto op = cast<ShardingRuleOpInterface>(operationOf(*module));
  EXPECT_EQ(op.getShardingRule().toString(), GetParam().rule);
}

TEST_P(Rules, HoldOnEveryMesh) {
  Fixture fixture;
  auto module = fixture.parse(moduleText(GetParam()));
  ASSERT_TRUE(module) << fixture.errors() << moduleText(GetParam());
  for (unsigned seed = 0; seed < 40; ++seed) {
    NamedTensors inputs = inputsFor(module->lookupSymbol<func::FuncOp>("f"),
                                    GetParam(), 100 * seed);
    OwningOpRef<ModuleOp> split(module->clone());
    RandomSplit(operationOf(*split), seed).apply();
    std::string text;
    llvm::raw_string_ostream(text) << *split;
    ASSERT_TRUE(succeeded(verify(*split))) << fixture.errors() << text;
    Status status = compareEntry(*module, *split, "f", inputs);
    ASSERT_TRUE(status.ok()) << status.message() << "\n" << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, Rules, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<RuleCase> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
