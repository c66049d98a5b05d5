// Errors as values: Result<T>, and Error, which states what went wrong and where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace tally {

// The kind of an error. The numbers are part of the C ABI (tally.h) and never change.
enum class ErrorCode : int {
  invalid_argument = 1, // the caller's request is wrong: an unknown option, a bad value
  invalid_input = 2,    // a file is damaged or not in the format that it claims
  unsupported = 3,      // the request is valid, but not possible here
  not_found = 4,        // there is no such file, function or process
  io = 5,               // the operating system failed to read or write
  permission = 6,       // the operating system denied access
  limit = 7,            // too few descriptors, too little memory, or a limit of Tally
  bad_state = 8,        // not possible now: already started, or nothing to stop
  no_data = 9,          // nothing was collected, or the input is empty
  overflow = 10,        // a sum does not fit in its type
  cancelled = 11,       // the user interrupted
  internal = 12,        // a defect in Tally
};

// A position in a file: line and column for text (from 1, columns in bytes), an offset in bytes for
// binary data, or nothing.
struct Position {
  enum class Kind : uint8_t { none, line, offset };
  Kind kind = Kind::none;
  uint64_t line = 0;
  uint64_t column = 0;
  uint64_t offset = 0;

  static Position at_line(uint64_t line, uint64_t column = 1) {
    return {Kind::line, line, column, 0};
  }
  static Position at_offset(uint64_t offset) { return {Kind::offset, 0, 0, offset}; }
  friend bool operator==(const Position &, const Position &) = default;
};

// Returns "source:line:column", "source:0xOFFSET" or "source", depending on the position's kind.
std::string describe_position(std::string_view source, const Position &where);

// Its special members are compiled once: every function that can fail moves and destroys errors.
struct Error {
  Error();
  Error(ErrorCode code, std::string message, std::string source = {}, Position where = {});
  Error(const Error &);
  Error &operator=(const Error &);
  Error(Error &&) noexcept;
  Error &operator=(Error &&) noexcept;
  ~Error();

  ErrorCode code = ErrorCode::internal;
  std::string message; // one line, no trailing full stop or newline
  std::string source;  // the file, option or command at fault; may be empty
  Position where;
  std::vector<std::string> context; // the operations that failed ("reading x"), innermost first

  // Returns "source:position: message (while …)", one line.
  std::string text() const;
};

template <class T> using Result = tl::expected<T, Error>;

tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string source = {},
                           Position where = {});
tl::unexpected<Error> fail(const Error &error);
tl::unexpected<Error> fail(Error &&error);

// Returns an Error with the message "message: strerror (ENAME)" and the code for the errno value:
// permission, not_found or limit, otherwise io.
tl::unexpected<Error> fail_errno(int errno_value, std::string message, std::string source = {});

} // namespace tally

// Returns the error of an expression from the enclosing function. Without an error, TALLY_TRY(name,
// expression) declares `name` with the value, and TALLY_CHECK(expression) drops the value. Do not
// return a Result<T> from a function that returns a Result<U>: the conversion of tl::expected 1.0
// makes a default U, overwrites it, and never destroys it. Use TALLY_TRY and return the value.
#define TALLY_CONCAT_(a, b) a##b
#define TALLY_CONCAT(a, b) TALLY_CONCAT_(a, b)
#define TALLY_TRY(name, ...)                                                                       \
  auto TALLY_CONCAT(tally_result_, __LINE__) = (__VA_ARGS__);                                      \
  if (!TALLY_CONCAT(tally_result_, __LINE__))                                                      \
    return ::tally::fail(std::move(TALLY_CONCAT(tally_result_, __LINE__).error()));                \
  auto name = std::move(*TALLY_CONCAT(tally_result_, __LINE__))
#define TALLY_CHECK(...)                                                                           \
  do {                                                                                             \
    auto tally_result_ = (__VA_ARGS__);                                                            \
    if (!tally_result_)                                                                            \
      return ::tally::fail(std::move(tally_result_.error()));                                      \
  } while (false)
