//===- AddedTokens.h - Tokens that are found by name in a text --*- C++ -*-===//
//
// Finds tokens such as <|im_end|> in a text and cuts it there. At each place
// the longest token wins. A token may claim the white space around it
// (`lstrip`, `rstrip`) and may want to stand alone (`singleWord`).
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_ADDEDTOKENS_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_ADDEDTOKENS_H

#include "runtime/files/tokenizer/Regex.h"

#include <cstdint>
#include <unordered_map>

namespace tandem {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool singleWord = false, lstrip = false, rstrip = false;
  bool normalized = false, special = false;
};

class AddedTokens {
public:
  /// A piece of a text: a token, or text between tokens (id -1).
  struct Section {
    Range range;
    int32_t id;
  };

  /// Adds `token`, to be found where the text has `text`, which is not empty.
  void add(const AddedToken &token, const std::string &text);
  bool empty() const { return tokens_.empty(); }
  /// `text` (UTF-8) as sections, none of them empty.
  std::vector<Section> split(std::string_view text) const;

private:
  static constexpr uint32_t root = 0;

  /// The longest token that starts at `at`: its index and its end.
  std::optional<std::pair<size_t, size_t>> longestAt(std::string_view text,
                                                     size_t at) const;

  /// A trie: children by (node, byte), and which token ends at a node.
  std::unordered_map<uint64_t, uint32_t> children_;
  std::vector<int32_t> endsAt_{-1};
  bool starts_[256] = {};
  std::vector<AddedToken> tokens_;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_ADDEDTOKENS_H
