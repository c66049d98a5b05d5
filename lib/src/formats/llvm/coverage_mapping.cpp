#include "formats/llvm/coverage_mapping.h"

#include <algorithm>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "support/byte_cursor.h"

namespace tally::llvm {

bool MappedFunction::is_dummy() const {
  return function_hash == 0 && files.size() == 1 && expressions.empty() && regions.size() == 1 &&
         regions[0].kind == MappingRegion::Kind::code &&
         regions[0].count.kind == Counter::Kind::zero;
}

namespace {

constexpr uint32_t whole_line = UINT32_MAX; // the last column

class Decoder {
public:
  Decoder(const MappingRecord &record, const std::vector<std::string> &names, MappedFunction &out)
      : names_(names), from_(record.mapping), out_(out) {
    out_.name_hash = record.name_hash;
    out_.function_hash = record.function_hash;
    out_.files.clear();
    out_.expressions.clear();
    out_.regions.clear();
  }

  // Returns false if the mapping is damaged.
  bool run() {
    const uint64_t files = from_.uleb128();
    if (files > from_.left() + 1)
      return false;
    for (uint64_t i = 0; i < files; ++i) {
      const uint64_t name = from_.uleb128();
      if (from_.failed() || name >= names_.size())
        return false;
      out_.files.push_back(names_[name]);
    }
    const uint64_t expressions = from_.uleb128();
    if (expressions > from_.left())
      return false;
    out_.expressions.resize(expressions);
    for (Expression &expression : out_.expressions) {
      expression.left = counter(from_.uleb128());
      expression.right = counter(from_.uleb128());
    }
    for (uint32_t file = 0; file < files; ++file)
      if (!read_regions(file))
        return false;
    if (from_.failed() || is_wrong_ || !count_expansions())
      return false;
    return true;
  }

private:
  // The kind of an expression is only known where it is used.
  Counter counter(uint64_t encoded) {
    const auto index = static_cast<uint32_t>(encoded >> 2);
    is_wrong_ |= encoded >> 34 != 0;
    switch (encoded & 3) {
    case 0:
      return {};
    case 1:
      return {Counter::Kind::counter, index};
    default:
      if (index >= out_.expressions.size()) {
        is_wrong_ = true;
        return {};
      }
      out_.expressions[index].is_sum = (encoded & 3) == 3;
      return {Counter::Kind::expression, index};
    }
  }

  bool read_regions(uint32_t file) {
    const uint64_t count = from_.uleb128();
    uint64_t line = 0;
    for (uint64_t i = 0; i < count && !from_.failed(); ++i) {
      MappingRegion region;
      region.file = file;
      if (!read_kind(region))
        return false;
      const uint64_t start_lines = from_.uleb128(), start_column = from_.uleb128(),
                     lines = from_.uleb128(), end_column = from_.uleb128();
      constexpr uint64_t most = UINT32_MAX;
      if (start_lines > most || lines > most || start_column > most || end_column > most)
        return false;
      line += start_lines;
      constexpr uint64_t gap = uint64_t{1} << 31;
      if ((end_column & gap) != 0 && region.kind == MappingRegion::Kind::code)
        region.kind = MappingRegion::Kind::gap;
      const uint64_t last_column = end_column & ~gap;
      if (line + lines > most_lines)
        return false;
      region.start = {static_cast<uint32_t>(line), static_cast<uint32_t>(start_column)};
      region.end = {static_cast<uint32_t>(line + lines), static_cast<uint32_t>(last_column)};
      if (start_column == 0 && last_column == 0) {
        region.start.column = 1;
        region.end.column = whole_line;
      }
      if (region.end < region.start)
        return false;
      out_.regions.push_back(region);
    }
    return !from_.failed();
  }

  bool read_kind(MappingRegion &region) {
    using Kind = MappingRegion::Kind;
    const uint64_t header = from_.uleb128();
    if ((header & 3) != 0) {
      region.count = counter(header);
      return true;
    }
    if ((header & 4) != 0) {
      region.kind = Kind::expansion;
      region.expanded = static_cast<uint32_t>(header >> 3);
      return header >> 3 < out_.files.size();
    }
    switch (header >> 3) {
    case 0: // code that never runs
      return true;
    case 2:
      region.kind = Kind::skipped;
      return true;
    case 4:
    case 6:
      region.kind = Kind::branch;
      region.count = counter(from_.uleb128());
      region.false_count = counter(from_.uleb128());
      if (header >> 3 == 6) {
        region.is_condition = true;
        for (int32_t *const id : {&region.id, &region.next_if_true, &region.next_if_false}) {
          const uint64_t number = from_.uleb128();
          if (number > INT16_MAX)
            return false;
          *id = static_cast<int32_t>(number) - 1;
        }
      }
      return true;
    case 5: {
      region.kind = Kind::decision;
      const uint64_t index = from_.uleb128(), conditions = from_.uleb128();
      region.bitmap_index = static_cast<uint32_t>(index);
      region.conditions = static_cast<uint32_t>(conditions);
      return index <= UINT32_MAX && conditions <= INT16_MAX;
    }
    default:
      return false;
    }
  }

  // An expansion has the count of the first region of its file, which may be an expansion, too.
  // Returns false if they are nested without end.
  bool count_expansions() {
    std::vector<const MappingRegion *> first(out_.files.size());
    for (const MappingRegion &region : out_.regions)
      if (!first[region.file])
        first[region.file] = &region;
    for (MappingRegion &region : out_.regions) {
      if (region.kind != MappingRegion::Kind::expansion)
        continue;
      const MappingRegion *at = first[region.expanded];
      for (size_t steps = 0; at && at->kind == MappingRegion::Kind::expansion; ++steps) {
        if (steps == most_nested)
          return false;
        at = first[at->expanded];
      }
      if (at)
        region.count = at->count;
    }
    return true;
  }

  const std::vector<std::string> &names_;
  ByteCursor from_;
  MappedFunction &out_;
  bool is_wrong_ = false;
};

} // namespace

Result<void> CoverageObject::decode(const MappingRecord &record, MappedFunction &out) const {
  const auto files = file_names_.find(record.files_key);
  if (files == file_names_.end())
    return fail(ErrorCode::invalid_input, "the names of a function's files are missing", name_);
  if (!Decoder(record, files->second, out).run())
    return fail(ErrorCode::invalid_input, "the mapping of a function is damaged", name_,
                Position::at_offset(record.offset));
  out.name = name_of(record);
  return {};
}

std::string_view CoverageObject::name_of(const MappingRecord &record) const {
  const auto name = names_.find(record.name_hash);
  return name == names_.end() ? std::string_view() : name->second;
}

} // namespace tally::llvm
