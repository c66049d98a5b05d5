// Reads header lines, and checks a part when it ends.
#include <algorithm>

#include <fmt/format.h>

#include "formats/callgrind/reader.h"
#include "support/checked.h"
#include "support/sort.h"

namespace tally::callgrind {

namespace {
// The number of names that `event:` lines may describe in one file. finish() searches all events
// for each described event.
constexpr size_t most_described_events = 1000;

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// Returns whether `c` separates event names. A CR is a separator, because a CR at the end of the
// last name could not be distinguished from the line ending.
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
  if (incomplete_.needs != Pending::nothing) {
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
  if (begins_part && (part_.has_rows || part_.totals_seen)) {
    if (!end_part())
      return nullptr;
    begin_part();
  }
  seen_.header = true;
  if (key == "version") {
    if (!version(p))
      return nullptr;
  } else if (key == "creator") {
    builder_.set_creator(value);
    positions_.valgrind_base = value.starts_with("callgrind-");
    seen_.writes_totals = positions_.valgrind_base || value.starts_with("tally-");
  } else if (key == "pid") {
    part_.header.pid = static_cast<int32_t>(number_or_finding(p, INT32_MAX));
  } else if (key == "thread") {
    part_.header.thread = static_cast<int32_t>(number_or_finding(p, INT32_MAX));
  } else if (key == "part") {
    part_.header.number = static_cast<uint32_t>(number_or_finding(p, UINT32_MAX));
  } else if (key == "cmd") {
    part_.header.command = builder_.intern(value);
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
  positions_.kinds.clear();
  for (p = skip_blanks(p); !at_end(p); p = skip_blanks(p)) {
    const char *const begin = p;
    while (is_letter(*p))
      ++p;
    const std::string_view word(begin, static_cast<size_t>(p - begin));
    const Kind kind = word == "instr" || word == "addr" ? instr : word == "bb" ? bb : line;
    if ((kind == line && word != "line") || (!is_blank(*p) && !at_end(p)))
      return refuse(begin, "expected instr, bb or line");
    if (std::ranges::find(positions_.kinds, kind) != positions_.kinds.end())
      return refuse(begin, fmt::format("position {} is named twice", word));
    if (!positions_.kinds.empty() && positions_.kinds.back() > kind)
      find(Severity::warning, begin,
           "positions: has another order; the numbers are read in the order instr, bb, line",
           "positions order");
    positions_.kinds.push_back(kind);
  }
  // KCachegrind and callgrind_annotate only check which words are there, and read the numbers in
  // this fixed order.
  sort_stably(positions_.kinds);
  return true;
}

bool Reader::events(const char *p) {
  if (!events_.names.empty() && events_.part == part_.index)
    find(Severity::warning, begin_, "events: occurs twice; the last one is used", "events");
  events_.part = part_.index;
  events_.names.clear();
  events_.columns.clear();
  events_.same_columns = true;
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
    if (std::ranges::find(events_.names, name) != events_.names.end())
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
    events_.same_columns &= column == events_.columns.size();
    events_.columns.push_back(column);
    events_.names.push_back(std::move(name));
  }
  if (events_.names.empty())
    return refuse(p, "expected the names of events, found the end of the line");
  costs_.row.assign(events_.names.size(), 0);
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
  const auto [at, added] = events_.details_of.try_emplace(details.name, events_.details.size());
  if (!added) {
    events_.details[at->second] = std::move(details);
    return true;
  }
  if (events_.details.size() == most_described_events)
    return refuse(begin_, fmt::format("more than {} events are described", most_described_events),
                  ErrorCode::limit);
  events_.details.push_back(std::move(details));
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
  if (key == "Trigger" && part_.header.trigger == StringId{})
    part_.header.trigger = id;
  else if (key == "Timerange" && part_.header.time_range == StringId{})
    part_.header.time_range = id;
  else
    part_.header.descriptions.emplace_back(builder_.intern(key), id);
}

bool Reader::summary(const char *p) {
  part_.has_summary = true;
  part_.summary_behind = names_.function != none<StringId>;
  part_.summary_where = where(begin_);
  part_.header.summary.clear();
  for (p = skip_blanks(p); !at_end(p); p = skip_blanks(p)) {
    uint64_t value = 0;
    if (const NumberFault fault = take_number(p, value);
        fault != NumberFault::none && !take_negative(p, part_.header.summary.size()))
      return refuse_number(p, fault, "a cost");
    part_.header.summary.push_back(value);
  }
  return true;
}

bool Reader::totals(const char *p) {
  const auto sums = part_.added ? builder_.so_far().totals(part()) : std::span<const uint64_t>();
  part_.totals_seen = true;
  part_.block_open = false;
  size_t i = 0;
  bool reported = false;
  for (p = skip_blanks(p); !at_end(p); p = skip_blanks(p), ++i) {
    const char *const begin = p;
    uint64_t stated = 0;
    if (const NumberFault fault = take_number(p, stated);
        fault != NumberFault::none && !take_negative(p, i))
      return refuse_number(p, fault, "a cost");
    if (reported || (i < events_.columns.size() && events_.is_negative(events_.columns[i])))
      continue;
    if (i >= events_.names.size()) {
      find(Severity::error, begin, "more totals than events");
      reported = true;
      continue;
    }
    const size_t column = events_.columns[i];
    const uint64_t sum = column < sums.size() ? sums[column] : 0;
    if (sum != stated) {
      find(Severity::error, begin,
           fmt::format("totals: says {} {}, but the lines add up to {}", stated, events_.names[i],
                       sum));
      reported = true;
    }
  }
  for (; i < events_.names.size() && !reported; ++i) { // missing numbers mean 0
    const size_t column = events_.columns[i];
    if (column >= sums.size() || sums[column] == 0 || events_.is_negative(column))
      continue;
    find(Severity::error, p,
         fmt::format("totals: has no number for {}, but the lines add up to {}", events_.names[i],
                     sums[column]));
    reported = true;
  }
  return true;
}

// --- parts

CostPartId Reader::part() {
  if (!part_.added) {
    const auto has = [&](Kind kind) {
      return std::ranges::find(positions_.kinds, kind) != positions_.kinds.end();
    };
    const CostProfile &so_far = builder_.so_far();
    const bool first = so_far.parts().size() == 0;
    // Without position words all lines are unknown, but the profile still has the position `line`,
    // because a profile that is written needs one.
    builder_.set_positions(has(instr) || (!first && so_far.has_addresses),
                           has(line) || positions_.kinds.empty() || (!first && so_far.has_lines),
                           has(bb) || (!first && so_far.has_basic_blocks));
    builder_.add_part(part_.header);
    part_.added = true;
  }
  return static_cast<CostPartId>(builder_.so_far().parts().size() - 1);
}

void Reader::begin_part() {
  const Part before = std::exchange(part_, {});
  part_.index = before.index + 1;
  const uint32_t number = before.header.number;
  part_.header.number = number == UINT32_MAX ? number : number + 1;
  names_ = {};
  positions_.base = {};
}

bool Reader::end_part() {
  if (!seen_.header && !part_.has_rows)
    return true;
  const CostPartId id = part();
  // Drop surplus numbers. If another part has more events, the surplus numbers would be taken for
  // costs of those events.
  if (part_.header.summary.size() > events_.columns.size()) {
    diagnostics_.add(Severity::error, "more numbers in summary: than events", source_,
                     part_.summary_where);
    part_.header.summary.resize(events_.columns.size());
  }
  // The part was added to the profile at its first row. Copy the headers that came after that row.
  CostPart &part = builder_.part(id);
  part = part_.header;
  if (!events_.same_columns) { // bring the summary into the model's order of events
    part.summary.clear();
    for (size_t i = 0; i < part_.header.summary.size(); ++i) {
      part.summary.resize(std::max<size_t>(part.summary.size(), events_.columns[i] + 1), 0);
      part.summary[events_.columns[i]] = part_.header.summary[i];
    }
  }
  const auto sums = builder_.so_far().totals(id);
  events_.all_totals.resize(builder_.so_far().events().size(), 0);
  for (size_t e = 0; e < sums.size(); ++e)
    if (!checked_add(events_.all_totals[e], sums[e]))
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
  if (part_.totals_seen || !part_.has_summary)
    return true;
  for (size_t i = 0; i < part_.header.summary.size(); ++i) {
    const size_t column = events_.columns[i];
    const uint64_t sum = column < sums.size() ? sums[column] : 0;
    if (sum == part_.header.summary[i] || events_.is_negative(column))
      continue;
    if (part_.summary_behind) { // Xdebug's summary: includes Xdebug's own time
      diagnostics_.add(Severity::warning,
                       fmt::format("summary: says {} {}, but the lines add up to {}, which is used",
                                   part_.header.summary[i], events_.names[i], sum),
                       source_, part_.summary_where, "summary behind");
      return true;
    }
    seen_.cut = true;
    const std::string rest = fmt::format("the lines add up to {} of {} {}", sum,
                                         part_.header.summary[i], events_.names[i]);
    // Other tools never write totals:, so its absence proves nothing. lsprof's summary: is not a
    // sum.
    if (!seen_.writes_totals) {
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
