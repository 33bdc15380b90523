#include "tools/commands/PlanTokenizer.h"

#include "runtime/base/Log.h"

namespace tandem {

std::shared_ptr<const Tokenizer> findTokenizer(const Plan &plan,
                                               const std::string &weights) {
  std::vector<std::string> places;
  if (!weights.empty())
    places.push_back(weights);
  if (const auto *sources = plan.table().tokenizer())
    for (const fb::Source *source : *sources)
      places.push_back(source->path()->str());
  for (const std::string &place : places) {
    Result<std::shared_ptr<const Tokenizer>> tokenizer = openTokenizer(place);
    if (tokenizer.ok())
      return *tokenizer;
    logWarning("no tokenizer: " + tokenizer.status().toString());
  }
  return nullptr;
}

} // namespace tandem
