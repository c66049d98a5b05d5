#include "formats/firefox/read_code.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "formats/firefox/read_values.h"
#include "formats/stack_depth.h"

namespace tally::firefox {

namespace {

// A location is not given more functions, so that the memory does not grow faster than the file.
constexpr size_t most_inlined = 64;

// Moves the number at the end of "https://a/b.js:12" into `line`. Before version 18, the URL of a
// function of JavaScript that has a column contains its line, and what should be the line is the
// column.
void take_line(std::string_view &file, uint32_t &line) {
  const size_t colon = file.rfind(':');
  if (colon == file.npos)
    return;
  const std::string_view digits = file.substr(colon + 1);
  uint32_t number = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (fault != std::errc() || end != digits.data() + digits.size())
    return;
  file = file.substr(0, colon);
  line = number;
}

class CodeReader {
public:
  CodeReader(const CodeSource &source, StackProfileBuilder &builder)
      : source_(source), builder_(builder) {}

  Result<std::vector<ReadStack>> run() {
    auto strings = source_.strings.column();
    if (!strings)
      return source_.tables.error("stringArray is missing");
    strings_ = *strings;
    ids_.resize(strings_.size());
    TALLY_CHECK(read_objects());
    TALLY_CHECK(read_functions());
    TALLY_CHECK(read_frames());
    return stacks();
  }

private:
  Result<StringId> string(const JsonValue &index) {
    TALLY_TRY(row, index_below(index, strings_.size(), "string"));
    if (!row)
      return StringId{};
    const auto text = strings_[*row].text();
    if (!text)
      return strings_[*row].error("expected text in stringArray");
    std::optional<StringId> &id = ids_[*row]; // many functions may have one long name
    if (!id)
      id = builder_.intern(*text);
    return *id;
  }

  // Reads the name of a function. Before version 17, calls into JavaScript have a prefix.
  Result<StringId> function_name(const JsonValue &index) {
    TALLY_TRY(name, string(index));
    const std::string_view text = builder_.string(name);
    if (source_.version < 17 && text.starts_with(script_entry))
      return builder_.intern(std::string(text.substr(script_entry.size())));
    return name;
  }

  // Reads the names of the libraries and other resources that functions belong to.
  Result<void> read_objects() {
    const JsonValue table = source_.tables["resourceTable"];
    if (!table.is_object())
      return {};
    TALLY_TRY(names, needed_column(table, "name", "resourceTable"));
    // The list may be shorter: old versions write no library for the last resources.
    const auto list = table["lib"].column();
    const size_t size = std::min(list ? list->size() : 0, names.rows.size());
    TALLY_TRY(libs, optional_column(table, "lib", list ? size : names.rows.size()));
    for (size_t i = 0; i < names.rows.size(); ++i) {
      TALLY_TRY(name, string(names.rows[i]));
      TALLY_TRY(lib, lib_of(libs, i));
      objects_.push_back(lib.value_or(name));
    }
    return {};
  }

  // Returns the path of a library; nothing if the row has none.
  Result<std::optional<StringId>> lib_of(const Column &column, size_t row) const {
    if (row >= column.rows.size())
      return std::optional<StringId>();
    TALLY_TRY(index, index_below(column.rows[row], source_.libs.size(), "library"));
    return index ? std::optional(source_.libs[*index]) : std::nullopt;
  }

  // Since version 58, the file of a function is in a table of sources.
  Result<std::vector<StringId>> source_files() {
    std::vector<StringId> files;
    if (!source_.sources.is_object())
      return files;
    TALLY_TRY(names, needed_column(source_.sources, "filename", "sources"));
    for (size_t i = 0; i < names.rows.size(); ++i) {
      TALLY_TRY(file, string(names.rows[i]));
      files.push_back(file);
    }
    return files;
  }

