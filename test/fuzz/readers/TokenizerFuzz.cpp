#include "test/fuzz/readers/ReaderInput.h"

#include "runtime/files/ConfigNode.h"
#include "runtime/files/Tokenizer.h"
#include "runtime/files/tokenizer/TokenizerFiles.h"

using namespace tandem;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Result<ConfigNode> file = ConfigNode::parse(text, "tokenizer.json");
  if (!file.ok())
    return 0;
  TokenizerResult parts = readTokenizerJson(*file, std::nullopt);
  if (!parts.ok())
    return 0;
  Tokenizer tokenizer(std::move(*parts));
  EncodeOptions options;
  options.addSpecial = true;
  // A text that every file shares, and one that it brings itself.
  for (std::string_view sample :
       {std::string_view("Once upon  a time, 12 \xc3\xa9ggs\n"),
        text.substr(0, 256)}) {
    Result<std::vector<int32_t>> ids = tokenizer.encode(sample, options);
    if (ids.ok())
      (void)tokenizer.decode(*ids).ok();
  }
  return 0;
}
