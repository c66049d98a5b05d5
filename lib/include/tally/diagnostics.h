// Findings that can be survived. A reader, a writer or a symbolizer adds them; whoever called it
// decides whether to show them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tally/result.h>

namespace tally {

enum class Severity : uint8_t { note, warning, error };

TALLY_API std::string_view severity_name(Severity severity);

struct Finding {
  Severity severity = Severity::warning;
  std::string message;
  std::string source;
  Position where;     // of the first time
  uint64_t count = 1; // how often it was found

  // "place: severity: message (N times)", one line without control characters.
  TALLY_API std::string text() const;
};

class TALLY_API Diagnostics {
public:
  // `key` makes findings one: the same key again only counts. An empty key stands for the message.
  // Beyond 1000 of them, those of other kinds are only counted, in one for each severity.
  void add(Severity severity, std::string message, std::string source = {}, Position where = {},
           std::string_view key = {});
  // All of another one's, as if they had been added here.
  void append(const Diagnostics &more);
  std::span<const Finding> findings() const { return findings_; }
  bool has_errors() const;
  void clear();

private:
  void add_keyed(Finding finding, std::string full_key);

  std::vector<Finding> findings_;
  std::unordered_map<std::string, size_t> by_key_;
};

} // namespace tally
