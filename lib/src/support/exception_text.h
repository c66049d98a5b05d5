// The text of an exception for a message to the user.
#pragma once

#include <exception>
#include <new>

namespace tally {

// bad_alloc's own text names only the class.
inline const char *exception_text(const std::exception &error) noexcept {
  return dynamic_cast<const std::bad_alloc *>(&error) ? "there is not enough memory" : error.what();
}

} // namespace tally
