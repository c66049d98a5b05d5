#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "formats/folded/counts.h"
#include "formats/folded/folded.h"
#include "support/checked.h"
#include "support/hash.h"
#include "support/line_blocks.h"
#include "support/utf16.h"

namespace tally::folded {

namespace {

constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";

std::string_view without_mark(std::string_view text) {
  return text.starts_with(utf8_mark) ? text.substr(utf8_mark.size()) : text;
}

class Reader {
public:
  Reader(ByteSource &source, Diagnostics &diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Result<Profile> run() {
    TALLY_CHECK(find_form());
    for (LineBlocks blocks(source_);;) {
      TALLY_TRY(block, blocks.next());
      if (block.empty())
        break;
      if (line_ == 1)
        block = without_mark(block);
      for (; !block.empty(); ++line_) {
        const std::string_view line = next_line(block);
        if (!is_skipped(line))
          TALLY_CHECK(add(line));
      }
    }
    if (is_leaf_.empty())
      return fail(ErrorCode::no_data, "holds no stacks", source_.name());
    add_samples();
    TALLY_TRY(profile, builder_.finish());
    return Profile(std::move(profile));
  }

private:
  using Values = std::array<int64_t, 2>; // only the differential form uses the second

  tl::unexpected<Error> at(size_t column, std::string message,
                           ErrorCode code = ErrorCode::invalid_input) const {
    return fail(code, std::move(message), source_.name(), Position::at_line(line_, column + 1));
  }

  // Determines the form from the beginning of the file, which holds at least the whole first line.
  Result<void> find_form() {
    for (size_t size = form_bytes;; size *= 2) {
      TALLY_TRY(head, source_.peek(size));
      if (head.size() >= size && head.find('\n') == head.npos && size < LineBlocks::longest_line)
        continue;
      is_differential_ = form_of(without_mark(form_head(head))) == Form::two_counts;
      return {};
    }
  }

  Result<void> add(std::string_view line) {
    Values values{};
    std::array<Count, 2> counts;
    std::string_view stack = line;
    for (size_t i = width(); i-- > 0;) {
      size_t count_at = last_word(stack);
      // A stack without a name, as profilers write it that saw no frame.
      if (const size_t word = stack.find_first_not_of(" \t"); count_at == stack.npos && i == 0 &&
                                                              word != stack.npos && word != 0 &&
                                                              parse_count(stack.substr(word)))
        count_at = word;
      if (count_at == stack.npos)
        return at(0, is_differential_ ? "expected a stack and two counts, as in the first lines"
                                      : "expected a stack, a blank and a count");
      auto count = parse_count(stack.substr(count_at));
      if (!count)
        return at(count_at, std::move(count.error().message));
      if (count->rounded)
        diagnostics_.add(Severity::warning, "counts of more than 9 decimal places are rounded",
                         source_.name(), Position::at_line(line_, count_at + 1));
      counts[i] = *count;
      stack = without_blanks_behind(stack.substr(0, count_at));
    }
    bool fits = true;
    for (size_t i = 0; i < width(); ++i)
      fits &= use_unit_of(counts[i]);
    for (size_t i = 0; i < width(); ++i)
      fits &= !__builtin_mul_overflow(
          counts[i].value, powers_of_ten[units[unit_].decimals - counts[i].decimals], &values[i]);
    if (!fits)
      return at(stack.size(),
                fmt::format("the counts do not fit in 63 bits with {} decimal places",
                            units[unit_].decimals),
                ErrorCode::overflow);
    if (stack.empty())
      stack = "[unknown]";
    StackId node = none<StackId>;
    while (true) {
      const size_t end_of_frame = std::min(stack.find(';'), stack.size());
      node = builder_.push(node, location_of(stack.substr(0, end_of_frame)));
      if (end_of_frame == stack.size())
        break;
      stack.remove_prefix(end_of_frame + 1);
    }
    const size_t row = index_of(node);
    if (row >= sums_.size()) {
      sums_.resize(row + 1, Values{});
      is_leaf_.resize(row + 1, false);
    }
    is_leaf_[row] = true;
    for (size_t i = 0; i < values.size(); ++i)
      if (!checked_add(sums_[row][i], values[i]))
        return at(0, "the sum of the counts of this stack exceeds 63 bits", ErrorCode::overflow);
    return {};
  }

  size_t width() const { return is_differential_ ? 2 : 1; }

  // Selects a smaller unit for all counts if this count needs it, and scales the sums. Returns
  // false if a sum does not fit in 64 bits.
  bool use_unit_of(const Count &count) {
    const size_t before = unit_;
    while (units[unit_].decimals < count.decimals)
      ++unit_;
    bool fits = true;
    if (unit_ != before) {
      const int64_t factor = powers_of_ten[units[unit_].decimals - units[before].decimals];
      for (Values &sum : sums_)
        for (int64_t &value : sum)
          fits &= !__builtin_mul_overflow(value, factor, &value);
    }
    return fits;
  }

  void add_samples() {
    const Unit &unit = units[unit_];
    if (is_differential_) {
      builder_.add_value_type(before_name(unit), unit.name);
      builder_.add_value_type(after_name(unit), unit.name);
      diagnostics_.add(
          Severity::note,
          fmt::format("each line has two counts, which are read as the values '{}' and '{}'",
                      before_name(unit), after_name(unit)),
          source_.name());
    } else {
      builder_.add_value_type(ticks_name(unit), unit.name);
    }
    if (unit.decimals != 0)
      diagnostics_.add(Severity::note,
                       fmt::format("counts have fractions, which are kept as {} of a tick ({})",
                                   unit.name, ticks_name(unit)),
                       source_.name());
    for (size_t row = 0; row < sums_.size(); ++row)
      if (is_leaf_[row])
        builder_.add_sample(static_cast<StackId>(row), none<ThreadId>, none<PartId>,
                            std::span(sums_[row]).first(width()));
  }

  LocationId location_of(std::string_view name) {
    const StringId id = builder_.intern(name);
    const auto [found, added] = locations_.try_emplace(index_of(id), none<LocationId>);
    if (added) {
      const SourceLine line{builder_.add_function({id, {}, {}, {}, 0}), {}, 0};
      found->second = builder_.add_location(none<MappingId>, 0, std::span(&line, 1));
    }
    return found->second;
  }

  ByteSource &source_;
  Diagnostics &diagnostics_;
  uint64_t line_ = 1;
  bool is_differential_ = false;
  size_t unit_ = 0;
  StackProfileBuilder builder_;
  std::vector<Values> sums_;                  // by StackId, in the unit `unit_`
  std::vector<bool> is_leaf_;                 // by StackId: whether a line has that stack
  SeededMap<uint32_t, LocationId> locations_; // by the name's StringId
};

} // namespace

bool probe(std::string_view head) {
  if (begins_utf16(head))
    return form_of(utf8_of_utf16(head.substr(0, head.size() & ~size_t{1}))) != Form::other;
  return form_of(without_mark(head)) != Form::other;
}

Result<Profile> read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(head, source.peek(2));
  if (!begins_utf16(head))
    return Reader(source, diagnostics).run();
  TALLY_TRY(bytes, source.rest()); // PowerShell's redirection writes UTF-16
  const std::string text = utf8_of_utf16(bytes);
  return Reader(*ByteSource::of(text, source.name()), diagnostics).run();
}

} // namespace tally::folded
