#include "support/pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <fmt/format.h>

#include "support/own_name.h"

namespace tally {

namespace {

constexpr size_t longest_shown = 200; // of a pattern, in a message

bool is_utf_fault(int code) {
  return code <= PCRE2_ERROR_UTF8_ERR1 && code >= PCRE2_ERROR_UTF8_ERR21;
}

struct FreeMatch {
  void operator()(pcre2_match_data *data) const { pcre2_match_data_free(data); }
};

std::string message_of(int fault) {
  std::array<PCRE2_UCHAR, 256> message{};
  pcre2_get_error_message(fault, message.data(), message.size());
  return reinterpret_cast<const char *>(message.data());
}

} // namespace

// A pattern compares characters. Names and paths may be any bytes, and a text that is not UTF-8 is
// compared byte by byte.
struct Pattern::Code {
  Code() = default;
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;
  ~Code() {
    pcre2_code_free(characters);
    pcre2_code_free(bytes);
  }

  pcre2_code *characters = nullptr; // null if the pattern is not UTF-8
  pcre2_code *bytes = nullptr;      // null if the pattern names a character beyond a byte
};

Pattern::Pattern(std::string text, std::unique_ptr<Code> code)
    : text_(std::move(text)), code_(std::move(code)) {}
Pattern::Pattern(Pattern &&) noexcept = default;
Pattern &Pattern::operator=(Pattern &&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string text, std::string_view option) {
  int fault = 0;
  size_t offset = 0;
  const auto compiled = [&](uint32_t options) {
    pcre2_code *const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                           options, &fault, &offset, nullptr);
    if (code) // if this fails, matching is slower but still works
      static_cast<void>(pcre2_jit_compile(code, PCRE2_JIT_COMPLETE));
    return code;
  };
  auto owned = std::make_unique<Code>();
  owned->characters = compiled(PCRE2_UTF);
  if (owned->characters || is_utf_fault(fault))
    owned->bytes = compiled(0);
  if (!owned->characters && !owned->bytes)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' is not a pattern: {}, at character {}",
                    text.size() > longest_shown ? text.substr(0, longest_shown) + "…" : text,
                    message_of(fault),
                    1 + std::ranges::count_if(std::string_view(text).substr(0, offset),
                                              [](char c) { return (c & 0xC0) != 0x80; })),
        std::string(option));
  return Pattern(std::move(text), std::move(owned));
}

Result<bool> Pattern::is_in(std::string_view text) const {
  const auto run = [&](const pcre2_code *code) {
    const std::unique_ptr<pcre2_match_data, FreeMatch> match(
        pcre2_match_data_create_from_pattern(code, nullptr));
    const auto attempt = [&](uint32_t options) {
      return match ? pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
                                 options, match.get(), nullptr)
                   : PCRE2_ERROR_NOMEMORY;
    };
    const int found = attempt(0);
    return found == PCRE2_ERROR_JIT_STACKLIMIT ? attempt(PCRE2_NO_JIT) : found;
  };
  int found = code_->characters ? run(code_->characters) : PCRE2_ERROR_UTF8_ERR1;
  if (is_utf_fault(found))
    found = code_->bytes ? run(code_->bytes) : PCRE2_ERROR_NOMATCH;
  if (found < 0 && found != PCRE2_ERROR_NOMATCH)
    return fail(ErrorCode::limit, message_of(found));
  return found >= 0;
}

Result<bool> Pattern::is_in_name(std::string_view function) const {
  auto found = is_in(function);
  const std::string_view rest = without_return_type(function);
  return !found || *found || rest.size() == function.size() ? found : is_in(rest);
}

} // namespace tally
