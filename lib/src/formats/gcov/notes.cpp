#include <algorithm>

#include <fmt/format.h>

#include "formats/gcov/header.h"

namespace tally {

namespace {

using gcov::cut_at;
using gcov::fail_at;

constexpr uint32_t tag_blocks = 0x01410000;
constexpr uint32_t tag_arcs = 0x01430000;
constexpr uint32_t tag_lines = 0x01450000;
constexpr uint32_t tag_conditions = 0x01470000;

class NotesReader {
public:
  NotesReader(GcovNotes &notes, std::string_view bytes, std::string_view source)
      : notes_(notes), graph_(notes.graph), bytes_(bytes), source_(source) {}

  Result<void> run() {
    ByteCursor cursor = gcov::cursor_of(bytes_);
    TALLY_TRY(header, gcov::take_header(cursor, bytes_, source_));
    notes_.header = header;
    graph_.by_clang = since(GcovVersion::v12) && !header.byte_lengths();
    if (since(GcovVersion::v9))
      graph_.working_directory = string(cursor);
    if (since(GcovVersion::v8))
      graph_.has_unexecuted_blocks = cursor.u32() != 0;
    if (cursor.failed())
      return cut_at(cursor.offset(), source_);
    bool ended = false;
    while (cursor.left() > 0) {
      const size_t at = cursor.offset();
      const uint32_t tag = cursor.u32();
      ended = !cursor.failed() && tag == 0; // Clang ends its notes with two zeros, GCC does not
      if (ended)
        break;
      const uint32_t length = cursor.u32();
      const size_t payload_at = cursor.offset();
      const std::string_view payload = cursor.take(header.bytes_in(length));
      if (cursor.failed())
        return cut_at(at, source_);
      TALLY_CHECK(record(tag, payload, payload_at));
    }
    close_function();
    if (!ended && (graph_.by_clang || function_of_clang_))
      return fail_at(bytes_.size(), "truncated: the file ends without Clang's end mark", source_);
    graph_.by_clang |= ended;
    return {};
  }

private:
  bool since(GcovVersion version) const { return notes_.header.version >= version; }
  StringId string(ByteCursor &cursor) {
    return graph_.strings.intern(gcov::take_string(cursor, notes_.header));
  }
  // Reports a record whose length is smaller than its contents require.
  tl::unexpected<Error> short_record(size_t at) const {
    return fail_at(at, "the record is too short for its contents", source_);
  }
  Result<void> block_fault(size_t at, uint32_t block) const {
    return fail_at(
        at, fmt::format("there is no block {}: the function has {}", block, function_.block_count),
        source_);
  }

  Result<void> record(uint32_t tag, std::string_view payload, size_t at) {
    ByteCursor cursor(payload, notes_.header.big_endian);
    if (tag == gcov_tag_function)
      return function(cursor, at);
    if (tag != tag_blocks && tag != tag_arcs && tag != tag_lines && tag != tag_conditions)
      return {};
    if (!open_)
      return fail_at(at - 8, "a record of a function before any function", source_);
    switch (tag) {
    case tag_blocks:
      return blocks(cursor, at);
    case tag_arcs:
      return arcs(cursor, at);
    case tag_lines:
      return lines(cursor, at);
    default:
      return conditions(cursor, at);
    }
  }

  void close_function() {
    if (!open_)
      return;
    function_.last_arc = static_cast<uint32_t>(graph_.arcs.size());
    function_.last_location = static_cast<uint32_t>(graph_.locations.size());
    function_.last_condition = static_cast<uint32_t>(graph_.conditions.size());
    graph_.functions.push(function_);
    open_ = false;
  }

  Result<void> function(ByteCursor &cursor, size_t at) {
    close_function();
    function_ = {};
    open_ = true;
    function_.first_arc = static_cast<uint32_t>(graph_.arcs.size());
    function_.first_location = static_cast<uint32_t>(graph_.locations.size());
    function_.first_condition = static_cast<uint32_t>(graph_.conditions.size());
    function_.ident = cursor.u32();
    function_.lineno_checksum = cursor.u32();
    if (since(GcovVersion::v4_7))
      function_.cfg_checksum = cursor.u32();
    // Clang numbers functions from 0, and GCC from 1. Clang writes the stamp as the checksum of the
    // graph.
    function_of_clang_ |= function_.ident == 0 && (!since(GcovVersion::v4_7) ||
                                                   function_.cfg_checksum == notes_.header.stamp);
    function_.name = string(cursor);
    if (since(GcovVersion::v8))
      function_.artificial = cursor.u32() != 0;
    function_.file = string(cursor);
    function_.start_line = cursor.u32();
    if (since(GcovVersion::v8)) {
      function_.start_column = cursor.u32();
      function_.end_line = cursor.u32();
    }
    if (since(GcovVersion::v9))
      function_.end_column = cursor.u32();
    return cursor.failed() ? short_record(at) : Result<void>();
  }

