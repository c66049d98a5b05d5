
#include "report/style.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/text.h"

namespace tally {

namespace {

struct NamedRole {
  std::string_view name;
  Role role;
  std::string_view standard;
};

constexpr NamedRole named_roles[] = {
    {"function", Role::function, "\033[33m"}, {"filename", Role::filename, "\033[32m"},
    {"address", Role::address, "\033[34m"},   {"variable", Role::variable, "\033[36m"},
    {"title", Role::title, "\033[1m"},        {"highlight", Role::highlight, "\033[31m"},
    {"metadata", Role::metadata, "\033[2m"},
};

// Returns whether `text` is the control sequence Select Graphic Rendition, which ECMA-48 defines in
// section 8.3.117. ITU T.416 adds colons between the numbers of a colour.
bool is_sgr(std::string_view text) {
  return text.starts_with("\033[") && text.ends_with('m') &&
         text.substr(2, text.size() - 3).find_first_not_of("0123456789;:") == text.npos;
}

} // namespace

Style Style::standard() {
  Style out;
  for (const NamedRole &each : named_roles)
    out.begins_[static_cast<size_t>(each.role)] = each.standard;
  return out;
}

Result<void> Style::set(std::string_view role, std::string_view sgr) {
  const auto found = std::ranges::find(named_roles, role, &NamedRole::name);
  if (found == std::ranges::end(named_roles)) {
    std::vector<std::string_view> names;
    for (const NamedRole &each : named_roles)
      names.push_back(each.name);
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("there is no style '{}' (there are: {})", role, joined_text(names, ", ")),
        "style");
  }
  if (!sgr.empty() && !is_sgr(sgr))
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' expects ESC [ numbers m, or nothing", role), "style");
  begins_[static_cast<size_t>(found->role)] = sgr;
  return {};
}

std::string Style::paint(Role role, std::string_view text) const {
  const std::string &begin = begins_[static_cast<size_t>(role)];
  const size_t first = text.find_first_not_of(' ');
  if (begin.empty() || first == text.npos)
    return std::string(text);
  const size_t end = text.find_last_not_of(' ') + 1;
  return fmt::format("{}{}{}\033[m{}", text.substr(0, first), begin,
                     text.substr(first, end - first), text.substr(end));
}

std::string Style::without_foreign(std::string_view text) const {
  constexpr std::string_view reset = "\033[m";
  const bool has_colours =
      std::ranges::any_of(begins_, [](const std::string &begin) { return !begin.empty(); });
  // The size of the line end, tab or sequence with which a text begins, or 0.
  const auto own_size = [&](std::string_view rest) -> size_t {
    if (rest.front() != '\033')
      return 1;
    if (has_colours && rest.starts_with(reset))
      return reset.size();
    const auto own = std::ranges::find_if(begins_, [&](const std::string &begin) {
      return !begin.empty() && rest.starts_with(begin);
    });
    return own == begins_.end() ? 0 : own->size();
  };
  std::string out;
  for (;;) {
    const size_t plain = std::min(text.find_first_of("\n\t\033"), text.size());
    out += printable(std::string(text.substr(0, plain)));
    text.remove_prefix(plain);
    if (text.empty())
      return out;
    const size_t size = own_size(text);
    out += size != 0 ? text.substr(0, size) : "?";
    text.remove_prefix(std::max<size_t>(size, 1));
  }
}

} // namespace tally
