#include "runtime/files/Utf8.h"

namespace tandem::utf8 {
namespace {

/// How a lead byte goes on: how many bytes follow it and what range the first
/// of them has (it is what excludes overlong forms, surrogates and too large
/// values); `following` is -1 for bytes that lead nothing.
struct Lead {
  int following;
  uint8_t low, high;
};

Lead leadOf(uint8_t byte) {
  if (byte < 0x80)
    return {0, 0, 0};
  if (byte < 0xc2 || byte > 0xf4)
    return {-1, 0, 0};
  if (byte < 0xe0)
    return {1, 0x80, 0xbf};
  if (byte < 0xf0)
    return {2, static_cast<uint8_t>(byte == 0xe0 ? 0xa0 : 0x80),
            static_cast<uint8_t>(byte == 0xed ? 0x9f : 0xbf)};
  return {3, static_cast<uint8_t>(byte == 0xf0 ? 0x90 : 0x80),
          static_cast<uint8_t>(byte == 0xf4 ? 0x8f : 0xbf)};
}

} // namespace

Unit unitAt(std::string_view text, size_t position) {
  uint8_t first = static_cast<uint8_t>(text[position]);
  Lead lead = leadOf(first);
  if (lead.following == 0)
    return {Unit::Whole, first, 1};
  if (lead.following < 0)
    return {Unit::Broken, 0xfffd, 1};
  uint32_t value = first & (0x3fu >> lead.following);
  for (int i = 1; i <= lead.following; ++i) {
    if (position + i >= text.size())
      return {Unit::Cut, 0xfffd, static_cast<size_t>(i)};
    uint8_t byte = static_cast<uint8_t>(text[position + i]);
    uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xbf;
    if (byte < low || byte > high)
      return {Unit::Broken, 0xfffd, static_cast<size_t>(i)};
    value = (value << 6) | (byte & 0x3fu);
  }
  return {Unit::Whole, value, static_cast<size_t>(lead.following) + 1};
}

size_t firstInvalid(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (static_cast<uint8_t>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    Unit unit = unitAt(text, i);
    if (unit.kind != Unit::Whole)
      return i;
    i += unit.length;
  }
  return std::string_view::npos;
}

void append(std::string &text, uint32_t codePoint) {
  auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (codePoint < 0x80) {
    put(codePoint);
  } else if (codePoint < 0x800) {
    put(0xc0 | (codePoint >> 6));
    put(0x80 | (codePoint & 0x3f));
  } else if (codePoint < 0x10000) {
    put(0xe0 | (codePoint >> 12));
    put(0x80 | ((codePoint >> 6) & 0x3f));
    put(0x80 | (codePoint & 0x3f));
  } else {
    put(0xf0 | (codePoint >> 18));
    put(0x80 | ((codePoint >> 12) & 0x3f));
    put(0x80 | ((codePoint >> 6) & 0x3f));
    put(0x80 | (codePoint & 0x3f));
  }
}

std::string repaired(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    Unit unit = unitAt(text, i);
    if (unit.kind == Unit::Whole)
      result.append(text, i, unit.length);
    else
      append(result, 0xfffd);
    i += unit.length;
  }
  return result;
}

} // namespace tandem::utf8
