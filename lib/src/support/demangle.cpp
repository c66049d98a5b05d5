#include "support/demangle.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

#include "support/itanium_tree.h"
#include "support/rust_names.h"

namespace tally {

std::string demangle(std::string_view name) {
  std::string out;
  if (demangle_rust(name, out))
    return out;
  out.clear();
  // The C++ library's own demangler has no limit: a name of 250 bytes may take minutes and
  // gigabytes. A bounded one shows first that the text is short. In some names of nested lambdas,
  // GCC's demangler resolves template parameters in another scope. The text is that of the library,
  // so that it equals the text of other tools.
  itanium::Tree tree;
  if (!itanium::print(tree, itanium::parse(name, tree), out))
    return std::string(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : out;
}

std::string demangled(std::string_view name) {
  constexpr std::string_view stub = "@plt"; // of the procedure linkage table
  constexpr std::string_view global = "_GLOBAL_";
  if (name.ends_with(stub) && name.starts_with('_'))
    return demangled(name.substr(0, name.size() - stub.size())).append(stub);
  if (name.starts_with("_Z") || name.starts_with("_R"))
    return demangle(name);
  // GCC's names of what a file runs before main() and after it: _GLOBAL__I_foo.
  if (name.starts_with(global) && name.size() > global.size() + 3) {
    const std::string_view kind = name.substr(global.size(), 3);
    if ((kind[0] == '_' || kind[0] == '.' || kind[0] == '$') &&
        (kind[1] == 'I' || kind[1] == 'D') && kind[2] == '_')
      return (kind[1] == 'I' ? "global constructors keyed to " : "global destructors keyed to ") +
             demangle(name.substr(global.size() + 3));
  }
  return std::string(name);
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
