#include "test/ir/ReferenceModules.h"

#include "ir/reference/Distribution.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;

namespace tandem::test {

Fixture::Fixture() {
  context_.loadDialect<TandemDialect, func::FuncDialect>();
  handler_ = context_.getDiagEngine().registerHandler([&](Diagnostic &d) {
    errors_ += d.str() + "\n";
    for (Diagnostic &note : d.getNotes())
      errors_ += "note: " + note.str() + "\n";
  });
}

Fixture::~Fixture() { context_.getDiagEngine().eraseHandler(handler_); }

OwningOpRef<ModuleOp> Fixture::parse(StringRef text, bool verify) {
  return parseSourceString<ModuleOp>(text, ParserConfig(&context_, verify));
}

std::string Fixture::errorOf(StringRef text, const NamedTensors &inputs,
                             bool verify) {
  OwningOpRef<ModuleOp> module = parse(text, verify);
  EXPECT_TRUE(module) << errors_;
  bool fails = module && failed(evaluateEntry(*module, "f", inputs));
  EXPECT_TRUE(fails);
  return errors_;
}

std::vector<Tensor> Fixture::run(StringRef text,
                                 const std::vector<Tensor> &inputs) {
  OwningOpRef<ModuleOp> module = parse(text);
  EXPECT_TRUE(module) << errors_;
  if (!module)
    return {};
  auto results = evaluate(module->lookupSymbol<func::FuncOp>("f"), inputs);
  EXPECT_TRUE(succeeded(results)) << errors_;
  return succeeded(results) ? std::move(*results) : std::vector<Tensor>();
}

Tensor tensor(const std::vector<int64_t> &shape,
              const std::vector<double> &values) {
  return Tensor::whole(shape, values);
}

static size_t countOf(const std::vector<int64_t> &shape) {
  size_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Tensor random(const std::vector<int64_t> &shape, unsigned seed) {
  std::mt19937 numbers(seed);
  std::vector<double> values(countOf(shape));
  for (double &value : values)
    value = numbers() / 2147483648.0 - 1;
  return tensor(shape, values);
}

Tensor randomIntegers(const std::vector<int64_t> &shape, int64_t low,
                      int64_t high, unsigned seed) {
  std::mt19937 numbers(seed);
  std::vector<double> values(countOf(shape));
  for (double &value : values)
    value = static_cast<double>(low + numbers() % (high - low + 1));
  return tensor(shape, values);
}

void expectEqual(const Tensor &got, const Tensor &expected) {
  ASSERT_EQ(got.rank(), expected.rank());
  for (size_t d = 0; d < got.rank(); ++d)
    ASSERT_EQ(got.dim(d).capacity, expected.dim(d).capacity);
  for (size_t i = 0; i < got.data().size(); ++i)
    EXPECT_TRUE(agree(expected.data()[i], got.data()[i], 1e-12))
        << "element " << i << " is " << got.data()[i] << ", expected "
        << expected.data()[i];
}

} // namespace tandem::test
