#include "runtime/base/Log.h"
#include "runtime/files/Model.h"
#include "runtime/files/Tokenizer.h"
#include "runtime/files/tokenizer/TokenizerFiles.h"

#include <filesystem>

namespace tandem {
namespace {

namespace fs = std::filesystem;
using TokenizerPointer = std::shared_ptr<const Tokenizer>;

bool exists(const std::string &path) {
  std::error_code error;
  return fs::exists(path, error);
}

TokenizerResult readParts(const ModelFiles &model) {
  if (model.kind == ModelKind::Gguf)
    return readGgufTokenizer(model.config);
  std::string path = model.path + "/tokenizer.json";
  if (!exists(path)) {
    if (exists(model.path + "/tokenizer.model"))
      logWarning(model.path + ": tokenizer.model is not read, only "
                              "tokenizer.json; the model is used without a "
                              "tokenizer");
    return std::unique_ptr<TokenizerParts>();
  }
  TANDEM_ASSIGN(ConfigNode file, ConfigNode::read(path));
  return readTokenizerJson(file, model.tokenizerConfig);
}

/// What the model's other files say.
Status addModelSettings(const ModelFiles &model, TokenizerParts &parts) {
  TokenizerSettings &settings = parts.settings;
  TANDEM_ASSIGN(std::vector<int64_t> ends, endIds(model));
  if (!ends.empty())
    settings.eosIds.assign(ends.begin(), ends.end());
  TANDEM_ASSIGN(std::optional<int64_t> begin, beginId(model));
  if (begin && !settings.bosId && *begin >= 0 && *begin <= largestTokenId)
    settings.bosId = static_cast<int32_t>(*begin);
  for (const char *name : {"/chat_template.jinja", "/chat_template.json"})
    settings.hasChatTemplate |= exists(model.path + name);
  return Status();
}

/// Settings that are of use but not needed: nothing where they cannot be read.
std::optional<ConfigNode> readWhereGood(const std::string &path) {
  if (!exists(path))
    return std::nullopt;
  Result<ConfigNode> node = ConfigNode::read(path);
  if (node.ok() && node->isObject())
    return *node;
  logWarning(
      (node.ok() ? path + ": expected an object" : node.status().message()) +
      "; the tokenizer is used without it");
  return std::nullopt;
}

/// The model at `path`, of which only a tokenizer need be there.
Result<ModelFiles> openForTokenizer(const std::string &path) {
  std::error_code error;
  std::string directory = path;
  if (fs::path(path).filename() == "tokenizer.json") {
    directory = fs::path(path).parent_path().string();
    directory = directory.empty() ? "." : directory;
  }
  if (!fs::is_directory(directory, error) ||
      !exists(directory + "/tokenizer.json"))
    return openModel(directory, /*weights=*/false);
  ModelFiles model;
  model.path = directory;
  if (std::optional<ConfigNode> config =
          readWhereGood(directory + "/config.json"))
    model.config = *config;
  model.generationConfig = readWhereGood(directory + "/generation_config.json");
  if (exists(directory + "/tokenizer_config.json")) {
    TANDEM_ASSIGN(model.tokenizerConfig,
                  ConfigNode::read(directory + "/tokenizer_config.json"));
  }
  return model;
}

} // namespace

Result<TokenizerPointer> openTokenizer(const ModelFiles &model) {
  TANDEM_ASSIGN(std::unique_ptr<TokenizerParts> parts, readParts(model));
  if (!parts)
    return TokenizerPointer();
  TANDEM_TRY(addModelSettings(model, *parts));
  return TokenizerPointer(std::make_shared<const Tokenizer>(std::move(parts)));
}

Result<TokenizerPointer> openTokenizer(const std::string &path) {
  TANDEM_ASSIGN(ModelFiles model, openForTokenizer(path));
  TANDEM_ASSIGN(TokenizerPointer tokenizer, openTokenizer(model));
  if (!tokenizer)
    return Status::refused(path + ": the model has no tokenizer");
  return tokenizer;
}

} // namespace tandem
