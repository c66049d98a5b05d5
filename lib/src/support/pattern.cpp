#include "support/pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <fmt/format.h>

namespace tally {

namespace {

constexpr size_t longest_shown = 200; // of a pattern, in a message

struct FreeMatch {
  void operator()(pcre2_match_data *data) const { pcre2_match_data_free(data); }
};

std::string message_of(int fault) {
  std::array<PCRE2_UCHAR, 256> message{};
  pcre2_get_error_message(fault, message.data(), message.size());
  return reinterpret_cast<const char *>(message.data());
}

} // namespace

struct Pattern::Code {
  explicit Code(pcre2_code *compiled) : code(compiled) {}
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;
  ~Code() { pcre2_code_free(code); }

  pcre2_code *code;
};

Pattern::Pattern(std::string text, std::unique_ptr<Code> code)
    : text_(std::move(text)), code_(std::move(code)) {}
Pattern::Pattern(Pattern &&) noexcept = default;
Pattern &Pattern::operator=(Pattern &&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string text, std::string_view option) {
  int fault = 0;
  size_t offset = 0;
  // Names and paths may be any bytes. What is no UTF-8 matches nothing.
  constexpr uint32_t by_characters = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
  const auto compiled = [&](uint32_t options) {
    return pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), options, &fault,
                         &offset, nullptr);
  };
  pcre2_code *code = compiled(by_characters);
  // A pattern in another encoding is compared byte by byte.
  constexpr int least_utf_fault = PCRE2_ERROR_UTF8_ERR21, most_utf_fault = PCRE2_ERROR_UTF8_ERR1;
  if (!code && fault >= least_utf_fault && fault <= most_utf_fault)
    code = compiled(0);
  if (!code)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' is not a pattern: {}, at character {}",
                    text.size() > longest_shown ? text.substr(0, longest_shown) + "…" : text,
                    message_of(fault),
                    1 + std::ranges::count_if(std::string_view(text).substr(0, offset),
                                              [](char c) { return (c & 0xC0) != 0x80; })),
        std::string(option));
  auto owned = std::make_unique<Code>(code);
  // If this fails, matching is slower but still works.
  static_cast<void>(pcre2_jit_compile(code, PCRE2_JIT_COMPLETE));
  return Pattern(std::move(text), std::move(owned));
}

Result<bool> Pattern::is_in(std::string_view text) const {
  const std::unique_ptr<pcre2_match_data, FreeMatch> match(
      pcre2_match_data_create_from_pattern(code_->code, nullptr));
  const auto run = [&](uint32_t options) {
    return match ? pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                               0, options, match.get(), nullptr)
                 : PCRE2_ERROR_NOMEMORY;
  };
  int found = run(0);
  if (found == PCRE2_ERROR_JIT_STACKLIMIT)
    found = run(PCRE2_NO_JIT);
  if (found < 0 && found != PCRE2_ERROR_NOMATCH)
    return fail(ErrorCode::limit, message_of(found));
  return found >= 0;
}

} // namespace tally
