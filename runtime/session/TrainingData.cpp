#include "runtime/session/TrainingData.h"

#include "runtime/files/TensorStore.h"
#include "runtime/session/Windows.h"

#include <algorithm>
#include <filesystem>

namespace tandem {
namespace {

/// Windows of a corpus.
class CorpusData final : public TrainingData {
public:
  CorpusData(TokenStream stream, const DataRequest &request)
      : stream(std::move(stream)), rows(request.rows),
        sequence(request.sequence), columns(sequence + request.labelsBehind),
        cut(this->stream.size(), request.sequence, request.seed) {}

  Result<HostTensors> rowsFrom(int64_t window) const override {
    HostTensor ids(DType::I32, {rows, sequence});
    HostTensor labels(DType::I32, {rows, columns});
    for (int64_t row = 0; row < rows; ++row) {
      int32_t *to = labels.as<int32_t>() + row * columns;
      TANDEM_TRY(stream.read(cut.begin(window + row), columns, to));
      std::copy_n(to, sequence, ids.as<int32_t>() + row * sequence);
    }
    return HostTensors{{"input_ids", std::move(ids)},
                       {"labels", std::move(labels)}};
  }

  int64_t windows() const override { return cut.count(); }

  std::string summary() const override {
    std::string text = std::to_string(stream.size()) + " tokens, " +
                       std::to_string(cut.count()) + " windows of " +
                       std::to_string(sequence) + " + 1";
    if (cut.dropped() > 0)
      text += "; " + std::to_string(cut.dropped()) +
              " tokens at the end are less than a window and left out";
    return text;
  }

private:
  TokenStream stream;
  int64_t rows, sequence, columns;
  Windows cut;
};

/// One batch, again and again.
class BatchData final : public TrainingData {
public:
  explicit BatchData(HostTensors batch) : batch(std::move(batch)) {}

  Result<HostTensors> rowsFrom(int64_t) const override { return batch; }
  int64_t windows() const override { return 0; }
  std::string summary() const override {
    return "one batch of " + shapeToString(batch.at("input_ids").shape) +
           " ids, the same every step";
  }

private:
  HostTensors batch;
};

Result<std::unique_ptr<TrainingData>> openBatch(const std::string &path) {
  TANDEM_ASSIGN(HostTensors all, readHostTensors(path));
  HostTensors batch;
  for (const char *name :
       {"input_ids", "labels", "attention_mask", "token_type_ids"})
    if (auto found = all.find(name); found != all.end())
      batch.insert(*found);
  for (const char *name : {"input_ids", "labels"})
    if (!batch.count(name))
      return Status::refused("'" + path + "' holds no tensor '" + name +
                             "'; a batch to learn from needs input_ids and "
                             "labels");
  return std::unique_ptr<TrainingData>(
      std::make_unique<BatchData>(std::move(batch)));
}

} // namespace

TrainingData::~TrainingData() = default;

Result<std::unique_ptr<TrainingData>>
openTrainingData(const DataRequest &request) {
  if (std::filesystem::path(request.path).extension() == ".safetensors" &&
      !request.stream.type)
    return openBatch(request.path);
  TANDEM_ASSIGN(TokenStream stream,
                TokenStream::open(request.path, request.stream));
  int64_t tokens = stream.size();
  auto data = std::make_unique<CorpusData>(std::move(stream), request);
  if (data->windows() == 0)
    return Status::refused(
        "'" + request.path + "' has " + std::to_string(tokens) +
        " tokens, less than a window of " + std::to_string(request.sequence) +
        " + 1; expected more data or a smaller --seq");
  return std::unique_ptr<TrainingData>(std::move(data));
}

} // namespace tandem
