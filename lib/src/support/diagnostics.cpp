
#include "support/diagnostics.h"

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
  std::string out = describe_position(source, where);
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
  add_keyed({severity, std::move(message), std::move(source), where, 1}, std::move(full_key));
}

void Diagnostics::append(const Diagnostics &more) {
  std::vector<const std::string *> keys(more.findings_.size());
  for (const auto &[key, index] : more.by_key_)
    keys[index] = &key;
  for (size_t i = 0; i < keys.size(); ++i)
    add_keyed(more.findings_[i], *keys[i]);
}

void Diagnostics::add_keyed(Finding finding, std::string full_key) {
  // A file of garbage may cause one diagnostic for each line.
  constexpr size_t most_findings = 1000;
  if (findings_.size() >= most_findings && !by_key_.contains(full_key)) {
    finding.message = "more diagnostics, of other kinds, are left out";
    finding.source.clear();
    finding.where = {};
    full_key = severity_name(finding.severity);
  }
  const auto [at, added] = by_key_.try_emplace(std::move(full_key), findings_.size());
  if (added)
    findings_.push_back(std::move(finding));
  else
    findings_[at->second].count += finding.count;
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
