#include "test/fuzz/readers/ReaderInput.h"

#include "runtime/files/Gguf.h"
#include "runtime/files/Model.h"
#include "runtime/files/Tokenizer.h"

using namespace tandem;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string path = test::asFile(data, size);
  Result<GgufModel> gguf = readGguf(path);
  if (!gguf.ok())
    return 0;
  test::readTensors(gguf->tensors);
  ModelFiles model;
  model.kind = ModelKind::Gguf;
  model.path = path;
  model.config = gguf->metadata;
  (void)endIds(model).ok();
  (void)beginId(model).ok();
  Result<std::shared_ptr<const Tokenizer>> tokenizer = openTokenizer(model);
  if (tokenizer.ok() && *tokenizer)
    (void)(*tokenizer)->encode("Once upon a time, 12 \xc3\xa9ggs").ok();
  return 0;
}
