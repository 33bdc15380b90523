#include "runtime/files/checkpoint/Export.h"

#include "runtime/files/Disk.h"
#include "runtime/files/ReadView.h"
#include "runtime/files/Safetensors.h"
#include "runtime/files/SafetensorsWriter.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <unistd.h>

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// What a model's directory has beside its weights and config.json.
constexpr const char *kCompanions[] = {"tokenizer.json",
                                       "tokenizer_config.json",
                                       "special_tokens_map.json",
                                       "added_tokens.json",
                                       "vocab.json",
                                       "merges.txt",
                                       "vocab.txt",
                                       "tokenizer.model",
                                       "spiece.model",
                                       "chat_template.jinja",
                                       "generation_config.json"};

/// A tensor of the export: from parameters, from the model's files, or both.
struct WholeTensor {
  TensorHeader header;
  std::vector<const CheckpointTensor *> views;
  const StoredTensor *before = nullptr; ///< In the model's files.

  uint64_t bytes() const {
    return static_cast<uint64_t>(storageBytes(
        header.dtype, static_cast<int64_t>(*elementCount(header.shape))));
  }
};

/// The elements that a view reads, whatever order it gives them.
using Footprint = std::pair<uint64_t, std::vector<std::pair<int64_t, int64_t>>>;

Footprint footprintOf(const CheckpointTensor &view) {
  Footprint footprint{view.stored->offset, {}};
  for (size_t i = 0; i < view.shape.size(); ++i)
    if (view.shape[i] != 1)
      footprint.second.push_back({view.stored->strides[i], view.shape[i]});
  std::sort(footprint.second.begin(), footprint.second.end());
  return footprint;
}

/// Elements that some view holds; views are apart or read the same.
uint64_t coveredBy(const std::vector<const CheckpointTensor *> &views) {
  std::set<Footprint> seen;
  uint64_t covered = 0;
  for (const CheckpointTensor *view : views)
    if (seen.insert(footprintOf(*view)).second)
      covered += *elementCount(view->shape);
  return covered;
}

class Exporter {
public:
  Exporter(const Checkpoint &checkpoint, std::string folder,
           const ExportOptions &options)
      : checkpoint(checkpoint), folder(std::move(folder)), options(options) {}

  Result<ExportReport> run() {
    if (!manifest().config.is_object())
      return Status::refused(
          "the checkpoint '" + checkpoint.path() +
          "' holds no config.json: its model '" + manifest().model +
          "' had none; only a model of Hugging Face's layout can be exported");
    openSources();
    TANDEM_TRY(collect());
    TANDEM_TRY(writeWeights());
    TANDEM_TRY(write("config.json", manifest().config.dump(2) + "\n"));
    TANDEM_TRY(copyCompanions());
    return std::move(report);
  }

private:
  const CheckpointManifest &manifest() const { return checkpoint.manifest(); }

  /// The model's files as they were when it was compiled; others do not count.
  void openSources() {
    for (const CheckpointSource &source : manifest().sources) {
      Result<TensorStore> store = readSafetensors(source.path);
      if (store.ok() &&
          store->files().front().fingerprint == source.fingerprint)
        sources.push_back(std::move(*store));
      else
        report.missing.push_back("what '" + source.path +
                                 "' held and the plan did not use");
    }
  }

  Status collect() {
    for (const CheckpointTensor &tensor : manifest().tensors) {
      if (!tensor.stored)
        continue;
      WholeTensor &whole = tensors[tensor.stored->key];
      whole.header = {tensor.stored->key, tensor.stored->dtype,
                      tensor.stored->shape};
      whole.views.push_back(&tensor);
    }
    for (const TensorStore &store : sources)
      for (const StoredTensor &stored : store.tensors()) {
        WholeTensor &whole = tensors[stored.name];
        if (whole.views.empty())
          whole.header = {stored.name, stored.dtype, stored.shape};
        whole.before = &stored;
      }
    for (const auto &[name, whole] : tensors)
      TANDEM_TRY(checkComplete(whole).withContext("tensor '" + name + "'"));
    return Status();
  }

  static Status checkComplete(const WholeTensor &whole) {
    uint64_t all = *elementCount(whole.header.shape);
    uint64_t covered = coveredBy(whole.views);
    bool fits = whole.before && whole.before->shape == whole.header.shape &&
                whole.before->dtype == whole.header.dtype;
    if (covered >= all || fits)
      return Status();
    return Status::refused("the checkpoint holds " + std::to_string(covered) +
                           " of its " + std::to_string(all) +
                           " elements, and the model's file, which held the "
                           "others, is gone or another");
  }

