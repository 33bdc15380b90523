#include "runtime/files/tokenizer/TokenizerParts.h"

#include <algorithm>

namespace tandem {

void TokenTexts::set(int32_t id, std::string text, bool isSpecial) {
  auto at = static_cast<size_t>(id);
  if (at >= bytes.size()) {
    bytes.resize(at + 1);
    used.resize(at + 1);
    special.resize(at + 1);
  }
  bytes[at] = std::move(text);
  used[at] = true;
  special[at] = isSpecial;
}

std::optional<int32_t> TokenizerParts::idOf(std::string_view token) const {
  auto it = ids.find(std::string(token));
  return it == ids.end() ? std::nullopt : std::optional<int32_t>(it->second);
}

Status TokenizerParts::addToken(const AddedToken &token) {
  if (token.content.empty())
    return Status();
  if (!token.normalized) {
    rawTokens.add(token, token.content);
    return Status();
  }
  TANDEM_ASSIGN(std::string text, normalizer.apply(token.content));
  if (!text.empty())
    normalizedTokens.add(token, text);
  return Status();
}

namespace {

/// Makes `ids` hold `id` alone or nothing, as `wanted` says; says whether it
/// holds anything.
bool settle(std::vector<int32_t> &ids, std::optional<bool> wanted,
            std::optional<int32_t> id) {
  if (wanted && !*wanted)
    ids.clear();
  else if (wanted && ids.empty() && id)
    ids = {*id};
  return !ids.empty();
}

} // namespace

void TokenizerParts::finishSpecial(std::optional<bool> wantsBos,
                                   std::optional<bool> wantsEos) {
  std::optional<int32_t> eos;
  if (!settings.eosIds.empty())
    eos = settings.eosIds.front();
  settings.addsBos = settle(prefix, wantsBos, settings.bosId);
  settings.addsEos = settle(suffix, wantsEos, eos);
  if (!settings.bosId && prefix.size() == 1)
    settings.bosId = prefix.front();
}

} // namespace tandem
