#include "support/demangled.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace tally {

std::string demangled(std::string_view name) {
  if (!name.starts_with("_Z") && !name.starts_with("_GLOBAL_"))
    return std::string(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), std::free);
  return text ? text.get() : std::string(name);
}

} // namespace tally
