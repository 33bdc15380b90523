//===- EvaluateModel.cpp - A model's logits by the reference evaluator --===//
//
//   evaluate_model MODEL INPUTS.safetensors OUTPUTS.safetensors
//
// The float64 logits of `input_ids` and whatever other inputs the file has.
//
//===----------------------------------------------------------------------===//

#include "frontend/ImportModel.h"
#include "runtime/files/Safetensors.h"
#include "runtime/files/SafetensorsWriter.h"
#include "test/numerics/ModelInputs.h"

#include <iostream>

using namespace tandem;
using namespace tandem::test;

namespace {

Status evaluateModel(const std::string &path, const std::string &from,
                     const std::string &to) {
  TANDEM_ASSIGN(TensorStore store, readSafetensors(from));
  const StoredTensor *ids = store.find("input_ids");
  if (!ids || ids->shape.size() != 2)
    return Status::refused(from + ": no input_ids of two dimensions");
  ImportOptions options;
  options.strict = true;
  options.entry.batch = ids->shape[0];
  options.entry.maxSeq = ids->shape[1];
  options.entry.attentionMask = store.find("attention_mask");
  mlir::MLIRContext context;
  TANDEM_ASSIGN(ImportedModel model, importModel(path, options, context));
  TANDEM_ASSIGN(ModelFiles files, openModel(path));
  TANDEM_ASSIGN(
      NamedTensors inputs,
      parametersOf(model.module->lookupSymbol<mlir::func::FuncOp>("logits"),
                   files.tensors));
  for (const StoredTensor &tensor : store.tensors()) {
    TANDEM_ASSIGN(inputs["input:" + tensor.name],
                  wholeTensor(store, tensor.name));
  }
  auto outputs = evaluateEntry(*model.module, "logits", inputs);
  if (mlir::failed(outputs))
    return Status::refused("the evaluator refuses the model");
  const Tensor &logits = (*outputs)["output:logits"];
  std::vector<int64_t> shape = {ids->shape[0], ids->shape[1],
                                logits.dim(2).valid};
  return writeSafetensors(
      to, {{{"logits", DType::F64, shape},
            reinterpret_cast<const std::byte *>(logits.data().data())}});
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::cerr << "usage: evaluate_model MODEL INPUTS OUTPUTS\n";
    return 2;
  }
  Status status = evaluateModel(argv[1], argv[2], argv[3]);
  if (!status.ok())
    std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
