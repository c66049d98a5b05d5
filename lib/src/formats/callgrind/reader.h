// Holds the state of reading one file. read.cpp reads rows, names.cpp reads names, and header.cpp
// reads headers and checks the ends of parts.
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

  // Reads whole lines, each with its '\n'. Returns false on failure; error() has the reason.
  bool add(std::string_view lines);
  // Returns whether the file may be truncated: the part has a summary: before its first fn=, and no
  // totals: so far.
  bool may_be_cut() const { return has_summary_ && !summary_behind_ && !totals_seen_; }
  Result<CostProfile> finish();
  bool is_cut() const { return cut_; } // whether a part is truncated; valid after finish()
  const Error &error() const { return error_; }

private:
  enum Kind : uint8_t { instr, bb, line };
  // The tables of ids: {ob, cob}, {fl, fi, fe, cfi, cfl, jfi}, {fn, cfn, jfn, frfn}.
  enum Table : uint8_t { objects, files, functions };
  using Position = std::array<uint64_t, 3>; // indexed by Kind

  // The line that the current row still needs: the cost of a call, or the source of a jump.
  enum class Pending : uint8_t { nothing, call_cost, jump_source };

  // Each function reads the text after its key, and returns the beginning of the next line, or null
  // on failure, with the reason in error_.
  const char *cost_line(const char *p);
  const char *call_line(const char *p);
  const char *jump_line(const char *p, bool conditional);
  const char *position_line(const char *key, const char *p, size_t length);
  const char *header_line(std::string_view key, const char *p);
  const char *keyed_line(const char *p);
  const char *unknown_line(const char *p);
  const char *skipped_line(const char *p, std::string_view key);

  // Read the header line of that name. `value` has no blanks around it.
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
  // Reads a negative number and marks the event (an index into event_names_) to be left out.
  // Returns false if `p` is not at such a number, or if the file has no other event.
  bool take_negative(const char *&p, size_t event);
  bool take_count(const char *&p, uint64_t &count, std::string_view expected);
  // Reads a NameRef of FORMAT.md. Returns false, with the reason in error_, if it is malformed.
  bool take_name(const char *p, Table table, StringId &name);
  bool take_nested(std::string_view text, Table table, std::string &name, const char *at);
  StringId intern_expanded(std::string_view name);
  StringId name_of(uint64_t id, Table table, const char *at);
  bool open_block();
  std::string_view line_from(const char *p);  // the rest of the line, without its CRs
  std::string_view value_from(const char *p); // the same without blanks around it
  CostPosition in_model(const Position &at) const {
    return {at[instr], static_cast<uint32_t>(at[line]), at[bb]};
  }
  FileId file(StringId name) { return builder_.add_file(name); }

  tally::Position where(const char *p) const {
    return tally::Position::at_line(line_, static_cast<uint64_t>(p - begin_) + 1);
  }
  bool refuse(const char *p, std::string message, ErrorCode code = ErrorCode::invalid_input);
  bool refuse_sum(const char *p, size_t event); // an index in the model's order
  bool refuse_number(const char *p, NumberFault fault, std::string_view expected);
  Error pending_error() const; // for the call or jump whose second line is missing
  bool is_negative(size_t column) const { return column < negative_.size() && negative_[column]; }
  void find(Severity severity, const char *p, std::string message, std::string_view key = {});

  CostProfileBuilder builder_;
  Diagnostics &diagnostics_;
  std::string source_;
  Error error_;
  const char *begin_ = nullptr; // the beginning of the line
  uint64_t line_ = 0;
  bool crlf_ = false, cut_ = false;

  // The current part.
  CostPart header_;
  uint32_t part_index_ = 0;
  bool part_added_ = false, any_header_ = false, has_rows_ = false, totals_seen_ = false;
  bool has_summary_ = false;
  bool summary_behind_ = false;      // summary: is after the first fn=, so it proves no truncation
  tally::Position summary_where_{};  // the position of the summary: line
  std::vector<uint64_t> all_totals_; // the sums over the parts that have ended
  uint32_t events_part_ = 0;         // the part of the newest events: line
  std::vector<std::string> event_names_;
  std::vector<uint32_t> event_columns_; // the model's column of each event, for all parts
  bool same_columns_ = true;            // event i is column i
  std::vector<Kind> kinds_{line};
  bool valgrind_base_ = false; // relative positions follow Valgrind's rule, see FORMAT.md
  bool writes_totals_ = false; // the tool that made the file always writes totals:
  struct EventDetails {
    std::string name, long_name, formula;
  };
  std::vector<bool> negative_;                     // the columns to leave out, for all parts
  std::vector<EventDetails> event_details_;        // of all parts
  std::map<std::string, size_t> details_of_event_; // the index into event_details_, by event name

  // The names in force.
  std::array<NameTable, 3> names_; // indexed by Table
  size_t expanded_bytes_ = 0;      // bytes of nested names; never more than the limit
  StringId unknown_{};             // "???"
  StringId object_{}, file_{}, line_file_{};
  bool has_fl_line_ = false; // whether this part has had an fl= line
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
  std::vector<uint64_t> row_;    // costs of a line, in the file's order
  size_t costs_ = 0;             // how many of them the line stated
  std::vector<uint64_t> mapped_; // the same costs in the model's order
};

} // namespace tally::callgrind
