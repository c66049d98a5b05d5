// Searches text for PCRE2 patterns, which are not anchored.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tally {

class Pattern {
public:
  // Fails with invalid_argument if `text` is not a pattern. `option` is the source of that error.
  static Result<Pattern> compile(std::string text, std::string_view option);
  Pattern(Pattern &&) noexcept;
  Pattern &operator=(Pattern &&) noexcept;
  ~Pattern();

  // Returns whether the pattern matches any part of `text`, which is searched as bytes, because
  // paths and names may be invalid UTF-8. Fails with limit, and a message alone, if the search
  // exceeds PCRE2's limits. Several threads may call it at once.
  Result<bool> is_in(std::string_view text) const;
  // Returns the same of a function's name, or of the name without its return type: "^std::" is in
  // "void std::sort<int*>(int*)".
  Result<bool> is_in_name(std::string_view function) const;
  const std::string &text() const { return text_; }

private:
  struct Code;
  Pattern(std::string text, std::unique_ptr<Code> code);

  std::string text_;
  std::unique_ptr<Code> code_;
};

} // namespace tally
