#include "runtime/files/TensorStore.h"

#include "runtime/files/Utf8.h"
#include "test/unit/files/TestFiles.h"

using namespace tandem;
using namespace tandem::test;

TEST(Fingerprint, IsFnv1a) {
  auto hash = [](const std::string &text) {
    return fnv1a(reinterpret_cast<const std::byte *>(text.data()), text.size());
  };
  // Published values of the 64-bit variant.
  EXPECT_EQ(hash(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash("foobar"), 0x85944171f73967e8u);
}

TEST(Fingerprint, SeesStartMiddleAndEnd) {
  std::string text(1 << 20, 'x');
  auto of = [&] {
    return fingerprintOf(reinterpret_cast<const std::byte *>(text.data()),
                         text.size());
  };
  Fingerprint first = of();
  EXPECT_EQ(first.size, text.size());
  for (size_t at : {size_t(0), text.size() / 2, text.size() - 1}) {
    text[at] = 'y';
    EXPECT_NE(of(), first) << at;
    text[at] = 'x';
  }
  text[200000] = 'y';
  EXPECT_EQ(of(), first);
  EXPECT_EQ((Fingerprint{10, 0xab}.toString()), "10:00000000000000ab");
}

TEST(ElementCount, RefusesWhatOverflows) {
  EXPECT_EQ(elementCount({}), 1u);
  EXPECT_EQ(elementCount({2, 3}), 6u);
  EXPECT_EQ(elementCount({INT64_MAX, INT64_MAX, 0}), 0u);
  EXPECT_EQ(elementCount({int64_t(1) << 31, int64_t(1) << 31}), std::nullopt);
  EXPECT_EQ(elementCount({INT64_MAX, INT64_MAX, INT64_MAX}), std::nullopt);
  EXPECT_EQ(elementCount({-1, 0}), std::nullopt);
}

TEST(Utf8, TellsWholeBrokenAndCutApart) {
  using namespace tandem::utf8;
  auto kind = [](const std::string &text) { return unitAt(text, 0).kind; };
  EXPECT_EQ(kind("a"), Unit::Whole);
  EXPECT_EQ(unitAt("\xe2\x82\xac", 0).codePoint, 0x20acu);
  EXPECT_EQ(unitAt("\xf0\x9f\x98\x80", 0).codePoint, 0x1f600u);
  EXPECT_EQ(kind("\xe2\x82"), Unit::Cut);
  EXPECT_EQ(kind("\xf0"), Unit::Cut);
  EXPECT_EQ(kind("\x80"), Unit::Broken);
  EXPECT_EQ(kind("\xc0\x80"), Unit::Broken);         // overlong
  EXPECT_EQ(kind("\xed\xa0\x80"), Unit::Broken);     // a surrogate
  EXPECT_EQ(kind("\xf4\x90\x80\x80"), Unit::Broken); // above U+10FFFF
  EXPECT_EQ(unitAt("\xe2\x82x", 0).length, 2u);
  EXPECT_EQ(firstInvalid("ab\xffz"), 2u);
  EXPECT_EQ(repaired("a\xff\xe2\x82z"), "a\ufffd\ufffdz");
}
