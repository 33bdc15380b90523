#include "runtime/base/Log.h"
#include "runtime/files/checkpoint/CheckpointFolder.h"
#include "runtime/files/checkpoint/Export.h"
#include "tools/commands/Command.h"

#include <filesystem>
#include <iostream>

namespace tandem {
namespace {

using nlohmann::ordered_json;

/// The checkpoints that `path` means: itself, or those of a run's folder in
/// the order of their steps.
Result<std::vector<std::string>> checkpointsAt(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error))
    return Status::refused("'" + path + "' is no folder of checkpoints");
  std::vector<std::string> found;
  for (const auto &[step, checkpoint] : listCheckpoints(path))
    found.push_back(checkpoint);
  if (!found.empty())
    return found;
  if (std::filesystem::exists(path + "/" + CheckpointManifest::kFile, error))
    return std::vector<std::string>{path};
  return Status::refused("'" + path + "' holds no checkpoint: neither " +
                         CheckpointManifest::kFile +
                         " nor folders of the name step-N");
}

std::string sizeText(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB",
                static_cast<double>(bytes) / (1 << 20));
  return text;
}

uint64_t bytesOf(const CheckpointManifest &manifest) {
  uint64_t bytes = 0;
  for (const CheckpointShard &shard : manifest.shards)
    bytes += shard.bytes;
  return bytes;
}

ordered_json describe(const std::string &path,
                      const CheckpointManifest &manifest) {
  return {{"path", path},
          {"step", manifest.step},
          {"mesh", manifest.mesh},
          {"model", manifest.model},
          {"tensors", manifest.tensors.size()},
          {"shards", manifest.shards.size()},
          {"bytes", bytesOf(manifest)}};
}

std::string describeText(const CheckpointManifest &manifest) {
  return "step " + std::to_string(manifest.step) + ", " +
         std::to_string(manifest.tensors.size()) + " tensors in " +
         std::to_string(manifest.shards.size()) + " shards, " +
         sizeText(bytesOf(manifest)) + ", written on " +
         (manifest.mesh.empty() ? "one rank" : manifest.mesh);
}

/// One line or one object for each checkpoint that `path` means; `check` reads
/// them whole. The first that is not as it should be is the outcome.
Status report(const std::string &path, bool check, bool json) {
  TANDEM_ASSIGN(std::vector<std::string> paths, checkpointsAt(path));
  ordered_json list = ordered_json::array();
  Status outcome;
  for (const std::string &each : paths) {
    auto opened = Checkpoint::open(each);
    Status status = opened.status();
    if (status.ok() && check)
      status = (*opened)->checkAll();
    if (outcome.ok())
      outcome = status;
    ordered_json row = {{"path", each}};
    if (opened.ok())
      row = describe(each, (*opened)->manifest());
    row["whole"] = status.ok();
    if (!status.ok())
      row["damage"] = status.message();
    list.push_back(row);
    if (!json && status.ok())
      std::cout << each << ": " << (check ? "whole: " : "")
                << describeText((*opened)->manifest()) << "\n";
    else if (!json)
      std::cout << each << ": damaged\n";
  }
  if (json)
    std::cout << list.dump(2) << "\n";
  return outcome;
}

Status exportNewest(const std::string &path, const std::string &target) {
  TANDEM_ASSIGN(std::vector<std::string> paths, checkpointsAt(path));
  TANDEM_ASSIGN(auto checkpoint, Checkpoint::open(paths.back()));
  TANDEM_ASSIGN(ExportReport report, exportCheckpoint(*checkpoint, target));
  for (const std::string &missing : report.missing)
    logWarning("not exported, for the file is gone or another: " + missing);
  std::cout << target << ": step " << checkpoint->manifest().step << ", "
            << report.tensors << " tensors, " << sizeText(report.bytes)
            << ", in";
  for (const std::string &file : report.files)
    std::cout << " " << file;
  std::cout << "\n";
  return Status();
}

struct CheckpointFlags {
  std::string path, output;
  bool json = false;
};

CLI::App *addPart(CLI::App *command, const char *name, const char *description,
                  const char *example, CheckpointFlags &flags) {
  CLI::App *part = command->add_subcommand(name, description);
  part->footer(std::string("Example:\n  ") + example);
  part->add_option("D", flags.path,
                   "A checkpoint, or the --checkpoint-dir of a run")
      ->required();
  return part;
}

} // namespace

void addCheckpoint(Program &program) {
  CLI::App *command = program.command(
      "checkpoint", "List, verify or export what `tandem train` wrote",
      "tandem checkpoint export out -o my-model");
  command->require_subcommand(1);
  auto flags = std::make_shared<CheckpointFlags>();
  CLI::App *list = addPart(command, "list", "What a folder's checkpoints hold",
                           "tandem checkpoint list out", *flags);
  list->add_flag("--json", flags->json, "Print a list of objects");
  program.onRun(list,
                [flags] { return report(flags->path, false, flags->json); });

  CLI::App *verify =
      addPart(command, "verify",
              "Read checkpoints whole: sizes, checksums, and that the pieces "
              "of every tensor tile it",
              "tandem checkpoint verify out/step-200", *flags);
  verify->add_flag("--json", flags->json, "Print a list of objects");
  program.onRun(verify,
                [flags] { return report(flags->path, true, flags->json); });

  CLI::App *exporting = addPart(
      command, "export",
      "Write a Hugging Face directory of the newest checkpoint's weights",
      "tandem checkpoint export out -o my-model", *flags);
  exporting
      ->add_option("-o,--output", flags->output,
                   "The directory, which must be new or empty")
      ->required();
  program.onRun(exporting,
                [flags] { return exportNewest(flags->path, flags->output); });
}

} // namespace tandem
