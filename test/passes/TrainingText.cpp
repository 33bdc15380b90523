#include "test/passes/TrainingText.h"

#include <map>
#include <vector>

namespace tandem::test {
namespace {

const char *const header = R"(
!x = tensor<MICROBATCHESx4x6xf32>
!h = tensor<4x6xf32>
!w = tensor<6x6xf32>
!s = tensor<f32>
tandem.mesh @mesh = <[MESH]>
)";

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// Writes one step, line by line.
class Writer {
public:
  explicit Writer(const TrainingStep &step) : step(step) {}

  std::string text() {
    forward();
    backward();
    update();
    std::string module =
        replaced(replaced(header, "MESH", step.mesh), "MICROBATCHES",
                 std::to_string(step.microbatches));
    return module + "func.func @train(" + arguments() + ") -> (" + results() +
           ") {\n" + body + "}\n";
  }

private:
  int64_t weights() const { return step.layers - (step.tied ? 1 : 0); }
  std::string weightOf(int64_t layer) const {
    return std::to_string(layer % weights());
  }
  static std::string at(const std::string &name, int64_t index) {
    return "%" + name + std::to_string(index);
  }

  /// `what` has a `$` where its attributes stand.
  void line(const std::string &what, int64_t layer, bool backward = false) {
    std::string attributes = "{tandem.layer = " + std::to_string(layer) +
                             " : i64" + (backward ? ", tandem.backward" : "") +
                             "}";
    body += "  " + replaced(what, "$", attributes) + "\n";
  }

  void forward() {
    line("%h0 = tandem.microbatch %x $ : (!x) -> !h", 0);
    for (int64_t i = 0; i < step.layers; ++i) {
      line(at("z", i) + " = tandem.einsum \"bd,de->be\" " + at("h", i) +
               ", %w" + weightOf(i) + " $ : (!h, !w) -> !h",
           i);
      line(at("t", i) + " = tandem.unary tanh, " + at("z", i) + " $ : !h", i);
      line(at("h", i + 1) + " = tandem.sum " + at("h", i) + ", " + at("t", i) +
               " $ : !h",
           i);
    }
    std::string last = at("h", step.layers);
    line("%square = tandem.binary mul, " + last + ", " + last + " $ : !h",
         step.layers);
    line("%part = tandem.reduce sum, %square [0, 1] $ : (!h) -> !s",
         step.layers);
    line("%loss = tandem.accumulate %part $ : (!s) -> !s", step.layers);
  }

  void backward() {
    std::string last = at("h", step.layers);
    line(at("d", step.layers) + " = tandem.sum " + last + ", " + last +
             " $ : !h",
         step.layers, true);
    body += "  %ones = tandem.constant dense<1.0> : !h\n";
    for (int64_t i = step.layers - 1; i >= 0; --i) {
      std::string n = std::to_string(i), up = at("d", i + 1);
      line("%tt" + n + " = tandem.binary mul, %t" + n + ", %t" + n + " $ : !h",
           i, true);
      line("%e" + n + " = tandem.binary sub, %ones, %tt" + n + " $ : !h", i,
           true);
      line("%dz" + n + " = tandem.binary mul, " + up + ", %e" + n + " $ : !h",
           i, true);
      line("%dw" + n + " = tandem.einsum \"bd,be->de\" %h" + n + ", %dz" + n +
               " $ : (!h, !h) -> !w",
           i, true);
      line("%a" + n + " = tandem.accumulate %dw" + n + " $ : (!w) -> !w", i,
           true);
      if (i == 0)
        return;
      line("%dx" + n + " = tandem.einsum \"be,de->bd\" %dz" + n + ", %w" +
               weightOf(i) + " $ : (!h, !w) -> !h",
           i, true);
      // As autodiff may: with the layer of what the gradient is of.
      line("%d" + n + " = tandem.sum " + up + ", %dx" + n + " $ : !h", i - 1,
           true);
    }
  }

  void update() {
    std::string squares;
    for (int64_t i = 0; i < weights(); ++i) {
      std::string n = std::to_string(i);
      bool both = step.tied && i == 0;
      std::string gradient = both ? "%g0" : "%a" + n;
      if (both)
        line("%g0 = tandem.sum %a" + std::to_string(step.layers - 1) +
                 ", %a0 $ : !w",
             0);
      line("%q" + n + " = tandem.binary mul, " + gradient + ", " + gradient +
               " $ : !w",
           i);
      line("%n" + n + " = tandem.reduce sum, %q" + n + " [0, 1] $ : (!w) -> !s",
           i);
      squares += (i ? ", %n" : "%n") + n;
    }
    line("%all = tandem.sum " + squares + " $ : !s", 0);
    line("%norm = tandem.unary sqrt, %all $ : !s", 0);
    body += "  %one = tandem.constant dense<1.0> : !s\n";
    line("%more = tandem.sum %norm, %one $ : !s", 0);
    line("%rate = tandem.binary div, %lr, %more $ : !s", 0);
    for (int64_t i = 0; i < weights(); ++i) {
      std::string n = std::to_string(i);
      std::string gradient = step.tied && i == 0 ? "%g0" : "%a" + n;
      line("%r" + n + " = tandem.broadcast_in_dim %rate [] $ : (!s) -> !w", i);
      line("%u" + n + " = tandem.binary mul, %r" + n + ", " + gradient +
               " $ : !w",
           i);
      line("%m" + n + " = tandem.sum %v" + n + ", %u" + n + " $ : !w", i);
      line("%p" + n + " = tandem.binary sub, %w" + n + ", %m" + n + " $ : !w",
           i);
    }
    std::string values = "%loss, %norm", types = "!s, !s";
    for (int64_t i = 0; i < weights(); ++i) {
      values += ", " + at("p", i) + ", " + at("m", i);
      types += ", !w, !w";
    }
    body += "  return " + values + " : " + types + "\n";
  }

  std::string arguments() const {
    std::string text = R"(%x: !x {tandem.input = "x"}, )"
                       R"(%lr: !s {tandem.input = "learning_rate"})";
    for (int64_t i = 0; i < weights(); ++i) {
      std::string n = std::to_string(i);
      text += ", %w" + n + ": !w {tandem.parameter = #tandem.view<\"w" + n +
              "\">, tandem.aliases = " + std::to_string(2 + 2 * i) +
              " : i64}, %v" + n + ": !w {tandem.state = \"momentum.w" + n +
              "\", tandem.aliases = " + std::to_string(3 + 2 * i) + " : i64}";
    }
    return text;
  }

  std::string results() const {
    std::string text = R"(!s {tandem.output = "loss"}, )"
                       R"(!s {tandem.output = "grad_norm"})";
    for (int64_t i = 0; i < weights(); ++i)
      text +=
          ", !w, !w {tandem.state = \"momentum.w" + std::to_string(i) + "\"}";
    return text;
  }

  const TrainingStep &step;
  std::string body;
};

} // namespace

std::string TrainingStep::text() const { return Writer(*this).text(); }

} // namespace tandem::test
