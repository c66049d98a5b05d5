#include "formats/foreign.h"

#include <algorithm>
#include <string>

namespace tally {

namespace {

constexpr std::string_view to_convert =
    "; `go tool pprof -proto PROGRAM FILE` converts it to a profile that can be read";

struct Beginning {
  std::string_view text;
  std::string_view what;
};

constexpr Beginning beginnings[] = {
    {"--- heap", "is a text heap profile, which is not supported"},
    {"--- contention", "is a text contention profile, which is not supported"},
    {"--- mutex", "is a text mutex profile, which is not supported"},
    {"--- thread", "is a text thread profile, which is not supported"},
    {"threadcreate profile:", "is a text thread profile of Go, which is not supported"},
    {"goroutine profile:", "is a text goroutine profile, which is not supported"},
};

constexpr Beginning tables[] = {
    {"Showing nodes accounting for ",
     "is a table that pprof printed, not a profile: read the profile itself"},
    {"# To display the perf.data header info", "is a table that perf report printed, not a "
                                               "profile: read the perf.data file, or the output "
                                               "of perf script"},
    {"Flat profile:", "is a table that gprof printed, not a profile: read the gmon.out file"},
};

// Recognizes a table of the Perl pprof. It begins with "Total: 1234 samples", followed by rows of
// numbers and percentages.
bool is_pprof_table(std::string_view head) {
  if (!head.starts_with("Total: "))
    return false;
  const size_t end = head.find('\n');
  if (end == head.npos)
    return true;
  const std::string_view row = head.substr(end + 1, head.find('\n', end + 1) - end - 1);
  return std::ranges::count(row, '%') >= 2;
}

} // namespace

std::string foreign_format(std::string_view head) {
  for (const auto &[text, what] : beginnings)
    if (head.starts_with(text))
      return std::string(what).append(to_convert);
  return {};
}

std::string foreign_table(std::string_view head) {
  for (const auto &[text, what] : tables)
    if (head.starts_with(text) || head.find("\n" + std::string(text)) != head.npos)
      return std::string(what);
  if (is_pprof_table(head))
    return std::string(tables[0].what);
  return {};
}

} // namespace tally
