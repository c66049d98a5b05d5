// Names of files, as text.
#pragma once

#include <string_view>

namespace tally {

// What follows the last slash.
inline std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

} // namespace tally