  Result<void> read_functions() {
    const JsonValue table = source_.tables["funcTable"];
    TALLY_TRY(names, needed_column(table, "name", "funcTable"));
    const size_t size = names.rows.size();
    TALLY_TRY(files, optional_column(table, "fileName", size));
    TALLY_TRY(sources, optional_column(table, "source", size));
    TALLY_TRY(lines, optional_column(table, "lineNumber", size));
    TALLY_TRY(resources, optional_column(table, "resource", size));
    TALLY_TRY(are_js, optional_column(table, "isJS", size));
    TALLY_TRY(source_names, source_files());
    for (size_t i = 0; i < size; ++i) {
      SourceFunction function;
      TALLY_TRY(name, function_name(names.rows[i]));
      function.name = name;
      if (!sources.is_absent()) {
        TALLY_TRY(index, index_below(sources.rows[i], source_names.size(), "source"));
        function.file = index ? source_names[*index] : StringId{};
      } else if (!files.is_absent()) {
        TALLY_TRY(file, string(files.rows[i]));
        function.file = file;
      }
      TALLY_TRY(line, line_of(lines, i));
      function.line = line;
      if (source_.version < 18 && !are_js.is_absent() && are_js.rows[i].is_true()) {
        std::string file(builder_.string(function.file));
        std::string_view rest = file;
        take_line(rest, function.line);
        function.file = builder_.intern(rest);
      }
      if (!resources.is_absent()) {
        TALLY_TRY(index, index_below(resources.rows[i], objects_.size(), "resource"));
        function.object = index ? objects_[*index] : StringId{};
      }
      functions_.push_back(builder_.add_function(function));
    }
    return {};
  }

  static Result<uint32_t> line_of(const Column &lines, size_t row) {
    if (lines.is_absent() || lines.rows[row].is_null())
      return 0;
    const auto line = lines.rows[row].number();
    if (!line)
      return lines.rows[row].error("expected a line");
    return *line >= 1 && *line <= UINT32_MAX ? static_cast<uint32_t>(*line) : 0;
  }

  // Firefox Profiler's importers of Chrome's profiles and traces leave this column empty.
  static Result<Column> inline_depths(const JsonValue &table, size_t size) {
    const auto rows = table["inlineDepth"].column();
    if (rows && rows->size() == 0)
      return Column();
    return optional_column(table, "inlineDepth", size);
  }

  Result<void> read_frames() {
    const JsonValue table = source_.tables["frameTable"];
    TALLY_TRY(functions, needed_column(table, "func", "frameTable"));
    const size_t size = functions.rows.size();
    TALLY_TRY(lines, optional_column(table, "line", size));
    TALLY_TRY(categories, optional_column(table, "category", size));
    TALLY_TRY(depths, inline_depths(table, size));
    TALLY_TRY(libs, optional_column(table, "lib", size)); // since version 70
    for (size_t i = 0; i < size; ++i) {
      TALLY_TRY(function, index_below(functions.rows[i], functions_.size(), "function"));
      if (!function)
        return functions.rows[i].error("a frame without a function");
      TALLY_TRY(line, line_of(lines, i));
      TALLY_TRY(lib, lib_of(libs, i));
      SourceFunctionId id = functions_[*function];
      if (lib) {
        SourceFunction of_lib = builder_.so_far().functions()[id];
        of_lib.object = *lib;
        id = builder_.add_function(of_lib);
      }
      const SourceLine at{id, builder_.so_far().functions()[id].file, line};
      frames_.push_back(at);
      is_inlined_.push_back(!depths.is_absent() && depths.rows[i].number().value_or(0) > 0);
      TALLY_TRY(category, category_of(categories, i));
      frame_categories_.push_back(category);
    }
    return {};
  }

  static Result<std::optional<uint32_t>> category_of(const Column &categories, size_t row) {
    if (categories.is_absent())
      return std::optional<uint32_t>();
    TALLY_TRY(category, index_below(categories.rows[row], UINT32_MAX, "category"));
    return category;
  }

  StackId push(StackId caller, uint32_t frame) {
    std::vector<SourceLine> lines{frames_[frame]};
    if (is_inlined_[frame] && caller != none<StackId>) {
      const StackProfile &profile = builder_.so_far();
      const auto outer = profile.location(profile.stack_location(caller)).lines;
      if (outer.size() < most_inlined) {
        lines.insert(lines.end(), outer.begin(), outer.end());
        caller = profile.stack_caller(caller);
      }
    }
    return builder_.push(caller, builder_.add_location(none<MappingId>, 0, lines));
  }

