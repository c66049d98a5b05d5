// Reads header lines, and checks a part when it ends.
#include <algorithm>

#include <fmt/format.h>

#include "formats/callgrind/reader.h"
#include "support/checked.h"

namespace tally::callgrind {

namespace {
// The number of names that `event:` lines may describe in one file. finish() searches all events
// for each of them.
constexpr size_t most_described_events = 1000;

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// Returns whether `c` separates event names. A CR does, too: at the end of a line, a CR in a name
// could not be distinguished from the line ending.
bool parts_names(char c) { return is_blank(c) || c == '\r'; }
} // namespace

// Reads a line of the form "key=…" or "key:…".
const char *Reader::keyed_line(const char *p) {
  if (at_end(p))
    return line_end(p) + 1;
  const char *const key = p;
  while (is_letter(*p))
    ++p;
  const auto length = static_cast<size_t>(p - key);
  const std::string_view word(key, length);
  if (pending_ != Pending::nothing) {
    error_ = pending_error();
    return nullptr;
  }
  if (*p == ':')
    return header_line(word, p + 1);
  if (*p != '=')
    return unknown_line(key);
  ++p;
  switch (length) {
  case 2:
    if (word == "ob" || word == "fl" || word == "fi" || word == "fe" || word == "fn")
      return position_line(key, p, length);
    if (word == "bb" || word == "ln")
      return skipped_line(p, word);
    break;
  case 3:
    if (word == "cfn" || word == "cfi" || word == "cob" || word == "cfl" || word == "jfi" ||
        word == "jfn")
      return position_line(key, p, length);
    if (word == "rec")
      return skipped_line(p, word);
    break;
  case 4:
    if (word == "jcnd")
      return jump_line(p, true);
    if (word == "jump")
      return jump_line(p, false);
    if (word == "frfn") {
      skipped_line(p, word);
      return position_line(key, p, length);
    }
    break;
  case 5:
    if (word == "calls")
      return call_line(p);
    break;
  case 6:
    if (word == "rcalls") {
      find(Severity::warning, begin_, "rcalls= is read as calls=", "rcalls");
      return call_line(p);
    }
    break;
  default:
    break;
  }
  return unknown_line(key);
}

const char *Reader::unknown_line(const char *p) {
  const std::string_view whole = line_from(p);
  const size_t key_end = whole.find_first_of("=:");
  const std::string_view shown = whole.substr(0, std::min<size_t>(key_end, 40));
  find(Severity::error, begin_, fmt::format("unknown line: {}", shown));
  return line_end(p) + 1;
}

const char *Reader::skipped_line(const char *p, std::string_view key) {
  find(Severity::warning, begin_, fmt::format("{}= is ignored", key));
  return line_end(p) + 1;
}

// --- the header

const char *Reader::header_line(std::string_view key, const char *p) {
  const char *const next = line_end(p) + 1;
  const std::string_view value = value_from(p);
  const bool begins_part = key == "part" || key == "pid" || key == "cmd" || key == "thread" ||
                           key == "version" || key == "creator" || key == "positions" ||
                           key == "events";
  if (begins_part && (has_rows_ || totals_seen_)) {
    if (!end_part())
      return nullptr;
    begin_part();
  }
  any_header_ = true;
  if (key == "version") {
    if (!version(p))
      return nullptr;
  } else if (key == "creator") {
    builder_.set_creator(value);
    valgrind_base_ = value.starts_with("callgrind-");
    writes_totals_ = valgrind_base_ || value.starts_with("tally-");
  } else if (key == "pid") {
    header_.pid = static_cast<int32_t>(number_or_finding(p, INT32_MAX));
  } else if (key == "thread") {
    header_.thread = static_cast<int32_t>(number_or_finding(p, INT32_MAX));
  } else if (key == "part") {
    header_.number = static_cast<uint32_t>(number_or_finding(p, UINT32_MAX));
  } else if (key == "cmd") {
    header_.command = builder_.intern(value);
  } else if (key == "desc") {
    description(value);
  } else if (key == "positions") {
    if (!positions(p))
      return nullptr;
  } else if (key == "events") {
    if (!events(p))
      return nullptr;
  } else if (key == "event") {
    if (!event(value))
      return nullptr;
  } else if (key == "summary") {
    if (!summary(p))
      return nullptr;
  } else if (key == "totals") {
    if (!totals(p))
      return nullptr;
  } else {
    return unknown_line(begin_);
  }
  return next;
}

uint64_t Reader::number_or_finding(const char *p, uint64_t most) {
  p = skip_blanks(p);
  const char *const begin = p;
  uint64_t value = 0;
  const NumberFault fault = take_number(p, value);
  if (fault == NumberFault::none && value <= most && at_end(skip_blanks(p)))
    return value;
  find(Severity::error, begin,
       fmt::format("expected a number up to {}, found '{}'", most, value_from(begin)));
  return 0;
}

bool Reader::version(const char *p) {
  p = skip_blanks(p);
  const char *const begin = p;
  uint64_t value = 0;
  if (const NumberFault fault = take_number(p, value); fault != NumberFault::none)
    return refuse_number(p, fault, "a version");
  if (value > 1)
    return refuse(begin, fmt::format("version {} is not supported; 1 is", value_from(begin)));
  return true;
}

bool Reader::positions(const char *p) {
  kinds_.clear();
  for (p = skip_blanks(p); !at_end(p); p = skip_blanks(p)) {
    const char *const begin = p;
    while (is_letter(*p))
      ++p;
    const std::string_view word(begin, static_cast<size_t>(p - begin));
    const Kind kind = word == "instr" || word == "addr" ? instr : word == "bb" ? bb : line;
    if ((kind == line && word != "line") || (!is_blank(*p) && !at_end(p)))
      return refuse(begin, "expected instr, bb or line");
    if (std::ranges::find(kinds_, kind) != kinds_.end())
      return refuse(begin, fmt::format("position {} is named twice", word));
    if (!kinds_.empty() && kinds_.back() > kind)
      find(Severity::warning, begin,
           "positions: has another order; the numbers are read in the order instr, bb, line",
           "positions order");
    kinds_.push_back(kind);
  }
  // KCachegrind and callgrind_annotate only check which words are there, and read the numbers in
  // this fixed order.
  std::ranges::sort(kinds_);
  return true;
}

bool Reader::events(const char *p) {
  if (!event_names_.empty() && events_part_ == part_index_)
    find(Severity::warning, begin_, "events: occurs twice; the last one is used", "events");
  events_part_ = part_index_;
  event_names_.clear();
  event_columns_.clear();
  same_columns_ = true;
  const auto skip = [&] {
    while (parts_names(*p))
      ++p;
    if (*p == '\n') // go back to before the CRs, which belong to the line ending
      while (p[-1] == '\r')
        --p;
  };
  for (skip(); !at_end(p); skip()) {
    const char *const begin = p;
    while (!parts_names(*p) && *p != '\n')
      ++p;
    std::string name(begin, p);
    if (std::ranges::find(event_names_, name) != event_names_.end())
      return refuse(begin, fmt::format("event {} is named twice", name));
    const auto known = builder_.so_far().events();
    const StringId id = builder_.intern(name);
    const auto at = std::ranges::find(known, id, &CostEvent::name);
    const auto column = static_cast<uint32_t>(at - known.begin());
    if (at == known.end()) {
      if (column == most_cost_events)
        return refuse(begin, fmt::format("more than {} events", most_cost_events),
                      ErrorCode::limit);
      builder_.add_event(name);
    }
    same_columns_ &= column == event_columns_.size();
    event_columns_.push_back(column);
    event_names_.push_back(std::move(name));
  }
  if (event_names_.empty())
    return refuse(p, "expected the names of events, found the end of the line");
  row_.assign(event_names_.size(), 0);
  return true;
}

// Reads "Name", "Name : long name", "Name = formula" or "Name = formula : long name".
bool Reader::event(std::string_view value) {
  const auto trimmed = [](std::string_view text) {
    while (!text.empty() && parts_names(text.front()))
      text.remove_prefix(1);
    while (!text.empty() && parts_names(text.back()))
      text.remove_suffix(1);
    return std::string(text);
  };
  const size_t name_end = std::min(value.find_first_of(" \t\r=:"), value.size());
  if (name_end == 0)
    return refuse(begin_, "expected the name of an event after event:");
  EventDetails details{std::string(value.substr(0, name_end)), {}, {}};
  std::string rest = trimmed(value.substr(name_end));
  const size_t colon = std::min(rest.find(':'), rest.size());
  if (colon < rest.size())
    details.long_name = trimmed(std::string_view(rest).substr(colon + 1));
  rest = trimmed(std::string_view(rest).substr(0, colon));
  if (rest.starts_with('='))
    details.formula = trimmed(std::string_view(rest).substr(1));
  else if (!rest.empty())
    find(Severity::error, begin_,
         fmt::format("expected '=' or ':' after the event's name, found '{}'", rest));
  const auto [at, added] = details_of_event_.try_emplace(details.name, event_details_.size());
  if (!added) {
    event_details_[at->second] = std::move(details);
    return true;
  }
  if (event_details_.size() == most_described_events)
    return refuse(begin_, fmt::format("more than {} events are described", most_described_events),
                  ErrorCode::limit);
  event_details_.push_back(std::move(details));
  return true;
}

void Reader::description(std::string_view value) {
  const size_t colon = std::min(value.find(':'), value.size());
  std::string_view key = value.substr(0, colon),
                   text = value.substr(std::min(colon + 1, value.size()));
  while (!key.empty() && is_blank(key.back()))
    key.remove_suffix(1);
  while (!text.empty() && is_blank(text.front()))
    text.remove_prefix(1);
  const StringId id = builder_.intern(text);
  if (key == "Trigger" && header_.trigger == StringId{})
    header_.trigger = id;
  else if (key == "Timerange" && header_.time_range == StringId{})
    header_.time_range = id;
  else
    header_.descriptions.emplace_back(builder_.intern(key), id);
}

bool Reader::summary(const char *p) {
  has_summary_ = true;
  summary_behind_ = function_ != none<StringId>;
  summary_where_ = where(begin_);
  header_.summary.clear();
  for (p = skip_blanks(p); !at_end(p); p = skip_blanks(p)) {
    uint64_t value = 0;
    if (const NumberFault fault = take_number(p, value);
        fault != NumberFault::none && !take_negative(p, header_.summary.size()))
      return refuse_number(p, fault, "a cost");
    header_.summary.push_back(value);
  }
  return true;
}

bool Reader::totals(const char *p) {
  const auto sums = part_added_ ? builder_.so_far().totals(part()) : std::span<const uint64_t>();
  totals_seen_ = true;
  block_open_ = false;
  size_t i = 0;
  bool reported = false;
  for (p = skip_blanks(p); !at_end(p); p = skip_blanks(p), ++i) {
    const char *const begin = p;
    uint64_t stated = 0;
    if (const NumberFault fault = take_number(p, stated);
        fault != NumberFault::none && !take_negative(p, i))
      return refuse_number(p, fault, "a cost");
    if (reported || (i < event_columns_.size() && is_negative(event_columns_[i])))
      continue;
    if (i >= event_names_.size()) {
      find(Severity::error, begin, "more totals than events");
      reported = true;
      continue;
    }
    const size_t column = event_columns_[i];
    const uint64_t sum = column < sums.size() ? sums[column] : 0;
    if (sum != stated) {
      find(Severity::error, begin,
           fmt::format("totals: says {} {}, but the lines add up to {}", stated, event_names_[i],
                       sum));
      reported = true;
    }
  }
  for (; i < event_names_.size() && !reported; ++i) { // missing numbers mean 0
    const size_t column = event_columns_[i];
    if (column >= sums.size() || sums[column] == 0 || is_negative(column))
      continue;
    find(Severity::error, p,
         fmt::format("totals: has no number for {}, but the lines add up to {}", event_names_[i],
                     sums[column]));
    reported = true;
  }
  return true;
}

// --- parts

CostPartId Reader::part() {
  if (!part_added_) {
    const auto has = [&](Kind kind) { return std::ranges::find(kinds_, kind) != kinds_.end(); };
    const CostProfile &so_far = builder_.so_far();
    const bool first = so_far.parts().size() == 0;
    // Without position words all lines are unknown, but the profile still has the position `line`,
    // because a profile that is written needs one.
    builder_.set_positions(has(instr) || (!first && so_far.has_addresses),
                           has(line) || kinds_.empty() || (!first && so_far.has_lines),
                           has(bb) || (!first && so_far.has_basic_blocks));
    builder_.add_part(header_);
    part_added_ = true;
  }
  return static_cast<CostPartId>(builder_.so_far().parts().size() - 1);
}

void Reader::begin_part() {
  ++part_index_;
  const CostPart before = std::exchange(header_, {});
  header_.number = before.number == UINT32_MAX ? before.number : before.number + 1;
  part_added_ = has_rows_ = totals_seen_ = has_summary_ = summary_behind_ = has_fl_line_ = false;
  object_ = file_ = line_file_ = {};
  function_ = callee_ = call_object_ = call_file_ = jump_file_ = jump_function_ = none<StringId>;
  block_open_ = false;
  base_ = {};
}

bool Reader::end_part() {
  if (!any_header_ && !has_rows_)
    return true;
  const CostPartId id = part();
  // Drop surplus numbers. Another part may have more events, and must not get them as its costs.
  if (header_.summary.size() > event_columns_.size()) {
    diagnostics_.add(Severity::error, "more numbers in summary: than events", source_,
                     summary_where_);
    header_.summary.resize(event_columns_.size());
  }
  // The part was added at its first row. Copy the headers that came after that.
  CostPart &part = builder_.part(id);
  part = header_;
  if (!same_columns_) { // bring the summary into the model's order of events
    part.summary.clear();
    for (size_t i = 0; i < header_.summary.size(); ++i) {
      part.summary.resize(std::max<size_t>(part.summary.size(), event_columns_[i] + 1), 0);
      part.summary[event_columns_[i]] = header_.summary[i];
    }
  }
  const auto sums = builder_.so_far().totals(id);
  all_totals_.resize(builder_.so_far().events().size(), 0);
  for (size_t e = 0; e < sums.size(); ++e)
    if (!checked_add(all_totals_[e], sums[e]))
      return refuse_sum(begin_, e);
  // A summary that equals the totals adds no information.
  const auto at = [](std::span<const uint64_t> values, size_t e) {
    return e < values.size() ? values[e] : 0;
  };
  bool same = true;
  for (size_t e = 0; e < std::max(part.summary.size(), sums.size()); ++e)
    same &= at(part.summary, e) == at(sums, e);
  if (same)
    part.summary.clear();
  if (totals_seen_ || !has_summary_)
    return true;
  for (size_t i = 0; i < header_.summary.size(); ++i) {
    const size_t column = event_columns_[i];
    const uint64_t sum = column < sums.size() ? sums[column] : 0;
    if (sum == header_.summary[i] || is_negative(column))
      continue;
    if (summary_behind_) { // Xdebug's summary: includes Xdebug's own time
      diagnostics_.add(Severity::warning,
                       fmt::format("summary: says {} {}, but the lines add up to {}, which is used",
                                   header_.summary[i], event_names_[i], sum),
                       source_, summary_where_, "summary behind");
      return true;
    }
    cut_ = true;
    const std::string rest =
        fmt::format("the lines add up to {} of {} {}", sum, header_.summary[i], event_names_[i]);
    // Other tools never write totals:, and lsprof's summary: is not a sum.
    if (!writes_totals_) {
      find(Severity::warning, begin_,
           "there is no totals: line, and " + rest + ": the file may be truncated", "truncated");
      return true;
    }
    find(Severity::error, begin_, "truncated: there is no totals: line, and " + rest, "truncated");
    // Record the truncation in the profile, so that the file does not look complete when it is
    // written again.
    CostPart &cut = builder_.part(id);
    cut.summary.clear();
    cut.descriptions.emplace_back(builder_.intern("Truncated"), builder_.intern(rest));
    return true;
  }
  return true;
}

} // namespace tally::callgrind