  Status assemble(const WholeTensor &whole, std::vector<std::byte> &out) const {
    out.resize(whole.bytes());
    if (whole.before)
      std::memcpy(out.data(), whole.before->data, out.size());
    for (const CheckpointTensor *view : whole.views) {
      Box box{std::vector<int64_t>(view->shape.size(), 0), view->shape};
      auto offset = static_cast<int64_t>(view->stored->offset) *
                    blockBytes(whole.header.dtype);
      TANDEM_TRY(checkpoint.read(*view, box, whole.header.dtype,
                                 out.data() + offset, view->stored->strides));
    }
    return Status();
  }

  /// Names by file, in name order, each file within the limit where a single
  /// tensor allows.
  std::vector<std::vector<std::string>> distribute() const {
    std::vector<std::vector<std::string>> files(1);
    uint64_t filled = 0;
    for (const auto &[name, whole] : tensors) {
      if (filled != 0 && filled + whole.bytes() > options.bytesPerFile) {
        files.emplace_back();
        filled = 0;
      }
      files.back().push_back(name);
      filled += whole.bytes();
    }
    return files;
  }

  Status writeWeights() {
    std::vector<std::vector<std::string>> files = distribute();
    nlohmann::ordered_json places = nlohmann::ordered_json::object();
    for (size_t i = 0; i < files.size(); ++i) {
      char name[64] = "model.safetensors";
      if (files.size() > 1)
        std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors",
                      i + 1, files.size());
      TANDEM_TRY(writeFile(name, files[i]));
      for (const std::string &tensor : files[i])
        places[tensor] = name;
    }
    if (files.size() == 1)
      return Status();
    nlohmann::ordered_json index = {
        {"metadata", {{"total_size", report.bytes}}}, {"weight_map", places}};
    return write("model.safetensors.index.json", index.dump(2) + "\n");
  }

  Status writeFile(const std::string &name,
                   const std::vector<std::string> &names) {
    std::vector<TensorHeader> headers;
    for (const std::string &each : names)
      headers.push_back(tensors.at(each).header);
    // Readers want to know whose tensors these are like.
    TANDEM_ASSIGN(SafetensorsWriter writer,
                  SafetensorsWriter::create(folder + "/" + name, headers,
                                            {{"format", "pt"}}));
    std::vector<std::byte> whole;
    for (const std::string &each : names) {
      TANDEM_TRY(assemble(tensors.at(each), whole)
                     .withContext("tensor '" + each + "'"));
      TANDEM_TRY(writer.write(each, 0, whole.data(), whole.size()));
      ++report.tensors;
      report.bytes += whole.size();
    }
    report.files.push_back(name);
    return writer.commit();
  }

  Status write(const std::string &name, const std::string &text) {
    TANDEM_ASSIGN(NewFile file, NewFile::create(folder + "/" + name));
    TANDEM_TRY(file.write(text));
    report.files.push_back(name);
    return file.commit();
  }

  Status copyCompanions() {
    for (const char *name : kCompanions) {
      std::string path = manifest().model + "/" + name;
      std::error_code error;
      if (!fs::is_regular_file(path, error))
        continue;
      TANDEM_ASSIGN(auto file, MappedFile::open(path));
      TANDEM_TRY(write(name, std::string(file->text())));
    }
    std::error_code error;
    for (const CheckpointSource &source : manifest().tokenizer)
      if (!fs::exists(source.path, error))
        report.missing.push_back("'" + source.path + "'");
    return Status();
  }

  const Checkpoint &checkpoint;
  std::string folder;
  ExportOptions options;
  std::vector<TensorStore> sources;
  std::map<std::string, WholeTensor> tensors;
  ExportReport report;
};

Status checkTarget(const std::string &folder) {
  std::error_code error;
  if (!fs::exists(folder, error) || fs::is_empty(folder, error))
    return Status();
  return Status::refused("cannot write '" + folder +
                         "': it is there and not empty");
}

} // namespace

Result<ExportReport> exportCheckpoint(const Checkpoint &checkpoint,
                                      const std::string &folder,
                                      const ExportOptions &options) {
  TANDEM_TRY(checkTarget(folder));
  TANDEM_TRY(checkpoint.checkAll());
  std::string target = fs::path(folder + "/").parent_path().string();
  std::string unfinished = target + "." + std::to_string(::getpid()) + ".tmp";
  TANDEM_TRY(realDisk().makeFolder(unfinished));
  Result<ExportReport> report = Exporter(checkpoint, unfinished, options).run();
  Status status = report.status();
  if (status.ok())
    status = realDisk().rename(unfinished, target);
  if (!status.ok()) {
    (void)realDisk().remove(unfinished).ok();
    return status;
  }
  return report;
}

} // namespace tandem
