#include <algorithm>
#include <charconv>
#include <unordered_map>

#include <fmt/format.h>

#include "formats/folded/folded.h"
#include "support/line_blocks.h"

namespace tally::folded {

namespace {

constexpr std::string_view digits = "0123456789";

// The line without its end, and without the CR of a line from elsewhere.
std::string_view next_line(std::string_view &rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

bool is_skipped(std::string_view line) {
  return line.find_first_not_of(" \t") == line.npos || line.starts_with('#');
}

// Where the count begins; npos when the line does not end in one.
size_t count_begin(std::string_view line) {
  const size_t blank = line.find_last_of(" \t");
  if (blank == line.npos || blank == 0 || blank + 1 == line.size())
    return line.npos;
  return blank + 1;
}

class Reader {
public:
  explicit Reader(ByteSource &source) : source_(source) {
    builder_.add_value_type("ticks", "count");
  }

  Result<Profile> run() {
    for (LineBlocks blocks(source_);;) {
      TALLY_TRY(block, blocks.next());
      if (block.empty())
        break;
      for (; !block.empty(); ++line_) {
        const std::string_view line = next_line(block);
        if (!is_skipped(line))
          TALLY_CHECK(add(line));
      }
    }
    if (builder_.so_far().sample_count() == 0)
      return fail(ErrorCode::no_data, "holds no stacks", source_.name());
    TALLY_TRY(profile, builder_.finish());
    return Profile(std::move(profile));
  }

private:
  tl::unexpected<Error> at(size_t column, std::string message) const {
    return fail(ErrorCode::invalid_input, std::move(message), source_.name(),
                Position::at_line(line_, column + 1));
  }

  Result<void> add(std::string_view line) {
    const size_t count_at = count_begin(line);
    if (count_at == line.npos)
      return at(0, "expected a stack, a blank and a count");
    const std::string_view count_text = line.substr(count_at);
    int64_t count = 0;
    const auto [end, fault] =
        std::from_chars(count_text.data(), count_text.data() + count_text.size(), count);
    if (fault == std::errc::result_out_of_range)
      return at(count_at, fmt::format("the count {} does not fit in 63 bits", count_text));
    if (fault != std::errc() || end != count_text.data() + count_text.size() || count < 0)
      return at(count_at, fmt::format("expected a count, found '{}'", count_text));

    std::string_view stack = line.substr(0, count_at - 1);
    while (stack.ends_with(' ') || stack.ends_with('\t'))
      stack.remove_suffix(1);
    StackId node = none<StackId>;
    while (true) {
      const size_t end_of_frame = std::min(stack.find(';'), stack.size());
      node = builder_.push(node, location_of(stack.substr(0, end_of_frame)));
      if (end_of_frame == stack.size())
        break;
      stack.remove_prefix(end_of_frame + 1);
    }
    builder_.add_sample(node, none<ThreadId>, none<PartId>, count);
    return {};
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
  uint64_t line_ = 1;
  StackProfileBuilder builder_;
  std::unordered_map<uint32_t, LocationId> locations_; // by the name's StringId
};

} // namespace

bool probe(std::string_view head) {
  bool found = false;
  // Every line: other formats too have some that end in a number ("version: 1"). A last one without
  // its end may be cut: it counts only where there is no other.
  while (!head.empty() && (!found || head.find('\n') != head.npos)) {
    const std::string_view line = next_line(head);
    if (is_skipped(line))
      continue;
    const size_t count = count_begin(line);
    if (count == line.npos || line.find_first_not_of(digits, count) != line.npos)
      return false;
    found = true;
  }
  return found;
}

Result<Profile> read(ByteSource &source, Diagnostics &) { return Reader(source).run(); }

} // namespace tally::folded