  Result<void> blocks(ByteCursor &cursor, size_t at) {
    if (function_.block_count > 0)
      return fail_at(at - 8, "the function has a second record of blocks", source_);
    if (since(GcovVersion::v8))
      function_.block_count = cursor.u32();
    else // the record has a word for each block
      function_.block_count = static_cast<uint32_t>(cursor.left() / 4);
    if (cursor.failed())
      return short_record(at);
    // Each block except the exit has an arc out of it, which takes at least 8 bytes of a record. If
    // all functions together have more blocks than the file has bytes, a number is wrong, and must
    // not determine how much memory and time is taken.
    blocks_ += function_.block_count;
    if (blocks_ > bytes_.size())
      return fail_at(at, fmt::format("{} blocks are more than the file has room for", blocks_),
                     source_);
    function_.exit_block = since(GcovVersion::v4_8) ? 1 : std::max(1u, function_.block_count) - 1;
    return {};
  }

  Result<void> arcs(ByteCursor &cursor, size_t at) {
    const uint32_t source = cursor.u32();
    if (cursor.failed())
      return short_record(at);
    if (source >= function_.block_count)
      return block_fault(at, source);
    while (cursor.left() >= 8) {
      const size_t arc_at = at + cursor.offset();
      const uint32_t destination = cursor.u32(), flags = cursor.u32();
      if (destination >= function_.block_count)
        return block_fault(arc_at, destination);
      graph_.arcs.push_back({source, destination, flags});
    }
    return {};
  }

  Result<void> lines(ByteCursor &cursor, size_t at) {
    const uint32_t block = cursor.u32();
    if (cursor.failed())
      return short_record(at);
    if (block >= function_.block_count)
      return block_fault(at, block);
    bool any = false;
    while (true) {
      const uint32_t line = cursor.u32();
      if (cursor.failed())
        return short_record(at);
      if (line != 0) {
        if (!any)
          return fail_at(at, "a line before the name of its file", source_);
        graph_.lines.push_back(line);
        graph_.locations.back().last_line = static_cast<uint32_t>(graph_.lines.size());
        continue;
      }
      const std::string_view name = gcov::take_string(cursor, notes_.header);
      if (cursor.failed())
        return short_record(at);
      if (name.empty())
        return {};
      const auto first = static_cast<uint32_t>(graph_.lines.size());
      graph_.locations.push_back({block, graph_.strings.intern(name), first, first});
      any = true;
    }
  }

  Result<void> conditions(ByteCursor &cursor, size_t at) {
    while (cursor.left() >= 8) {
      const size_t condition_at = at + cursor.offset();
      const uint32_t block = cursor.u32(), terms = cursor.u32();
      if (block >= function_.block_count)
        return block_fault(condition_at, block);
      if (terms > 64) // a counter has one bit for each term
        return fail_at(condition_at, fmt::format("a condition of {} terms: the limit is 64", terms),
                       source_);
      graph_.conditions.push_back({block, terms});
    }
    return {};
  }

  GcovNotes &notes_;
  CoverageGraph &graph_;
  std::string_view bytes_, source_;
  GraphFunction function_;
  uint64_t blocks_ = 0; // of all functions
  bool open_ = false, function_of_clang_ = false;
};

} // namespace

Result<void> GcovNotes::add(const CounterFile &) {
  return fail(ErrorCode::invalid_input, "notes hold no counters to add up");
}
Result<void> GcovNotes::zero() { return fail(ErrorCode::invalid_input, "notes hold no counters"); }

Result<GcovNotes> read_gcov_notes(std::string bytes, std::string_view source, Diagnostics &) {
  GcovNotes notes;
  if (!gcov::is_notes(bytes))
    return fail_at(0, "is not a notes file: expected the letters gcno", source);
  TALLY_CHECK(NotesReader(notes, bytes, source).run());
  notes.file_bytes = std::move(bytes);
  return notes;
}

} // namespace tally
