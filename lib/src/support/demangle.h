// C++ names as their source has them.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <cxxabi.h>

namespace tally {

// A name that is not of the Itanium ABI stays as it is: __cxa_demangle takes "i" for a type, "int".
inline std::string demangled(std::string_view name) {
  if (!name.starts_with("_Z") && !name.starts_with("___Z") && !name.starts_with("_GLOBAL_"))
    return std::string(name);
  int status = 0;
  const std::unique_ptr<char, void (*)(void *)> text(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), std::free);
  return text ? std::string(text.get()) : std::string(name);
}

} // namespace tally
