//===- TrainingData.h - The rows of each step -------------------*- C++ -*-===//
//
// What a training step learns from, as inputs by name with one row a window:
//
//   FILE.txt, FILE.bin, DIR   windows of a corpus in the order of the seed
//                             (Windows.h): input_ids [rows, seq] and labels,
//                             the same ids and, where the plan has room for
//                             it, the one behind them
//   FILE.safetensors          input_ids, labels [rows, n] and what else the
//                             model takes: the same batch every step
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_TRAININGDATA_H
#define TANDEM_RUNTIME_SESSION_TRAININGDATA_H

#include "runtime/session/HostTensor.h"
#include "runtime/session/TokenStream.h"

namespace tandem {

struct DataRequest {
  std::string path;
  TokenStreamOptions stream;
  int64_t rows = 1, sequence = 1; ///< Of a step.
  /// Whether labels have a column more than ids: the id behind each row.
  bool labelsBehind = true;
  uint64_t seed = 0;
};

class TrainingData {
public:
  virtual ~TrainingData();

  /// The inputs of the step that takes windows `window` and following, one a
  /// row.
  virtual Result<HostTensors> rowsFrom(int64_t window) const = 0;
  /// Windows of an epoch; 0: there is one batch only.
  virtual int64_t windows() const = 0;
  /// One line for people: what the data is and what of it is left out.
  virtual std::string summary() const = 0;
};

/// Refuses a corpus without a whole window.
Result<std::unique_ptr<TrainingData>> openTrainingData(const DataRequest &);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_TRAININGDATA_H
