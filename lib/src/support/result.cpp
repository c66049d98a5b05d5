
#include "support/result.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "support/text.h"

namespace tally {

std::string describe_position(std::string_view source, const Position &where) {
  switch (where.kind) {
  case Position::Kind::line:
    return fmt::format("{}:{}:{}", source, where.line, where.column);
  case Position::Kind::offset:
    return fmt::format("{}:{:#x}", source, where.offset);
  case Position::Kind::none:
    break;
  }
  return std::string(source);
}

Error::Error() = default;
Error::Error(ErrorCode kind, std::string what, std::string at_fault, Position place)
    : code(kind), message(std::move(what)), source(std::move(at_fault)), where(place) {}
Error::Error(const Error &) = default;
Error &Error::operator=(const Error &) = default;
Error::Error(Error &&) noexcept = default;
Error &Error::operator=(Error &&) noexcept = default;
Error::~Error() = default;

std::string Error::text() const {
  std::string out = describe_position(source, where);
  if (!out.empty())
    out += ": ";
  out += message;
  for (const std::string &doing : context)
    out += fmt::format(" (while {})", doing);
  return printable(std::move(out));
}

tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string source,
                           Position where) {
  return tl::unexpected<Error>(Error(code, std::move(message), std::move(source), where));
}

tl::unexpected<Error> fail(const Error &error) { return tl::unexpected<Error>(error); }
tl::unexpected<Error> fail(Error &&error) { return tl::unexpected<Error>(std::move(error)); }

tl::unexpected<Error> fail_errno(int errno_value, std::string message, std::string source) {
  ErrorCode code = ErrorCode::io;
  switch (errno_value) {
  case EACCES:
  case EPERM:
    code = ErrorCode::permission;
    break;
  case ENOENT:
  case ESRCH:
    code = ErrorCode::not_found;
    break;
  case EMFILE:
  case ENFILE:
  case ENOMEM:
    code = ErrorCode::limit;
    break;
  default:
    break;
  }
  const char *name = strerrorname_np(errno_value);
  return fail(code, fmt::format("{}: {} ({})", message, strerror(errno_value), name ? name : "?"),
              std::move(source));
}

} // namespace tally
