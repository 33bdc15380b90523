#include "runtime/files/Model.h"

#include "runtime/files/Gguf.h"
#include "runtime/files/Safetensors.h"

#include <algorithm>
#include <filesystem>

namespace tandem {
namespace {

namespace fs = std::filesystem;

bool endsWith(const std::string &text, std::string_view end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool exists(const std::string &path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// Names in `directory` that end in `ending`, sorted.
std::vector<std::string> namesIn(const std::string &directory,
                                 std::string_view ending) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error))
    if (std::string name = it->path().filename().string();
        endsWith(name, ending))
      names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

/// Whether `name` is a later part of a split GGUF model.
bool isLaterPart(const std::string &name) {
  size_t of = name.rfind("-of-");
  return of != std::string::npos && of >= 6 &&
         name.compare(of - 6, 6, "-00001") != 0;
}

Result<ModelFiles> openGguf(const std::string &path) {
  TANDEM_ASSIGN(GgufModel gguf, readGguf(path));
  ModelFiles model;
  model.kind = ModelKind::Gguf;
  model.path = path;
  model.tensors = std::move(gguf.tensors);
  model.config = std::move(gguf.metadata);
  return model;
}

/// The GGUF model of a directory that has no config.json.
Result<ModelFiles> openGgufIn(const std::string &directory) {
  std::vector<std::string> names = namesIn(directory, ".gguf");
  names.erase(std::remove_if(names.begin(), names.end(), isLaterPart),
              names.end());
  if (names.size() == 1)
    return openGguf(directory + "/" + names[0]);
  if (names.empty())
    return Status::refused(directory +
                           ": no model here: neither config.json nor a .gguf "
                           "file is in this folder");
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + name;
  return Status::refused(directory + ": several models are in this folder (" +
                         list + "); name one of them");
}

Result<std::optional<ConfigNode>> readIfThere(const std::string &path) {
  if (!exists(path))
    return std::optional<ConfigNode>();
  TANDEM_ASSIGN(ConfigNode node, ConfigNode::read(path));
  return std::optional<ConfigNode>(std::move(node));
}

Result<ModelFiles> openDirectory(const std::string &path, bool weights) {
  if (!exists(path + "/config.json"))
    return openGgufIn(path);
  ModelFiles model;
  model.path = path;
  TANDEM_ASSIGN(model.config, ConfigNode::read(path + "/config.json"));
  if (!model.config.isObject())
    return model.config.error("expected an object");
  TANDEM_ASSIGN(model.generationConfig,
                readIfThere(path + "/generation_config.json"));
  TANDEM_ASSIGN(model.tokenizerConfig,
                readIfThere(path + "/tokenizer_config.json"));
  if (!weights)
    return model;
  TANDEM_ASSIGN(model.tensors, readSafetensorsDirectory(path));
  std::vector<std::string> pickled = namesIn(path, ".bin");
  if (model.tensors.files().empty() && !pickled.empty())
    return Status::refused(
        path + ": no model.safetensors is in this folder; '" + pickled[0] +
        "' is not read, convert it to safetensors");
  return model;
}

/// The integers of `node`, a number or a list.
Result<std::vector<int64_t>> oneOrMany(const ConfigNode &node) {
  if (node.isArray())
    return node.asIntegers();
  TANDEM_ASSIGN(int64_t id, node.asInteger());
  return std::vector<int64_t>{id};
}

/// The first of the model's settings that has `key`.
std::optional<ConfigNode> setting(const ModelFiles &model,
                                  const std::string &key) {
  if (model.kind == ModelKind::Gguf)
    return model.config.find("tokenizer.ggml." + key);
  if (model.generationConfig)
    if (std::optional<ConfigNode> node = model.generationConfig->find(key))
      return node;
  return model.config.find(key);
}

} // namespace

Result<ModelFiles> openModel(const std::string &path, bool weights) {
  std::string clean = path;
  while (clean.size() > 1 && clean.back() == '/')
    clean.pop_back();
  std::error_code error;
  fs::file_status about = fs::status(clean, error);
  if (!fs::exists(about))
    return Status::refused("cannot open model '" + path +
                           "': " + error.message());
  if (fs::is_directory(about))
    return openDirectory(clean, weights);
  if (endsWith(clean, ".gguf"))
    return openGguf(clean);
  return Status::refused("cannot open model '" + path +
                         "': expected a Hugging Face directory or a .gguf "
                         "file");
}

Result<std::vector<int64_t>> endIds(const ModelFiles &model) {
  std::vector<int64_t> ids;
  // GGUF names the end of a turn apart from the end of a text.
  for (const char *key : {"eos_token_id", "eot_token_id"}) {
    std::optional<ConfigNode> node = setting(model, key);
    if (!node)
      continue;
    TANDEM_ASSIGN(std::vector<int64_t> more, oneOrMany(*node));
    for (int64_t id : more)
      if (std::find(ids.begin(), ids.end(), id) == ids.end())
        ids.push_back(id);
    if (model.kind != ModelKind::Gguf)
      break;
  }
  return ids;
}

Result<std::optional<int64_t>> beginId(const ModelFiles &model) {
  std::optional<ConfigNode> node = setting(model, "bos_token_id");
  if (!node)
    return std::optional<int64_t>();
  TANDEM_ASSIGN(std::vector<int64_t> ids, oneOrMany(*node));
  return ids.empty() ? std::optional<int64_t>() : ids[0];
}

} // namespace tandem
