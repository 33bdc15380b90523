// The parts of a tokenizer, one at a time.

#include "runtime/files/tokenizer/AddedTokens.h"
#include "runtime/files/tokenizer/ByteAlphabet.h"
#include "runtime/files/tokenizer/Normalizer.h"
#include "runtime/files/tokenizer/PreTokenizer.h"
#include "runtime/files/tokenizer/Unicode.h"
#include "test/unit/files/TestFiles.h"

using namespace tandem;
using namespace tandem::test;

namespace {

using Texts = std::vector<std::string>;

Regex regex(const std::string &pattern) {
  Result<Regex> result = Regex::compile(pattern);
  EXPECT_TRUE(result.ok()) << messageOf(result);
  return *result;
}

Texts cut(const PreTokenizer &preTokenizer, const std::string &text,
          bool atStart = true) {
  Pieces pieces{text, {{0, text.size()}}, atStart};
  Status status = preTokenizer.apply(pieces);
  EXPECT_TRUE(status.ok()) << messageOf(status);
  Texts result;
  for (Range range : pieces.ranges)
    result.push_back(pieces.text.substr(range.begin, range.size()));
  return result;
}

Texts cutBy(const std::string &pattern, SplitBehavior behavior,
            const std::string &text, bool invert = false) {
  PreTokenizer preTokenizer;
  preTokenizer.split(regex(pattern), behavior, invert);
  return cut(preTokenizer, text);
}

/// The sections of `text`, tokens in brackets.
Texts sections(const AddedTokens &tokens, const std::string &text) {
  Texts result;
  for (const AddedTokens::Section &section : tokens.split(text)) {
    std::string part = text.substr(section.range.begin, section.range.size());
    result.push_back(section.id < 0 ? part : "[" + part + "]");
  }
  return result;
}

AddedToken token(const std::string &content, int32_t id) {
  AddedToken token;
  token.content = content;
  token.id = id;
  return token;
}

} // namespace

