// Errors as values: Result<T>, and an Error that says where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include <tally/export.h>

namespace tally {

// Whose fault it is. The numbers are part of the C ABI (tally.h): never reorder.
enum class ErrorCode : int {
  invalid_argument = 1, // the caller's words: an unknown option, a bad value
  invalid_input = 2,    // a file is damaged or not of the format it claims
  unsupported = 3,      // understood, but not possible here
  not_found = 4,        // no such file, function, process
  io = 5,               // the operating system refused to read or write
  permission = 6,       // the operating system refused for want of rights
  limit = 7,            // descriptors, memory, or a bound of ours
  bad_state = 8,        // not now: already started, nothing to stop
  no_data = 9,          // nothing was collected
  overflow = 10,        // a sum left its type
  cancelled = 11,       // the user interrupted
  internal = 12,        // a defect of ours
};

// A place in a source: line and column (1-based, columns in bytes) for text, a byte offset for
// binary, or nothing.
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

// "source:line:column" or "source:0xOFFSET" or "source"; empty when there is neither.
TALLY_API std::string describe_place(std::string_view source, const Position &where);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message; // one line, no trailing full stop or newline
  std::string source;  // file, option or command at fault; may be empty
  Position where;
  std::vector<std::string> context; // what was being done, innermost first

  // "place: message (while …)", one line.
  TALLY_API std::string text() const;
};

template <class T> using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string source = {},
                                  Position where = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(source), where, {}});
}

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

// An Error of `code` from errno: "message: strerror (ENAME)".
TALLY_API tl::unexpected<Error> fail_errno(int errno_value, std::string message,
                                           std::string source = {});

} // namespace tally

// Hands an error on: TALLY_TRY(name, expression) declares `name` with the value, TALLY_CHECK drops
// it.
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
