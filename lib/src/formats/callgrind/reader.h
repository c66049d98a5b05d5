// The state of reading one file. read.cpp reads rows, places.cpp names, header.cpp headers and the
// ends of parts.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tally/cost_profile.h>
#include <tally/diagnostics.h>

#include "formats/callgrind/lex.h"
#include "formats/callgrind/names.h"

namespace tally::callgrind {

class Reader {
public:
  Reader(std::string_view source, Diagnostics &diagnostics);

  // Whole lines, each with its '\n'. False: error() tells.
  bool add(std::string_view lines);
  // What the file promises to add up to has not been told at the end.
  bool may_be_cut() const { return has_summary_ && !summary_behind_ && !totals_seen_; }
  Result<CostProfile> finish();
  bool is_cut() const { return cut_; } // finish() found that it is
  const Error &error() const { return error_; }

private:
  enum Kind : uint8_t { instr, bb, line };
  // By ids: {ob, cob}, {fl, fi, fe, cfi, cfl, jfi}, {fn, cfn, jfn, frfn}.
  enum Table : uint8_t { objects, files, functions };
  using Position = std::array<uint64_t, 3>; // by Kind

  // Where a row is that needs another line: a call its cost, a jump its source.
  enum class Pending : uint8_t { nothing, call_cost, jump_source };

  // Each takes what is behind its key, and returns the beginning of the next line; null: error_.
  const char *cost_line(const char *p);
  const char *call_line(const char *p);
  const char *jump_line(const char *p, bool conditional);
  const char *place_line(const char *key, const char *p, size_t length);
  const char *header_line(std::string_view key, const char *p);
  const char *keyed_line(const char *p);
  const char *unknown_line(const char *p);
  const char *skipped_line(const char *p, std::string_view key);

  // Header lines; value: without blanks around it.
  bool version(const char *p);
  bool positions(const char *p);
  bool events(const char *p);
  bool event(std::string_view value);
  void description(std::string_view value);
  bool summary(const char *p);
  bool totals(const char *p);
  uint64_t number_or_finding(const char *p, uint64_t most);
  void begin_part();
  bool end_part();
  CostPartId part();

  bool take_position(const char *&p, Position &at);
  bool take_costs(const char *&p);
  // A number below 0 of that event. False: there is no other event to read the file for.
  bool take_negative(const char *&p, size_t event);
  bool take_count(const char *&p, uint64_t &count, std::string_view expected);
  // False: the name is damaged. `what` in a finding.
  bool take_name(const char *p, Table table, StringId &name);
  bool take_nested(std::string_view text, Table table, std::string &name, const char *at);
  StringId intern_expanded(std::string_view name);
  StringId name_of(uint64_t id, Table table, const char *at);
  bool open_block();
  std::string_view line_from(const char *p);  // to the end of the line, without its CR
  std::string_view value_from(const char *p); // … and without blanks around it
  CostPosition in_model(const Position &at) const {
    return {at[instr], static_cast<uint32_t>(at[line]), at[bb]};
  }
  FileId file(StringId name) { return builder_.add_file(name); }

  tally::Position where(const char *p) const {
    return tally::Position::at_line(line_, static_cast<uint64_t>(p - begin_) + 1);
  }
  bool refuse(const char *p, std::string message, ErrorCode code = ErrorCode::invalid_input);
  bool refuse_sum(const char *p, size_t event); // by the model's order
  bool refuse_number(const char *p, NumberFault fault, std::string_view expected);
  Error pending_error() const; // of the call or jump whose other line is missing
  bool is_negative(size_t column) const { return column < negative_.size() && negative_[column]; }
  void find(Severity severity, const char *p, std::string message, std::string_view key = {});

  CostProfileBuilder builder_;
  Diagnostics &diagnostics_;
  std::string source_;
  Error error_;
  const char *begin_ = nullptr; // of the line
  uint64_t line_ = 0;
  bool crlf_ = false, cut_ = false;

  // The part.
  CostPart header_;
  uint32_t part_index_ = 0;
  bool part_added_ = false, any_header_ = false, has_rows_ = false, totals_seen_ = false;
  bool has_summary_ = false;
  bool summary_behind_ = false;      // … behind the first fn=: what is cut would have lost it
  tally::Position summary_where_{};  // of its line
  std::vector<uint64_t> all_totals_; // of the parts that have ended
  uint32_t events_part_ = 0;         // of the newest events: line
  std::vector<std::string> event_names_;
  std::vector<uint32_t> event_columns_; // in the model, of all parts
  bool same_columns_ = true;            // event i is column i
  std::vector<Kind> kinds_{line};
  bool valgrind_base_ = false;
  bool writes_totals_ = false; // whoever made the file always does
  struct EventDetails {
    std::string name, long_name, formula;
  };
  std::vector<bool> negative_;                     // columns, of all parts: to be left out
  std::vector<EventDetails> event_details_;        // of all parts
  std::map<std::string, size_t> details_of_event_; // by name

  // What is in force.
  std::array<NameTable, 3> names_;
  size_t expanded_bytes_ = 0; // of nested names; never more than the limit
  StringId unknown_{};        // "???"
  StringId object_{}, file_{}, line_file_{};
  bool file_told_ = false; // by an fl= of this part
  StringId function_ = none<StringId>, function_file_{}, function_object_{};
  StringId call_object_ = none<StringId>, call_file_ = none<StringId>;
  StringId callee_ = none<StringId>, callee_file_{}, callee_object_{};
  StringId jump_file_ = none<StringId>, jump_function_ = none<StringId>;
  bool block_open_ = false;
  Position base_{};

  Pending pending_ = Pending::nothing;
  tally::Position pending_where_{};
  CostCall call_;
  CostJump jump_;
  std::vector<uint64_t> row_; // costs of a line, in the file's order
  size_t costs_ = 0;          // how many it stated
  std::vector<uint64_t> mapped_;
};

} // namespace tally::callgrind
