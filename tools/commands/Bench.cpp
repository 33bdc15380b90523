#include "runtime/session/Bench.h"

#include "runtime/base/Log.h"
#include "tools/commands/World.h"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

std::string jsonOf(const BenchResult &r) {
  nlohmann::json object;
  object["decode_tokens_per_s"] = r.decodeTokensPerSecond;
  object["decode_share"] = r.decodeShare;
  object["prefill_tokens_per_s"] = r.prefillTokensPerSecond;
  object["prefill_share"] = r.prefillShare;
  object["prefill_tokens"] = r.prefillTokens;
  object["bytes_per_token"] = r.bytesPerToken;
  object["read_gb_per_s"] = r.readGbPerSecond;
  object["sgemm_gflop_per_s"] = r.sgemmGflopPerSecond;
  return object.dump();
}

std::string textOf(const BenchResult &r) {
  char text[512];
  std::snprintf(
      text, sizeof text,
      "decode   %8.1f tokens/s  %5.1f %% of %.1f GB/s read bandwidth\n"
      "prefill  %8.1f tokens/s  %5.1f %% of %.1f GFLOP/s sgemm peak "
      "(%lld tokens)",
      r.decodeTokensPerSecond, r.decodeShare * 100, r.readGbPerSecond,
      r.prefillTokensPerSecond, r.prefillShare * 100, r.sgemmGflopPerSecond,
      static_cast<long long>(r.prefillTokens));
  return text;
}

} // namespace

void addBench(Program &program) {
  CLI::App *command = program.command(
      "bench", "Measure tokens per second beside this machine's peaks",
      "tandem bench SmolLM2.gguf --threads 2");
  struct Options {
    PlanRequest request;
    WorldOptions world;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  options->request.maxSeq = 512;
  command->add_option("PLAN|MODEL", options->request.path, "A plan or a model")
      ->required();
  command->add_option("--mesh", options->request.mesh, "For a model: the mesh");
  command
      ->add_option("--dtype", options->request.dtype,
                   "For a model: stored type of weights at run time")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command
      ->add_option("--max-seq", options->request.maxSeq,
                   "For a model: room of the cache (default 512)")
      ->check(atLeast(1));
  command->add_flag("--json", options->json, "Print one JSON object");
  options->world.addTo(command);
  program.onRun(command, [&program, options] {
    return runInWorld(
        program, options->request, options->world,
        [&](Session &session) -> Status {
          BenchOptions bench;
          bench.progress = [](const char *phase) { logInfo(phase); };
          TANDEM_ASSIGN(BenchResult result, tandem::bench(session, bench));
          std::cout << (options->json ? jsonOf(result) : textOf(result))
                    << std::endl;
          return Status();
        });
  });
}

} // namespace tandem
