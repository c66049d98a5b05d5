#include <tally/diagnostics.h>

#include <algorithm>

#include <fmt/format.h>

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
  out += fmt::format("{}: {}", severity_name(severity), message);
  if (count > 1)
    out += fmt::format(" ({} times)", count);
  return out;
}

void Diagnostics::add(Severity severity, std::string message, std::string source, Position where,
                      std::string_view key) {
  const std::string full_key =
      fmt::format("{}\n{}", source, key.empty() ? std::string_view(message) : key);
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
