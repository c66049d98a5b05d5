// Reports what is wrong with the counts of one object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/coverage_findings.h"
#include "support/diagnostics.h"

namespace tally {

class CountFindings {
public:
  CountFindings(std::string_view source, Diagnostics &diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  void find(std::string message, std::string_view key) {
    diagnostics_.add(Severity::warning, std::move(message), std::string(source_), {}, key);
  }
  void add_inexact(std::string_view name, std::string_view path, uint32_t line) {
    inexact_.add(name, path, line);
  }
  void find_inexact() {
    if (!inexact_.empty())
      find(inexact_.text(), "negative");
  }

private:
  std::string_view source_;
  Diagnostics &diagnostics_;
  InexactFunctions inexact_;
};

} // namespace tally
