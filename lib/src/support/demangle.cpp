#include "support/demangle.h"

#include <algorithm>

#include "support/d_names.h"
#include "support/itanium_tree.h"
#include "support/rust_names.h"

namespace tally {

namespace {

constexpr size_t most_bytes_tried = size_t{256} << 10; // by base_object_variant()

std::string without_stub(std::string_view name) {
  constexpr std::string_view global = "_GLOBAL_";
  if (name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("_D"))
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

} // namespace

std::string demangle(std::string_view name) {
  std::string out;
  if (demangle_rust(name, out))
    return out;
  out.clear();
  if (name.starts_with("_D"))
    return demangle_d(name, out) ? out : std::string(name);
  // The C++ library's own demangler has no limit: a name of 62 bytes may take it hours.
  itanium::Tree tree;
  return itanium::print(tree, itanium::parse(name, tree), out) ? out : std::string(name);
}

std::string demangled(std::string_view name) {
  constexpr std::string_view stub = "@plt"; // of the procedure linkage table
  return name.ends_with(stub) && name.starts_with('_')
             ? without_stub(name.substr(0, name.size() - stub.size())).append(stub)
             : without_stub(name);
}

std::string base_object_variant(std::string_view name) {
  std::string out(name);
  if (!name.starts_with("_Z"))
    return out;
  // Each attempt demangles the name twice. A long name is tried less often.
  size_t attempts = std::max<size_t>(2, most_bytes_tried / std::max<size_t>(1, name.size()));
  for (size_t at = out.find_first_of("CD", 2); at != out.npos;
       at = out.find_first_of("CD", at + 1)) {
    size_t digit = at + 1;
    digit += out[at] == 'C' && digit < out.size() && out[digit] == 'I'; // an inheriting constructor
    if (digit >= out.size() || out[digit] == '2' || out[digit] < '0' || out[digit] > '5')
      continue;
    if (attempts-- == 0)
      break;
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
