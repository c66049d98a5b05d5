#include <tally/diagnostics.h>

#include <algorithm>

#include <fmt/format.h>

#include "support/text.h"

namespace tally {

std::string_view severity_name(Severity severity) {
  switch (severity) {
  case Severity::note:
    return "note";
  case Severity::warning:
    return "warning";
  case Severity::error:
    return "error";
  }
  return "error";
}

std::string Finding::text() const {
  std::string out = describe_place(source, where);
  if (!out.empty())
    out += ": ";
  out = printable(out + fmt::format("{}: {}", severity_name(severity), message));
  if (count > 1)
    out += fmt::format(" ({} times)", count);
  return out;
}

void Diagnostics::add(Severity severity, std::string message, std::string source, Position where,
                      std::string_view key) {
  std::string full_key =
      fmt::format("{}\n{}", source, key.empty() ? std::string_view(message) : key);
  // A file of nonsense has one for each line.
  constexpr size_t most_findings = 1000;
  if (findings_.size() >= most_findings && !by_key_.contains(full_key)) {
    message = "more findings, of other kinds, are left out";
    source.clear();
    where = {};
    full_key = severity_name(severity);
  }
  auto [at, added] = by_key_.try_emplace(full_key, findings_.size());
  if (!added) {
    ++findings_[at->second].count;
    return;
  }
  findings_.push_back({severity, std::move(message), std::move(source), where, 1});
}

bool Diagnostics::has_errors() const {
  return std::ranges::any_of(findings_,
                             [](const Finding &f) { return f.severity == Severity::error; });
}

void Diagnostics::clear() {
  findings_.clear();
  by_key_.clear();
}

} // namespace tally
