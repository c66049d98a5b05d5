// Reads rows: self costs, calls and jumps. FORMAT.md has the rules.
#include "formats/callgrind/read.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "formats/callgrind/reader.h"
#include "support/line_blocks.h"
#include "transform/cost_copy.h"

namespace tally::callgrind {

NumberFault take_rare_number(const char *&p, uint64_t &value) {
  const char *q = p;
  uint64_t sum = 0;
  if (*q == '0' && (q[1] == 'x' || q[1] == 'X') && hex_digit(q[2]) >= 0) {
    for (q += 2; hex_digit(*q) >= 0; ++q) {
      if (sum >> 60)
        return NumberFault::too_large;
      sum = sum << 4 | static_cast<uint64_t>(hex_digit(*q));
    }
  } else {
    for (; is_digit(*q); ++q)
      if (__builtin_mul_overflow(sum, uint64_t{10}, &sum) ||
          __builtin_add_overflow(sum, static_cast<uint64_t>(*q - '0'), &sum))
        return NumberFault::too_large;
  }
  p = q;
  value = sum;
  return NumberFault::none;
}

Reader::Reader(std::string_view source, Diagnostics &diagnostics)
    : diagnostics_(diagnostics), source_(source), unknown_(builder_.intern("???")) {}

bool Reader::refuse(const char *p, std::string message, ErrorCode code) {
  error_ = Error(code, std::move(message), source_, where(p));
  return false;
}

bool Reader::refuse_number(const char *p, NumberFault fault, std::string_view expected) {
  if (fault == NumberFault::too_large)
    return refuse(p, "the number does not fit in 64 bits", ErrorCode::overflow);
  if (*p == '-')
    return refuse(p, fmt::format("expected {}, found a negative number", expected));
  const std::string_view rest = line_from(p);
  return refuse(p, rest.empty() ? fmt::format("expected {}, found the end of the line", expected)
                                : fmt::format("expected {}, found '{}'", expected,
                                              rest.substr(0, rest.find_first_of(" \t"))));
}

bool Reader::refuse_sum(const char *p, size_t event) {
  return refuse(p,
                fmt::format("the sum of event {} exceeds 64 bits",
                            builder_.so_far().strings[builder_.so_far().events()[event].name]),
                ErrorCode::overflow);
}

Error Reader::pending_error() const {
  const bool call = incomplete_.needs == Pending::call_cost;
  return {ErrorCode::invalid_input,
          call ? "a call needs a line with its position and cost"
               : "a jump needs a line with its position",
          source_, incomplete_.where};
}

void Reader::find(Severity severity, const char *p, std::string message, std::string_view key) {
  diagnostics_.add(severity, std::move(message), source_, where(p), key);
}

std::string_view Reader::line_from(const char *p) {
  const char *end = line_end(p);
  while (end > p && end[-1] == '\r')
    --end;
  return {p, static_cast<size_t>(end - p)};
}

std::string_view Reader::value_from(const char *p) {
  std::string_view value = line_from(skip_blanks(p));
  while (!value.empty() && (is_blank(value.back()) || value.back() == '\r'))
    value.remove_suffix(1);
  return value;
}

bool Reader::add(std::string_view lines) {
  const char *p = lines.data(), *end = p + lines.size();
  while (p != end) {
    ++line_;
    begin_ = p;
    p = skip_blanks(p);
    const char c = *p;
    if (is_digit(c) || c == '+' || c == '-' || c == '*') {
      p = cost_line(p);
    } else if (c == '\n') {
      ++p;
    } else if (c == '#') {
      p = line_end(p) + 1;
    } else {
      p = keyed_line(p);
    }
    if (!p)
      return false;
    if (p - begin_ > 1 && p[-2] == '\r' && !seen_.crlf) {
      seen_.crlf = true; // report this once, because the other lines usually end alike
      find(Severity::warning, p - 2, "lines end in CR LF");
    }
  }
  return true;
}

bool Reader::take_position(const char *&p, Position &at) {
  at = {};
  for (const Kind kind : positions_.kinds) {
    p = skip_blanks(p);
    const char *const begin = p;
    const char sign = *p;
    uint64_t value = positions_.base[kind];
    if (sign == '*') {
      ++p;
    } else {
      const bool relative = sign == '+' || sign == '-';
      p += relative;
      uint64_t number = 0;
      if (const NumberFault fault = take_number(p, number); fault != NumberFault::none)
        return refuse_number(relative && fault == NumberFault::not_a_number ? begin : p, fault,
                             "a position");
      if (!relative)
        value = number;
      else if (sign == '+' ? __builtin_add_overflow(value, number, &value)
                           : __builtin_sub_overflow(value, number, &value))
        return refuse(begin, sign == '+' ? "the position does not fit in 64 bits"
                                         : fmt::format("the position would be negative: {} - {}",
                                                       positions_.base[kind], number));
    }
    if (!is_blank(*p) && *p != '\n' && !at_end(p)) {
      // KCachegrind accepts ranges of positions, "10+3" and "10:12". Record the cost of a range at
      // its beginning.
      if ((*p == '+' || *p == '-' || *p == ':') && is_digit(p[1])) {
        find(Severity::warning, begin, "a range of positions is read as its beginning",
             "position range");
        ++p;
        uint64_t ignored = 0;
        if (const NumberFault fault = take_number(p, ignored); fault != NumberFault::none)
          return refuse_number(p, fault, "a position");
      }
      if (!is_blank(*p) && !at_end(p))
        return refuse(p, fmt::format("expected a blank after a position, found '{}'",
                                     line_from(p).substr(0, 1)));
    }
    if (kind == line && value > std::numeric_limits<uint32_t>::max())
      return refuse(begin, fmt::format("the line number {} does not fit in 32 bits", value));
    at[kind] = value;
  }
  return true;
}

bool Reader::take_costs(const char *&p) {
  costs_.count = 0;
  const size_t width = costs_.row.size();
  while (true) {
    p = skip_blanks(p);
    if (*p == '\n')
      break;
    const char *const begin = p;
    uint64_t value = 0;
    if (const NumberFault fault = take_number(p, value); fault != NumberFault::none) {
      if (at_end(p))
        break;
      if (costs_.count == width || !take_negative(p, costs_.count))
        return refuse_number(p, fault, "a cost");
    }
    if (costs_.count == width)
      return refuse(begin, fmt::format("more costs than events: there {} {}",
                                       width == 1 ? "is" : "are", width));
    costs_.row[costs_.count++] = value;
    if (!is_blank(*p) && *p != '\n' && !at_end(p))
      return refuse_number(p, NumberFault::not_a_number, "a blank after a cost");
  }
  p = line_end(p) + 1;
  return true;
}

// Xdebug's memory event has negative costs. The model has unsigned costs, and a sum without the
// negative costs would be wrong, so the whole event is left out.
bool Reader::take_negative(const char *&p, size_t event) {
  if (*p != '-' || events_.names.size() < 2 || event >= events_.names.size())
    return false;
  const char *number = p + 1;
  uint64_t value = 0;
  if (take_number(number, value) != NumberFault::none)
    return false;
  find(Severity::warning, p,
       fmt::format("event {} has negative costs; the event is ignored", events_.names[event]),
       "negative " + events_.names[event]);
  const size_t column = events_.columns[event];
  events_.negative.resize(std::max(events_.negative.size(), column + 1), false);
  events_.negative[column] = true;
  p = number;
  return true;
}

bool Reader::take_count(const char *&p, uint64_t &count, std::string_view expected) {
  p = skip_blanks(p);
  if (const NumberFault fault = take_number(p, count); fault != NumberFault::none)
    return refuse_number(p, fault, expected);
  if (!is_blank(*p) && *p != '/' && !at_end(p))
    return refuse_number(p, NumberFault::not_a_number, "a blank after a count");
  return true;
}

bool Reader::open_block() {
  if (part_.block_open)
    return true;
  if (events_.names.empty())
    return refuse(begin_, "costs before any events: line");
  if (names_.function == none<StringId>)
    return refuse(begin_, "costs before any fn= line");
  if (part_.totals_seen)
    find(Severity::error, begin_, "lines with costs after totals:", "behind totals");
  const CostPartId in = part();
  builder_.begin_block(in,
                       builder_.add_function(names_.function, file(names_.function_file),
                                             builder_.add_object(names_.function_object)),
                       file(names_.line_file));
  part_.block_open = part_.has_rows = true;
  return true;
}

const char *Reader::cost_line(const char *p) {
  if (!open_block())
    return nullptr;
  Position at;
  if (!take_position(p, at))
    return nullptr;
  if (incomplete_.needs == Pending::jump_source) {
    p = skip_blanks(p);
    if (!at_end(p))
      find(Severity::warning, p, "a jump's line has costs, which are ignored", "jump cost");
    incomplete_.jump.from = in_model(at);
    builder_.add_jump(incomplete_.jump);
    incomplete_.needs = Pending::nothing;
    if (!positions_.valgrind_base)
      positions_.base = at;
    return line_end(p) + 1;
  }
  const char *costs_at = p;
  if (!take_costs(p))
    return nullptr;
  std::span<const uint64_t> costs(costs_.row.data(), costs_.count);
  if (!events_.same_columns) {
    costs_.mapped.assign(builder_.so_far().events().size(), 0);
    for (size_t i = 0; i < costs.size(); ++i)
      costs_.mapped[events_.columns[i]] = costs[i];
    costs = costs_.mapped;
  }
  if (incomplete_.needs == Pending::call_cost) {
    incomplete_.call.from = in_model(at);
    builder_.add_call(incomplete_.call, costs);
    incomplete_.needs = Pending::nothing;
    if (!positions_.valgrind_base)
      positions_.base = at;
    return p;
  }
  positions_.base = at;
  if (const auto event = builder_.add_cost(in_model(at), costs)) {
    // The costs follow the positions in the file's order; report the cost whose sum overflowed.
    for (size_t i = 0; i < costs_.count; ++i) {
      costs_at = skip_blanks(costs_at);
      if (events_.columns[i] == *event)
        break;
      uint64_t ignored = 0;
      static_cast<void>(take_number(costs_at, ignored));
    }
    refuse_sum(costs_at, *event);
    return nullptr;
  }
  return p;
}

const char *Reader::call_line(const char *p) {
  if (names_.call.callee == none<StringId>) {
    refuse(begin_, "calls= without a cfn= before it");
    return nullptr;
  }
  if (!open_block())
    return nullptr;
  incomplete_.call = {};
  if (!take_count(p, incomplete_.call.count, "the number of calls"))
    return nullptr;
  p = skip_blanks(p);
  Position target{};
  if (at_end(p) && !positions_.kinds.empty()) {
    find(Severity::warning, p, "calls= without the position of its target", "no call target");
  } else if (!take_position(p, target)) {
    return nullptr;
  }
  p = skip_blanks(p);
  // Xdebug writes a 0 for an address that it does not have. Ignoring it loses nothing.
  while (*p == '0' && (is_blank(p[1]) || at_end(p + 1)))
    p = skip_blanks(p + 1);
  if (!at_end(p))
    find(Severity::warning, p, "more numbers after calls= than positions need; they are ignored",
         "call target");
  incomplete_.call.target = in_model(target);
  // A cfi= or cob= between cfn= and calls= describes this call, too. lsprof writes cfi= there.
  if (names_.call.file != none<StringId>)
    names_.call.callee_file = std::exchange(names_.call.file, none<StringId>);
  if (names_.call.object != none<StringId>)
    names_.call.callee_object = std::exchange(names_.call.object, none<StringId>);
  incomplete_.call.callee = builder_.add_function(names_.call.callee, file(names_.call.callee_file),
                                                  builder_.add_object(names_.call.callee_object));
  incomplete_.needs = Pending::call_cost;
  incomplete_.where = where(begin_);
  return line_end(p) + 1;
}

const char *Reader::jump_line(const char *p, bool conditional) {
  if (!open_block())
    return nullptr;
  const auto count = [&](uint64_t &value) { return take_count(p, value, "the number of jumps"); };
  incomplete_.jump = {};
  incomplete_.jump.conditional = conditional;
  if (!count(incomplete_.jump.executed))
    return nullptr;
  if (conditional) {
    // Valgrind writes followed/executed; its manual has executed, a blank, and followed.
    const bool slash = *p == '/';
    p += slash;
    if (!slash)
      find(Severity::warning, p, "jcnd= without a '/' is read as executed, followed", "jcnd");
    if (!count(incomplete_.jump.followed))
      return nullptr;
    if (slash)
      std::swap(incomplete_.jump.executed, incomplete_.jump.followed);
  }
  Position target;
  if (!take_position(p, target))
    return nullptr;
  p = skip_blanks(p);
  if (!at_end(p))
    find(Severity::warning, p, "more numbers after a jump than positions need; they are ignored",
         "jump target");
  incomplete_.jump.target = in_model(target);
  if (names_.jump.file != none<StringId>)
    incomplete_.jump.target_file = file(names_.jump.file);
  if (names_.jump.function != none<StringId>)
    incomplete_.jump.target_function = builder_.add_function(
        names_.jump.function,
        file(names_.jump.file == none<StringId> ? names_.line_file : names_.jump.file),
        builder_.add_object(names_.function_object)); // no line can name another object
  names_.jump = {};
  incomplete_.needs = Pending::jump_source;
  incomplete_.where = where(begin_);
  return line_end(p) + 1;
}

Result<CostProfile> Reader::finish() {
  if (!end_part())
    return fail(error_);
  if (incomplete_.needs != Pending::nothing && !seen_.cut)
    return fail(pending_error());
  for (const EventDetails &event : events_.details)
    builder_.describe_event(event.name, event.long_name, event.formula);
  auto profile = builder_.finish();
  if (profile && !events_.negative.empty())
    profile = without_events(*profile, events_.negative);
  if (!profile && profile.error().source.empty())
    profile.error().source = source_;
  return profile;
}

bool probe(std::string_view head) {
  while (!head.empty()) {
    head.remove_prefix(std::min(head.find_first_not_of(" \t"), head.size()));
    for (std::string_view key :
         {"events:", "positions:", "creator:", "version:", "# callgrind format"})
      if (head.starts_with(key))
        return true;
    head.remove_prefix(std::min(head.find('\n'), head.size() - 1) + 1);
  }
  return false;
}

Result<Profile> read(ByteSource &source, Diagnostics &diagnostics) {
  Reader reader(source.name(), diagnostics);
  std::optional<Error> half_line;
  for (LineBlocks blocks(source);;) {
    TALLY_TRY(block, blocks.next());
    if (block.empty())
      break;
    if (reader.add(block))
      continue;
    if (!blocks.last_line_open() || !reader.may_be_cut())
      return fail(reader.error());
    half_line = reader.error();
    break;
  }
  auto profile = reader.finish();
  // An error in an incomplete last line is a consequence of the truncation. If the file is not
  // truncated, it is an error like any other.
  if (half_line && !reader.is_cut())
    return fail(std::move(*half_line));
  if (!profile)
    return fail(std::move(profile.error()));
  return Profile(std::move(*profile));
}

} // namespace tally::callgrind
