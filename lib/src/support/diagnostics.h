// Collects diagnostics: problems that do not prevent a result. A reader, a writer or a symbolizer
// adds them, and its caller decides whether to show them.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tally {

enum class Severity : uint8_t { note, warning, error };

std::string_view severity_name(Severity severity);

// One diagnostic.
struct Finding {
  Severity severity = Severity::warning;
  std::string message;
  std::string source; // the file concerned; may be empty
  Position where;     // of the first occurrence
  uint64_t count = 1; // number of occurrences

  // Returns "source:position: severity: message (N times)", one line without control characters.
  std::string text() const;
};

class Diagnostics {
public:
  // Adds a diagnostic. If there is one with the same source and key, only increases its count. An
  // empty key stands for the message. After 1000 entries, new ones are only counted, in one entry
  // for each severity.
  void add(Severity severity, std::string message, std::string source = {}, Position where = {},
           std::string_view key = {});
  // Adds all entries of `more`, as if they had been added here.
  void append(const Diagnostics &more);
  std::span<const Finding> findings() const { return findings_; }
  bool has_errors() const;
  void clear();

private:
  void add_keyed(Finding finding, std::string full_key);

  std::vector<Finding> findings_;
  std::map<std::string, size_t> by_key_;
};

} // namespace tally
