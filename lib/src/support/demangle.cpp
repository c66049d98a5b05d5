#include "support/demangle.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace tally {

std::string demangle(std::string_view name) {
  std::string terminated(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(terminated.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : terminated;
}

std::string demangled(std::string_view name) {
  const bool mangled =
      name.starts_with("_Z") || name.starts_with("___Z") || name.starts_with("_GLOBAL_");
  return mangled ? demangle(name) : std::string(name);
}

} // namespace tally
