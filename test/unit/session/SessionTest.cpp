#include "runtime/session/Session.h"
#include "runtime/files/Fingerprint.h"
#include "runtime/files/MappedFile.h"
#include "runtime/files/SafetensorsWriter.h"
#include "runtime/session/DrawnTensor.h"
#include "runtime/session/TraceFile.h"
#include "test/unit/exec/MlpSketch.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tandem {
namespace {

/// The MLP's plan and a file of its weights, in a folder of its own.
class SessionTest : public testing::Test {
protected:
  SessionTest() {
    folder = std::filesystem::temp_directory_path() /
             ("tandem-session-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder);
  }
  ~SessionTest() override { std::filesystem::remove_all(folder); }

  template <typename Value>
  static std::vector<float> tensor(int64_t rows, int64_t columns,
                                   const Value &value) {
    std::vector<float> data;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        data.push_back(static_cast<float>(value({i, j})));
    return data;
  }

  std::string writeWeights(const std::string &name, float scale = 1) {
    std::vector<float> w1 = tensor(mlp.f, mlp.d, Mlp::weight1);
    std::vector<float> w2 = tensor(mlp.o, mlp.f, Mlp::weight2);
    for (float &element : w2)
      element *= scale;
    std::string path = folder / name;
    Status status = writeSafetensors(
        path, {{{"w1", DType::F32, {mlp.f, mlp.d}}, w1.data()},
               {{"w2", DType::F32, {mlp.o, mlp.f}}, w2.data()}});
    EXPECT_TRUE(status.ok()) << status.message();
    return path;
  }

  /// The plan with `path` as its source.
  std::shared_ptr<const Plan> withSource(const Plan &plan,
                                         const std::string &path) {
    std::unique_ptr<fb::PlanT> native(plan.table().UnPack());
    std::ifstream file(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    Fingerprint print = fingerprintOf(
        reinterpret_cast<const std::byte *>(bytes.data()), bytes.size());
    auto source = std::make_unique<fb::SourceT>();
    source->path = path;
    source->size = print.size;
    source->hash = print.hash;
    native->sources.push_back(std::move(source));
    Result<Plan> result = Plan::fromNative(*native);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::make_shared<const Plan>(std::move(*result));
  }

  HostTensors inputs() const {
    std::vector<float> data = tensor(mlp.b, mlp.d, Mlp::input);
    HostTensor x(DType::F32, {mlp.b, mlp.d});
    std::memcpy(x.data.data(), data.data(), x.data.size());
    return {{"x", x}};
  }

  void expectY(const HostTensors &outputs) const {
    ASSERT_EQ(outputs.size(), 1u);
    const HostTensor &y = outputs.at("y");
    ASSERT_EQ(y.shape, (std::vector<int64_t>{mlp.b, mlp.o}));
    for (int64_t i = 0; i < mlp.b; ++i)
      for (int64_t j = 0; j < mlp.o; ++j)
        EXPECT_NEAR(y.as<float>()[i * mlp.o + j], mlp.expectedY({i, j}), 1e-5);
  }

  void runOnce(const std::shared_ptr<const Plan> &plan,
               const SessionOptions &options) {
    auto session = createLocalSession(plan, options);
    ASSERT_TRUE(session.ok()) << session.status().toString();
    for (int step = 0; step < 3; ++step) {
      Result<HostTensors> outputs = (*session)->run("forward", inputs());
      ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
      expectY(*outputs);
    }
  }

  Mlp mlp;
  std::filesystem::path folder;
};

TEST_F(SessionTest, LoadsSlicesAndRuns) {
  std::string path = writeWeights("model.safetensors");
  for (int64_t tp : {1, 2, 3, 8})
    runOnce(withSource(mlp.tensorParallel(tp), path), SessionOptions());
  runOnce(withSource(mlp.pipelined(), path), SessionOptions());
  SessionOptions chaos;
  chaos.device = "chaos";
  chaos.threads = 2;
  runOnce(withSource(mlp.tensorParallel(2), path), chaos);
}

TEST_F(SessionTest, TracesEveryInstruction) {
  std::string path = writeWeights("model.safetensors");
  auto session = createLocalSession(withSource(mlp.tensorParallel(2), path),
                                    SessionOptions());
  ASSERT_TRUE(session.ok()) << session.status().toString();
  ASSERT_TRUE(beginTrace(**session, 100).ok());
  ASSERT_TRUE((*session)->run("forward", inputs()).ok());
  std::string file = (folder / "trace.json").string();
  Status written = writeTrace(**session, file);
  ASSERT_TRUE(written.ok()) << written.message();
  std::ifstream stream(file);
  std::map<std::string, int> seen;
  nlohmann::json trace = nlohmann::json::parse(stream);
  for (const auto &event : trace["traceEvents"]) {
    std::string text = event["name"].get<std::string>() + " of " +
                       std::to_string(event["pid"].get<int>());
    if (event["ph"] == "X") {
      text += " at " + event["args"]["location"].get<std::string>();
      EXPECT_GE(event["dur"].get<double>(), 0);
    } else {
      text += ": " + event["args"]["name"].get<std::string>();
    }
    ++seen[text];
  }
  std::map<std::string, int> expected;
  for (std::string rank : {"0", "1"}) {
    expected["process_name of " + rank + ": rank " + rank + " (tp " + rank +
             ")"] = 1;
    expected["thread_name of " + rank + ": stream 0"] = 1;
    expected["einsum of " + rank + " at mlp.up"] = 1;
    expected["map of " + rank + " at mlp.act"] = 1;
    expected["einsum of " + rank + " at mlp.down"] = 1;
    expected["all_reduce of " + rank + " at mlp.reduce"] = 1;
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(SessionTest, ANewModelIsTheSameOnEveryLayout) {
  DrawnTensor w1(5, "w1", 0, 0.02), w2(5, "w2", 0, 0.02);
  SessionOptions options;
  options.init = 5;
  for (int64_t tp : {1, 2, 3, 8}) {
    auto session = createLocalSession(
        std::make_shared<const Plan>(mlp.tensorParallel(tp)), options);
    ASSERT_TRUE(session.ok()) << session.status().toString();
    HostTensor y = (*session)->run("forward", inputs())->at("y");
    for (int64_t i = 0; i < mlp.b; ++i)
      for (int64_t o = 0; o < mlp.o; ++o) {
        double expected = 0;
        for (int64_t f = 0; f < mlp.f; ++f) {
          double h = 0;
          for (int64_t d = 0; d < mlp.d; ++d)
            h += Mlp::input({i, d}) *
                 w1.element(static_cast<uint64_t>(f * mlp.d + d));
          expected += std::max(h, 0.0) *
                      w2.element(static_cast<uint64_t>(o * mlp.f + f));
        }
        EXPECT_NEAR(y.as<float>()[i * mlp.o + o], expected, 1e-8) << tp;
      }
  }
}

TEST_F(SessionTest, ReportsProgress) {
  std::string path = writeWeights("model.safetensors");
  SessionOptions options;
  int64_t done = 0, total = 0;
  options.progress = [&](int64_t d, int64_t t) { done = d, total = t; };
  runOnce(withSource(mlp.tensorParallel(2), path), options);
  EXPECT_EQ(total, (mlp.f * mlp.d + mlp.o * mlp.f) * 4);
  EXPECT_EQ(done, total);
}

TEST_F(SessionTest, WeightsMayMoveButNotChange) {
  std::string path = writeWeights("model.safetensors");
  auto plan = withSource(mlp.tensorParallel(2), path);
  std::filesystem::path other = folder / "other";
  std::filesystem::create_directories(other);
  std::filesystem::rename(path, other / "model.safetensors");
  Status missing = createLocalSession(plan, SessionOptions()).status();
  EXPECT_EQ(missing.code(), StatusCode::Refused);
  EXPECT_NE(missing.message().find("--weights DIR"), std::string::npos)
      << missing.message();
  SessionOptions options;
  options.weights = other;
  runOnce(plan, options);
  options.weights = other / "model.safetensors";
  runOnce(plan, options);

  writeWeights("other/model.safetensors", 2);
  Status changed = createLocalSession(plan, options).status();
  EXPECT_EQ(changed.code(), StatusCode::Refused);
  EXPECT_NE(changed.message().find("fingerprint"), std::string::npos)
      << changed.message();
  EXPECT_NE(changed.message().find("expected"), std::string::npos);
}

TEST_F(SessionTest, UnknownInputsAreListed) {
  std::string path = writeWeights("model.safetensors");
  auto session = createLocalSession(withSource(mlp.tensorParallel(2), path),
                                    SessionOptions());
  ASSERT_TRUE(session.ok());
  HostTensors given = inputs();
  given["z"] = HostTensor(DType::F32, {1});
  EXPECT_EQ((*session)->run("forward", given).status().message(),
            "entry 'forward' has no input 'z'; its inputs are x");
  EXPECT_EQ((*session)->run("backward", inputs()).status().message(),
            "the plan has no entry 'backward'; its entries are forward");
  EXPECT_EQ((*session)->run("forward", {}).status().message(),
            "input 'x': missing; entry 'forward' needs x");
  given = inputs();
  given["x"] = HostTensor(DType::F32, {mlp.b, mlp.d + 1});
  EXPECT_EQ((*session)->run("forward", given).status().message(),
            "input 'x': the shape is [3, 6], expected [3, 5]");
  given = inputs();
  given["labels"] = HostTensor(DType::I64, {1, 1});
  Result<HostTensors> outputs = (*session)->run("forward", given);
  ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
  expectY(*outputs);
}

TEST_F(SessionTest, InputsOfOtherTypesConvertExactly) {
  std::string path = writeWeights("model.safetensors");
  auto session = createLocalSession(withSource(mlp.tensorParallel(2), path),
                                    SessionOptions());
  ASSERT_TRUE(session.ok());
  HostTensors given = inputs();
  given["x"] = *convertExactly(given["x"], DType::F64);
  Result<HostTensors> outputs = (*session)->run("forward", given);
  ASSERT_TRUE(outputs.ok());
  expectY(*outputs);
  given["x"].as<double>()[0] = 0.1;
  EXPECT_EQ((*session)->run("forward", given).status().message(),
            "input 'x': element 0 is 0.10000000000000001, which is no f32 "
            "value");
}

/// Sets TANDEM_FAULT while it lives.
struct PlantedFault {
  explicit PlantedFault(const char *text) { setenv("TANDEM_FAULT", text, 1); }
  ~PlantedFault() { unsetenv("TANDEM_FAULT"); }
};

TEST_F(SessionTest, AFailedRankEndsTheSession) {
  PlantedFault fault("1:einsum:3:fail");
  auto session = createLocalSession(
      withSource(mlp.tensorParallel(2), writeWeights("model.safetensors")),
      SessionOptions());
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE((*session)->run("forward", inputs()).ok());
  Status status = (*session)->run("forward", inputs()).status();
  EXPECT_EQ(status.code(), StatusCode::RankFailed);
  EXPECT_EQ(status.rank, 1);
  EXPECT_EQ(status.step, 1);
  EXPECT_EQ(status.instruction, "einsum #0");
  EXPECT_EQ(status.location, "mlp.up");
  EXPECT_FALSE((*session)->stuck());
  EXPECT_FALSE((*session)->run("forward", inputs()).ok());
}

TEST_F(SessionTest, AStuckKernelIsLeftBehind) {
  PlantedFault fault("0:map:1:hang");
  SessionOptions options;
  options.deadlineSeconds = 0.5;
  auto session = createLocalSession(
      withSource(mlp.tensorParallel(2), writeWeights("model.safetensors")),
      options);
  ASSERT_TRUE(session.ok());
  auto start = std::chrono::steady_clock::now();
  Status status = (*session)->run("forward", inputs()).status();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 5);
  EXPECT_EQ(status.code(), StatusCode::RankFailed);
  EXPECT_NE(status.toString().find("map #1"), std::string::npos)
      << status.toString();
  EXPECT_TRUE((*session)->stuck());
  EXPECT_FALSE((*session)->run("forward", inputs()).ok());
}

} // namespace
} // namespace tandem
