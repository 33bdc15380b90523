#include "runtime/files/tokenizer/BytePairs.h"

#include <gtest/gtest.h>
#include <random>

using namespace tandem;

namespace {

using Ids = std::vector<int32_t>;

Ids encode(const BytePairs &model, std::string_view word) {
  Ids ids;
  model.encode(word, ids);
  return ids;
}

/// Single letters a to z with ids 0 to 25, then these tokens; each merge is
/// given by the ids it joins.
BytePairs letters(const std::vector<const char *> &tokens,
                  BytePairs::Options options = {}) {
  BytePairs model(options);
  for (int32_t i = 0; i < 26; ++i)
    model.addToken(i, std::string(1, static_cast<char>('a' + i)));
  for (size_t i = 0; i < tokens.size(); ++i)
    model.addToken(static_cast<int32_t>(26 + i), tokens[i]);
  return model;
}

/// SentencePiece's rule as it is written down: join the neighbours whose
/// texts together score highest, again and again.
std::vector<std::string>
joinByScore(std::vector<std::string> parts,
            const std::unordered_map<std::string, double> &scores) {
  for (;;) {
    size_t best = SIZE_MAX;
    double bestScore = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      auto it = scores.find(parts[i] + parts[i + 1]);
      if (it != scores.end() && (best == SIZE_MAX || it->second > bestScore)) {
        best = i;
        bestScore = it->second;
      }
    }
    if (best == SIZE_MAX)
      return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<long>(best) + 1);
  }
}

} // namespace

TEST(BytePairs, JoinsInTheOrderOfRanks) {
  // The example of the header: he = 26, ll = 27, hell = 28.
  BytePairs model = letters({"he", "ll", "hell"});
  model.addMerge('h' - 'a', 'e' - 'a', 26);
  model.addMerge('l' - 'a', 'l' - 'a', 27);
  model.addMerge(26, 27, 28);
  EXPECT_EQ(encode(model, "hello"), (Ids{28, 'o' - 'a'}));
  EXPECT_EQ(encode(model, "lll"), (Ids{27, 'l' - 'a'}));
  EXPECT_EQ(encode(model, "llll"), (Ids{27, 27}));
  EXPECT_EQ(encode(model, ""), Ids{});
}

TEST(BytePairs, WordsThatAreTokensMayStand) {
  BytePairs::Options options;
  options.ignoreMerges = true;
  BytePairs model = letters({"cab"}, options);
  EXPECT_EQ(encode(model, "cab"), (Ids{26}));
  EXPECT_EQ(encode(model, "caba"), (Ids{2, 0, 1, 0}));
  EXPECT_EQ(encode(letters({"cab"}), "cab"), (Ids{2, 0, 1}));
}

TEST(BytePairs, UnknownCharacters) {
  BytePairs::Options options;
  EXPECT_EQ(encode(letters({}, options), "aéüb"), (Ids{0, 1}));
  options.unknownId = 99;
  EXPECT_EQ(encode(letters({}, options), "aéüb"), (Ids{0, 99, 99, 1}));
  options.fuseUnknown = true;
  EXPECT_EQ(encode(letters({}, options), "aéüb"), (Ids{0, 99, 1}));
  BytePairs spelled = letters({}, options);
  for (int32_t byte = 0; byte < 256; ++byte)
    spelled.addByte(static_cast<unsigned char>(byte), 1000 + byte);
  EXPECT_EQ(encode(spelled, "é"), (Ids{1000 + 0xc3, 1000 + 0xa9}));
}

TEST(BytePairs, BytesAreSymbolsOnTheirOwn) {
  BytePairs::Options options;
  options.byteLevel = true;
  BytePairs model(options);
  model.addToken(0, "\xc3");
  model.addToken(1, "\xa9");
  model.addToken(2, "\xc3\xa9");
  EXPECT_EQ(encode(model, "é"), (Ids{0, 1}));
  model.addMerge(0, 1, 2);
  EXPECT_EQ(encode(model, "éé"), (Ids{2, 2}));
}

TEST(BytePairs, ScoresJoinAsSentencePieceDoes) {
  std::mt19937 generator(11);
  std::unordered_map<std::string, double> scoreOf;
  std::vector<double> scores;
  std::vector<std::string> texts;
  BytePairs model({});
  auto add = [&](const std::string &text) {
    if (!scoreOf.emplace(text, -static_cast<double>(generator() % 50)).second)
      return;
    model.addToken(static_cast<int32_t>(scores.size()), text);
    scores.push_back(scoreOf[text]);
    texts.push_back(text);
  };
  for (const char *letter : {"a", "b", "é"})
    add(letter);
  for (int i = 0; i < 60; ++i)
    add(texts[generator() % texts.size()] + texts[generator() % 3]);
  model.addMergesByScore(scores);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::string> parts;
    std::string word;
    for (size_t i = 0; i < generator() % 40; ++i)
      word += parts.emplace_back(texts[generator() % 3]);
    std::vector<std::string> joined;
    for (int32_t id : encode(model, word))
      joined.push_back(texts[static_cast<size_t>(id)]);
    ASSERT_EQ(joined, joinByScore(parts, scoreOf)) << word;
  }
}

TEST(BytePairs, ScoresJoinCharactersThatAreNoTokens) {
  BytePairs model({});
  model.addToken(0, "ab");
  model.addToken(1, "abc");
  model.addByte('a', 10);
  model.addByte('c', 11);
  model.addMergesByScore({-1, -2});
  EXPECT_EQ(encode(model, "abc"), (Ids{1}));
  EXPECT_EQ(encode(model, "aab"), (Ids{10, 0}));
}
