// The rules of Callgrind's reader, and what a test expects of each: what it reads, which
// diagnostics it reports, what it refuses.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "formats/callgrind/read.h"

namespace tally::callgrind_rules {

struct Rule {
  std::string name;
  std::string text;
  std::vector<std::string> findings; // "LINE:COLUMN: severity: message"
  std::vector<std::string> rows;     // as described() returns them
  std::string refused{};             // "LINE:COLUMN: message"
};

inline std::ostream &operator<<(std::ostream &out, const Rule &rule) { return out << rule.name; }

// Returns one text for each row: "f@FILE#OBJECT FILE:LINE COST…", with " -> CALLEE:LINE xCALLS" for
// a call, and "2|" before it in the second part. If there are addresses, "0x…" precedes the line.
inline std::vector<std::string> described(const CostProfile &p) {
  std::vector<std::string> out;
  const auto text = [&](StringId id) { return p.strings[id]; };
  const auto name_of = [&](CostFunctionId id) {
    const CostFunction &f = p.functions()[id];
    const std::string_view object = text(p.objects()[f.object]);
    return fmt::format("{}@{}{}{}", text(f.name), text(p.files()[f.file]),
                       object.empty() ? "" : "#", object);
  };
  const auto position = [&](const CostPosition &at) {
    return fmt::format("{}{}{}", p.has_addresses ? fmt::format("{:#x},", at.address) : "",
                       p.has_basic_blocks ? fmt::format("{:#x},", at.basic_block) : "", at.line);
  };
  std::vector<uint64_t> costs(p.events().size());
  for (const CostBlock &block : p.blocks()) {
    const std::string head = fmt::format(
        "{}{} {}:", index_of(block.part) ? fmt::format("{}|", index_of(block.part) + 1) : "",
        name_of(block.function), text(p.files()[block.file]));
    for (uint32_t i = block.first_cost; i < block.last_cost; ++i) {
      p.costs().get(i, costs);
      out.push_back(
          fmt::format("{}{} {}", head, position(p.cost_position(i)), fmt::join(costs, " ")));
    }
    for (uint32_t i = block.first_call; i < block.last_call; ++i) {
      const CostCall call = p.call(i);
      p.call_costs().get(i, costs);
      out.push_back(fmt::format("{}{} -> {}:{} x{} {}", head, position(call.from),
                                name_of(call.callee), position(call.target), call.count,
                                fmt::join(costs, " ")));
    }
    for (uint32_t i = block.first_jump; i < block.last_jump; ++i) {
      const CostJump jump = p.jump(i);
      std::string target = position(jump.target);
      if (jump.target_file != none<FileId>)
        target = fmt::format("{}:{}", text(p.files()[jump.target_file]), target);
      if (jump.target_function != none<CostFunctionId>)
        target = fmt::format("{} {}", name_of(jump.target_function), target);
      out.push_back(fmt::format("{}{} => {} {}", head, position(jump.from), target,
                                jump.conditional
                                    ? fmt::format("{}/{}", jump.followed, jump.executed)
                                    : std::to_string(jump.executed)));
    }
  }
  return out;
}

// Removes the name of the source before the position.
inline std::string without_source(const std::string &text) {
  return text.starts_with("f: ") ? text.substr(3) : text.starts_with("f:") ? text.substr(2) : text;
}

inline Result<CostProfile> read(std::string_view text, Diagnostics &diagnostics,
                                const ReadOptions &options = {}) {
  TALLY_TRY(profile, callgrind::read(*ByteSource::of(text, "f", options), diagnostics));
  return std::move(std::get<CostProfile>(profile));
}

// One event; the first line of costs is line 4.
inline const std::string one = "events: A\nfl=a\nfn=f\n";
inline const std::string two = "events: A B\nfl=a\nfn=f\n";
inline const std::string valgrind = "creator: callgrind-3.19.0\n";

inline std::string crlf(std::string text) {
  for (size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 2)
    text.insert(at, "\r");
  return text;
}

// Reads the text in one piece, and in pieces that split any line.
inline void check_rule(const Rule &rule) {
  for (const size_t piece : {size_t{1} << 18, size_t{1}, size_t{7}}) {
    SCOPED_TRACE(piece);
    Diagnostics diagnostics;
    const auto profile = read(rule.text, diagnostics, {.piece_bytes = piece});
    std::vector<std::string> findings;
    for (const Finding &finding : diagnostics.findings())
      findings.push_back(without_source(finding.text()));
    if (!rule.refused.empty()) {
      ASSERT_FALSE(profile);
      EXPECT_EQ(without_source(profile.error().text()), rule.refused);
      EXPECT_NE(profile.error().code, ErrorCode::internal);
      continue;
    }
    ASSERT_TRUE(profile) << profile.error().text();
    EXPECT_EQ(findings, rule.findings);
    EXPECT_EQ(described(*profile), rule.rows);
  }
}

} // namespace tally::callgrind_rules
