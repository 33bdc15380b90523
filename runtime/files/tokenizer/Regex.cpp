#include "runtime/files/tokenizer/Regex.h"

#include "runtime/files/Utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace tandem {
namespace {

std::string messageOf(int code) {
  PCRE2_UCHAR text[200];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char *>(text);
}

template <auto release> struct Releaser {
  template <typename T> void operator()(T *object) const { release(object); }
};
template <typename T, auto release>
using Owned = std::unique_ptr<T, Releaser<release>>;
using MatchData = Owned<pcre2_match_data, pcre2_match_data_free>;
using MatchContext = Owned<pcre2_match_context, pcre2_match_context_free>;
using JitStack = Owned<pcre2_jit_stack, pcre2_jit_stack_free>;

} // namespace

struct Regex::Code {
  std::string pattern;
  Owned<pcre2_code, pcre2_code_free> compiled;
};

Result<Regex> Regex::compile(const std::string &pattern) {
  int error;
  PCRE2_SIZE where;
  auto code = std::make_shared<Code>();
  code->pattern = pattern;
  code->compiled.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                    pattern.size(), PCRE2_UTF | PCRE2_UCP, &error, &where,
                    /*context=*/nullptr));
  if (!code->compiled)
    return Status::refused("the pattern '" + pattern +
                           "' is wrong at its byte " + std::to_string(where) +
                           ": " + messageOf(error));
  // Without a just-in-time compiler the pattern is interpreted, which is slow.
  pcre2_jit_compile(code->compiled.get(), PCRE2_JIT_COMPLETE);
  return Regex(std::move(code));
}

std::string Regex::quote(std::string_view text) {
  std::string pattern;
  for (char c : text) {
    bool plain = static_cast<unsigned char>(c) >= 0x80 || c == '_' ||
                 (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                 (c >= 'A' && c <= 'Z');
    if (!plain)
      pattern += '\\';
    pattern += c;
  }
  return pattern;
}

struct RegexSearch::State {
  std::shared_ptr<const Regex::Code> code;
  MatchData data;
  MatchContext context;
  JitStack stack;
};

RegexSearch::RegexSearch(const Regex &regex)
    : state_(new State{
          regex.code_,
          MatchData(pcre2_match_data_create_from_pattern(
              regex.code_->compiled.get(), nullptr)),
          MatchContext(pcre2_match_context_create(nullptr)),
          JitStack(pcre2_jit_stack_create(32 * 1024, 1024 * 1024, nullptr))}) {
  pcre2_match_context *context = state_->context.get();
  pcre2_jit_stack_assign(context, nullptr, state_->stack.get());
  pcre2_set_match_limit(context, 1'000'000);
}

RegexSearch::~RegexSearch() = default;

Status RegexSearch::findAll(std::string_view text, Range within,
                            std::vector<Range> &matches) {
  std::string_view part = text.substr(within.begin, within.size());
  auto *subject = reinterpret_cast<PCRE2_SPTR>(part.data());
  for (size_t at = 0; at < part.size();) {
    int found = pcre2_match(state_->code->compiled.get(), subject, part.size(),
                            at, PCRE2_NO_UTF_CHECK, state_->data.get(),
                            state_->context.get());
    if (found == PCRE2_ERROR_NOMATCH)
      break;
    if (found < 0)
      return Status::refused("the pattern '" + state_->code->pattern +
                             "' cannot be matched: " + messageOf(found));
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(state_->data.get());
    if (ends[1] > ends[0])
      matches.push_back({within.begin + ends[0], within.begin + ends[1]});
    // After an empty match the search goes on one code point further.
    at = ends[1] > ends[0]       ? ends[1]
         : ends[1] < part.size() ? ends[1] + utf8::unitAt(part, ends[1]).length
                                 : part.size();
  }
  return Status();
}

} // namespace tandem