  Result<std::vector<ReadStack>> stacks() {
    const JsonValue table = source_.tables["stackTable"];
    TALLY_TRY(frames, needed_column(table, "frame", "stackTable"));
    const size_t size = frames.rows.size();
    TALLY_TRY(prefixes, optional_column(table, "prefix", size));
    TALLY_TRY(offsets, optional_column(table, "prefixOffset", size)); // since version 66
    TALLY_TRY(categories, optional_column(table, "category", size));  // until version 52
    if (prefixes.is_absent() && offsets.is_absent())
      return table.error("stackTable has no prefix");
    std::vector<ReadStack> out;
    for (uint32_t i = 0; i < size; ++i) {
      // Callers precede their callees.
      std::optional<uint32_t> prefix;
      if (!prefixes.is_absent()) {
        TALLY_TRY(index, index_below(prefixes.rows[i], i, "earlier stack"));
        prefix = index;
      } else {
        TALLY_TRY(offset, index_below(offsets.rows[i], size_t{i} + 1, "earlier stack at distance"));
        if (offset && *offset != 0)
          prefix = i - *offset;
      }
      TALLY_TRY(frame, index_below(frames.rows[i], frames_.size(), "frame"));
      if (!frame)
        return frames.rows[i].error("a stack without a frame");
      ReadStack stack;
      stack.depth = prefix ? out[*prefix].depth + 1 : 1;
      if (stack.depth > most_frames)
        return frames.rows[i].error(too_deep(), ErrorCode::limit);
      stack.id = push(prefix ? out[*prefix].id : none<StackId>, *frame);
      TALLY_TRY(category, category_of(categories, i));
      stack.category = !categories.is_absent()     ? category
                       : frame_categories_[*frame] ? frame_categories_[*frame]
                       : prefix                    ? out[*prefix].category
                                                   : std::nullopt;
      out.push_back(stack);
    }
    return out;
  }

  const CodeSource &source_;
  StackProfileBuilder &builder_;
  JsonValue::Column strings_;
  std::vector<std::optional<StringId>> ids_; // of strings_
  std::vector<StringId> objects_;            // by the row of a resource
  std::vector<SourceFunctionId> functions_;
  std::vector<SourceLine> frames_;
  std::vector<bool> is_inlined_; // by frame: into the frame of its caller
  std::vector<std::optional<uint32_t>> frame_categories_;
};

} // namespace

Result<Column> optional_column(const JsonValue &table, std::string_view name, size_t size) {
  Column out;
  out.list = table[name];
  if (out.is_absent())
    return out;
  const auto rows = out.list.column();
  if (!rows)
    return out.list.error(fmt::format("expected a list of numbers as {}", name));
  if (rows->size() != size)
    return out.list.error(
        fmt::format("{} has {} elements, but the table has {} rows", name, rows->size(), size));
  out.rows = *rows;
  return out;
}

Result<Column> needed_column(const JsonValue &table, std::string_view name, std::string_view of) {
  Column out;
  out.list = table[name];
  const auto rows = out.list.column();
  if (!rows && !out.list.is_absent())
    return out.list.error(fmt::format("expected a list as {} of {}", name, of));
  if (!rows)
    return table.is_absent() ? fail(ErrorCode::invalid_input, fmt::format("{} is missing", of))
                             : table.error(fmt::format("{} has no {}", of, name));
  out.rows = *rows;
  return out;
}

Result<std::optional<uint32_t>> index_below(const JsonValue &value, size_t limit,
                                            std::string_view what) {
  if (value.is_null())
    return std::optional<uint32_t>();
  const auto number = value.integer();
  if (!number)
    return value.error(fmt::format("expected the number of a {}", what));
  if (*number == -1)
    return std::optional<uint32_t>();
  if (*number < 0 || static_cast<uint64_t>(*number) >= limit || *number >= UINT32_MAX)
    return value.error(fmt::format("{} {} does not exist", what, *number));
  return std::optional(static_cast<uint32_t>(*number));
}

std::vector<StringId> read_libraries(const JsonValue &list, StackProfileBuilder &builder) {
  std::vector<StringId> paths;
  for (JsonValue lib = list.is_list() ? list.first() : JsonValue(); !lib.is_absent();
       lib = lib.next()) {
    const auto path = lib["path"].text();
    const auto name = lib["name"].text();
    paths.push_back(builder.intern(path && !path->empty() ? *path : name.value_or("")));
  }
  return paths;
}

Result<std::vector<ReadStack>> read_stacks(const CodeSource &source, StackProfileBuilder &builder) {
  return CodeReader(source, builder).run();
}

} // namespace tally::firefox