// The behaviors as the format's own documentation shows them.
TEST(PreTokenizer, SplitsInEachWay) {
  std::string text = "the-final--countdown";
  EXPECT_EQ(cutBy("-", SplitBehavior::Removed, text),
            (Texts{"the", "final", "countdown"}));
  EXPECT_EQ(cutBy("-", SplitBehavior::Isolated, text),
            (Texts{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(cutBy("-", SplitBehavior::MergedWithPrevious, text),
            (Texts{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(cutBy("-", SplitBehavior::MergedWithNext, text),
            (Texts{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(cutBy("-", SplitBehavior::Contiguous, text),
            (Texts{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(cutBy("\\w+", SplitBehavior::Removed, "Hey, you!", true),
            (Texts{"Hey", "you"}));
}

TEST(PreTokenizer, Gpt2sPatternKeepsSpacesWithWords) {
  EXPECT_EQ(cutBy(gpt2Pattern, SplitBehavior::Isolated, "How's it  going?\n"),
            (Texts{"How", "'s", " it", " ", " going", "?", "\n"}));
  EXPECT_EQ(cutBy(gpt2Pattern, SplitBehavior::Isolated, "x1 ½ é"),
            (Texts{"x", "1", " ½", " é"}));
}

TEST(PreTokenizer, EmptyMatchesCutNothing) {
  EXPECT_EQ(cutBy("x*", SplitBehavior::Isolated, "éxxé"),
            (Texts{"é", "xx", "é"}));
  EXPECT_EQ(cutBy("x*", SplitBehavior::Isolated, ""), Texts{});
}

TEST(PreTokenizer, StepsCutWhatIsLeft) {
  PreTokenizer preTokenizer;
  preTokenizer.split(regex("\\p{N}"), SplitBehavior::Isolated, false);
  preTokenizer.split(regex(gpt2Pattern), SplitBehavior::Isolated, false);
  EXPECT_EQ(cut(preTokenizer, "in 1999 now"),
            (Texts{"in", " ", "1", "9", "9", "9", " now"}));
}

TEST(PreTokenizer, MarksWordsAsSentencePieceDoes) {
  PreTokenizer preTokenizer;
  preTokenizer.replaceSpaces("_");
  preTokenizer.prepend("_", PrependScheme::First);
  preTokenizer.split(regex("_"), SplitBehavior::MergedWithNext, false);
  EXPECT_EQ(cut(preTokenizer, "a b"), (Texts{"_a", "_b"}));
  EXPECT_EQ(cut(preTokenizer, " a"), (Texts{"_a"}));
  EXPECT_EQ(cut(preTokenizer, "a b", false), (Texts{"a", "_b"}));
}

TEST(Regex, StopsAPatternThatBacktracksWithoutEnd) {
  PreTokenizer preTokenizer;
  preTokenizer.split(regex("(a+)+$|(a|aa)+b"), SplitBehavior::Isolated, false);
  std::string text(100, 'a');
  text += 'c';
  Pieces pieces{text, {{0, text.size()}}, true};
  expectRefusal(preTokenizer.apply(pieces), "cannot be matched: ");
  expectRefusal(Regex::compile("(a"),
                "the pattern '(a' is wrong at its byte 2");
  EXPECT_EQ(cutBy(Regex::quote("a.b\\|"), SplitBehavior::Removed, "1a.b\\|2"),
            (Texts{"1", "2"}));
}

TEST(AddedTokens, TheLongestTokenWins) {
  AddedTokens tokens;
  tokens.add(token("<a>", 1), "<a>");
  tokens.add(token("<a><b>", 2), "<a><b>");
  tokens.add(token("  ", 3), "  ");
  EXPECT_EQ(sections(tokens, "x<a><b><a>y"),
            (Texts{"x", "[<a><b>]", "[<a>]", "y"}));
  EXPECT_EQ(sections(tokens, "<a<a>"), (Texts{"<a", "[<a>]"}));
  EXPECT_EQ(sections(tokens, "a   b"), (Texts{"a", "[  ]", " b"}));
  EXPECT_EQ(sections(tokens, ""), Texts{});
}

TEST(AddedTokens, ClaimWhiteSpace) {
  AddedToken mask = token("<mask>", 1);
  mask.lstrip = true;
  AddedTokens left;
  left.add(mask, mask.content);
  EXPECT_EQ(sections(left, "a \t<mask> b"), (Texts{"a", "[ \t<mask>]", " b"}));
  mask.rstrip = true;
  AddedTokens both;
  both.add(mask, mask.content);
  EXPECT_EQ(sections(both, "a <mask>\u2003 b"),
            (Texts{"a", "[ <mask>\u2003 ]", "b"}));
  EXPECT_EQ(sections(both, "<mask> <mask>"), (Texts{"[<mask> ]", "[<mask>]"}));
}

TEST(AddedTokens, MayWantToStandAlone) {
  AddedToken word = token("new", 1);
  word.singleWord = true;
  AddedTokens tokens;
  tokens.add(word, word.content);
  EXPECT_EQ(sections(tokens, "renew new newé"),
            (Texts{"renew ", "[new]", " newé"}));
}

TEST(ByteAlphabet, IsGpt2s) {
  EXPECT_EQ(alphabetOf(' '), "\u0120");
  EXPECT_EQ(alphabetOf('\n'), "\u010a");
  EXPECT_EQ(alphabetOf('!'), "!");
  EXPECT_EQ(alphabetOf(0xad), "\u0143");
  EXPECT_EQ(bytesOfAlphabet("\u0120the"), " the");
  EXPECT_EQ(bytesOfAlphabet("a b"), std::nullopt);
  EXPECT_EQ(bytesOfAlphabet("日"), std::nullopt);
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += alphabetOf(static_cast<unsigned char>(byte));
  EXPECT_EQ(bytesOfAlphabet(all)->size(), 256u);
}

// Expected values are those of Python's unicodedata.
TEST(Unicode, ComposesAndDecomposes) {
  EXPECT_EQ(unicode::composed("e\u0301\u0323 A\u030a"), "\u1eb9\u0301 \u00c5");
  EXPECT_EQ(unicode::composed("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(unicode::composed("\u0958 \u212b"), "\u0915\u093c \u00c5");
  EXPECT_EQ(unicode::decomposed("\u1ec7\uac01"),
            "e\u0323\u0302\u1100\u1161\u11a8");
  EXPECT_EQ(unicode::composed("plain caf\u00e9"), "plain caf\u00e9");
  EXPECT_EQ(unicode::composed("\u0301"), "\u0301");
}

TEST(Normalizer, StepsFollowEachOther) {
  Normalizer normalizer;
  ASSERT_OK(normalizer.strip(true, true));
  normalizer.prepend("_");
  normalizer.replace(" ", "_");
  normalizer.replace(regex("\\d+"), "#");
  EXPECT_EQ(*normalizer.apply("  a 12 b\n"), "_a_#_b");
  EXPECT_EQ(*normalizer.apply("  "), "");
}
