// Holds the state of reading one file. read.cpp reads rows, names.cpp reads names, and header.cpp
// reads headers and checks the ends of parts.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/callgrind/lex.h"
#include "formats/callgrind/names.h"
#include "model/cost_profile.h"
#include "support/diagnostics.h"

namespace tally::callgrind {

// There are many methods, because each kind of line has one, and all of them change the same state.
class Reader {
public:
  Reader(std::string_view source, Diagnostics &diagnostics);

  // Reads whole lines, each with its '\n'. Returns false on failure; error() has the reason.
  bool add(std::string_view lines);
  // Returns whether the file may be truncated: the part has a summary: before its first fn=, and no
  // totals: so far.
  bool may_be_cut() const {
    return part_.has_summary && !part_.summary_behind && !part_.totals_seen;
  }
  Result<CostProfile> finish();
  bool is_cut() const { return seen_.cut; } // whether a part is truncated; valid after finish()
  const Error &error() const { return error_; }

private:
  enum Kind : uint8_t { instr, bb, line };
  // The tables of ids: {ob, cob}, {fl, fi, fe, cfi, cfl, jfi}, {fn, cfn, jfn, frfn}.
  enum Table : uint8_t { objects, files, functions };
  using Position = std::array<uint64_t, 3>; // indexed by Kind

  // The line that the current row still needs: the cost of a call, or the source of a jump.
  enum class Pending : uint8_t { nothing, call_cost, jump_source };

  // Each function reads the text after the key of a line, and returns the beginning of the next
  // line, or null on failure, with the reason in error_.
  const char *cost_line(const char *p);
  const char *call_line(const char *p);
  const char *jump_line(const char *p, bool conditional);
  const char *position_line(const char *key, const char *p, size_t length);
  const char *header_line(std::string_view key, const char *p);
  const char *keyed_line(const char *p);
  const char *unknown_line(const char *p);
  const char *skipped_line(const char *p, std::string_view key);

  // Each function reads the header line whose key is its name. `value` has no blanks around it.
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
  // Reads a negative number and marks the event (an index into events_.names) to be left out.
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
  std::string_view value_from(const char *p); // line_from() without blanks around it
  CostPosition in_model(const Position &at) const {
    return {at[instr], static_cast<uint32_t>(at[line]), at[bb]};
  }
  FileId file(StringId name) { return builder_.add_file(name); }

  tally::Position where(const char *p) const {
    return tally::Position::at_line(line_, static_cast<uint64_t>(p - begin_) + 1);
  }
  bool refuse(const char *p, std::string message, ErrorCode code = ErrorCode::invalid_input);
  bool refuse_sum(const char *p, size_t event); // `event` is in the model's order
  bool refuse_number(const char *p, NumberFault fault, std::string_view expected);
  Error pending_error() const; // for the call or jump whose second line is missing
  void find(Severity severity, const char *p, std::string message, std::string_view key = {});

  // The part that is being read. begin_part() replaces it.
  struct Part {
    CostPart header;
    uint32_t index = 0;
    bool added = false;      // to the builder
    bool has_rows = false;   // a line with costs, a call or a jump
    bool block_open = false; // the builder's block has the names in force
    bool totals_seen = false;
    bool has_summary = false;
    bool summary_behind = false;     // summary: is after the first fn=, so it proves no truncation
    tally::Position summary_where{}; // the position of the summary: line
  };

  struct EventDetails {
    std::string name, long_name, formula;
  };
  struct Events {
    bool is_negative(size_t column) const { return column < negative.size() && negative[column]; }

    // Members that describe the newest events: line.
    uint32_t part = 0; // the part that has the line
    std::vector<std::string> names;
    std::vector<uint32_t> columns; // the model's column of each event, for all parts
    bool same_columns = true;      // event i is column i
    // Members that describe all parts.
    std::vector<bool> negative;               // the columns to leave out
    std::vector<uint64_t> all_totals;         // the sums over the parts that have ended
    std::vector<EventDetails> details;        // what event: lines say
    std::map<std::string, size_t> details_of; // the index into details, by event name
  };

  struct Positions {
    std::vector<Kind> kinds{line}; // the kinds of positions that a line has
    Position base{};               // the base of relative positions
    bool valgrind_base = false;    // relative positions follow Valgrind's rule, see FORMAT.md
  };

  // What the ids stand for.
  struct Ids {
    std::array<NameTable, 3> tables; // indexed by Table
    size_t expanded_bytes = 0;       // bytes of nested names; never more than the limit
  };

  // The names in force. A part begins without names; a function begins without a call and a jump.
  struct CallNames {
    StringId object = none<StringId>; // of cob= and cfi= lines that no cfn= line has used
    StringId file = none<StringId>;
    StringId callee = none<StringId>;
    StringId callee_file{}, callee_object{};
  };
  struct JumpNames {
    StringId file = none<StringId>;
    StringId function = none<StringId>;
  };
  struct Names {
    StringId object{}, file{}, line_file{};
    bool has_fl_line = false; // whether this part has had an fl= line
    StringId function = none<StringId>;
    StringId function_file{}, function_object{};
    CallNames call;
    JumpNames jump;
  };

  // The call or the jump whose second line is missing.
  struct Incomplete {
    Pending needs = Pending::nothing;
    tally::Position where{};
    CostCall call;
    CostJump jump;
  };

  struct LineCosts {
    std::vector<uint64_t> row;    // costs of a line, in the file's order
    size_t count = 0;             // the number of costs that the line states
    std::vector<uint64_t> mapped; // the same costs in the model's order
  };

  // What the lines of all parts have shown.
  struct Seen {
    bool crlf = false;          // some lines end in CR LF
    bool header = false;        // there was a header line
    bool cut = false;           // a part is truncated
    bool writes_totals = false; // the tool that made the file always writes totals:
  };

  CostProfileBuilder builder_;
  Diagnostics &diagnostics_;
  std::string source_;
  Error error_;
  const char *begin_ = nullptr; // the beginning of the line
  uint64_t line_ = 0;
  StringId unknown_{}; // "???"

  Seen seen_;
  Part part_;
  Events events_;
  Positions positions_;
  Ids ids_;
  Names names_;
  Incomplete incomplete_;
  LineCosts costs_;
};

} // namespace tally::callgrind
