#include "runtime/base/LastWords.h"

#include <mutex>

namespace tandem {
namespace {

struct Words {
  std::mutex mutex;
  std::string text;
};

/// Never destroyed: a control thread may speak while the process exits.
Words &words() {
  static Words &all = *new Words;
  return all;
}

} // namespace

void setLastWords(const std::string &text) {
  std::lock_guard<std::mutex> lock(words().mutex);
  words().text = text;
}

std::string lastWords() {
  std::lock_guard<std::mutex> lock(words().mutex);
  return words().text;
}

} // namespace tandem
