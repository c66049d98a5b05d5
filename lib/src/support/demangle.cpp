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
  constexpr std::string_view stub = "@plt"; // of the procedure linkage table
  if (name.ends_with(stub) && name.starts_with('_'))
    return demangled(name.substr(0, name.size() - stub.size())).append(stub);
  const bool mangled =
      name.starts_with("_Z") || name.starts_with("___Z") || name.starts_with("_GLOBAL_");
  return mangled ? demangle(name) : std::string(name);
}

std::string base_object_variant(std::string_view name) {
  std::string out(name);
  if (!name.starts_with("_Z"))
    return out;
  for (size_t at = out.find_first_of("CD", 2); at != out.npos;
       at = out.find_first_of("CD", at + 1)) {
    size_t digit = at + 1;
    digit += out[at] == 'C' && digit < out.size() && out[digit] == 'I'; // an inheriting constructor
    if (digit >= out.size() || out[digit] == '2' || out[digit] < '0' || out[digit] > '5')
      continue;
    // The letters denote a variant, and are not part of another name, if both names demangle to the
    // same text.
    std::string other = out;
    other[digit] = '2';
    if (const std::string text = demangle(out); text != out && demangle(other) == text)
      out = std::move(other);
  }
  return out;
}

} // namespace tally
