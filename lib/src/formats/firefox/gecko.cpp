#include "formats/firefox/gecko.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/finished.h"
#include "formats/firefox/frame_text.h"
#include "formats/firefox/read_code.h"
#include "formats/firefox/read_values.h"
#include "formats/stack_depth.h"
#include "support/sort.h"

namespace tally::firefox {

namespace {

// Before version 5, of 2017, subprocesses are texts in the list of threads. Version 36 is of 2026.
constexpr int64_t oldest_gecko = 5, newest_gecko = 36;
// Before this version, what enters JavaScript has a prefix.
constexpr int64_t without_prefix = 14;

// A table {"schema": {NAME: INDEX, …}, "data": [[…], …]}, whose rows may end early.
class RowTable {
public:
  static Result<RowTable> of(const JsonValue &thread, std::string_view name) {
    RowTable out;
    out.name_ = name;
    const JsonValue table = thread[name];
    out.schema_ = table["schema"];
    out.data_ = table["data"];
    if (table.is_absent())
      return thread.error(fmt::format("{} is missing", name));
    if (!out.schema_.is_object() || !out.data_.is_list())
      return table.error(fmt::format("expected a schema and data of {}", name));
    return out;
  }

  // Returns the index of a column in the rows.
  Result<size_t> column(std::string_view name) const {
    TALLY_TRY(index, optional_index(name));
    if (!index)
      return schema_.error(fmt::format("{} has no {}", name_, name));
    return *index;
  }
  Result<std::optional<size_t>> optional_index(std::string_view name) const {
    const JsonValue value = schema_[name];
    if (value.is_absent())
      return std::optional<size_t>();
    const auto index = value.integer();
    if (!index || *index < 0 || *index >= most_columns)
      return value.error(fmt::format("expected the index of {} in a row of {}", name, name_));
    return std::optional(static_cast<size_t>(*index));
  }

  JsonValue first() const { return data_.first(); }
  // Returns a value of a row; an absent one if the row ends before it.
  Result<JsonValue> cell(const JsonValue &row, std::optional<size_t> index) const {
    if (!row.is_list())
      return row.error(fmt::format("expected a row of {}", name_));
    JsonValue out = index ? row.first() : JsonValue();
    for (size_t i = 0; index && i < *index; ++i)
      out = out.next();
    return out;
  }

private:
  static constexpr int64_t most_columns = 64; // known tables have at most 12
  std::string_view name_;
  JsonValue schema_, data_;
};

// A library, in the memory of a process. Firefox lists hundreds, and few occur in stacks.
struct Library {
  Mapping mapping;
  MappingId id = none<MappingId>; // once an address is in it
};

struct Process {
  double shift_ms = 0; // its start, after that of the first process
  std::vector<Library> libraries;
  std::vector<StringId> sources;
};

// A frame is one location at the end of a stack, and another one in the middle if it is an address,
// because then it is a return address.
struct GeckoFrame {
  LocationId as_leaf{}, as_caller{};
};
struct GeckoStack {
  StackId as_leaf{}, as_caller{};
  uint32_t depth = 0;
};

class GeckoReader {
public:
  GeckoReader(const JsonTree &tree, const std::string &source)
      : document_(tree.root()), meta_(document_["meta"]), source_(source) {}

  Result<Profile> run() {
    TALLY_CHECK(check_gecko_version());
    builder_.set_command(meta_["product"].text().value_or(""));
    builder_.add_value_type("ticks", "count");
    const auto interval = nanoseconds(meta_["interval"].number().value_or(0));
    if (interval && *interval > 0)
      builder_.set_period_ns(static_cast<uint64_t>(*interval));
    const auto begin = nanoseconds(meta_["profilingStartTime"].number().value_or(0));
    zero_ns_ = std::max<int64_t>(0, begin.value_or(0));
    TALLY_CHECK(read_process(document_, 0));
    const JsonValue processes = document_["processes"];
    const auto own = meta_["startTime"].number(); // searched for once, not for each process
    for (JsonValue process = processes.first(); !process.is_absent(); process = process.next()) {
      const auto start = process["meta"]["startTime"].number();
      if (!start || !own)
        return process.error("the startTime of a process is missing");
      TALLY_CHECK(read_process(process, *start - *own));
    }
    return finished(builder_.finish(), source_);
  }

private:
  Result<void> check_gecko_version() {
    const JsonValue version = meta_["version"];
    const auto number = version.integer();
    if (!number)
      return meta_.error("is neither a profile that Firefox Profiler saved, because it has no "
                         "preprocessedProfileVersion, nor one that Firefox wrote, because it has "
                         "no version",
                         ErrorCode::unsupported);
    if (*number < oldest_gecko || *number > newest_gecko)
      return version.error(fmt::format("has version {} of Firefox's format, but only versions {} "
                                       "to {} can be read",
                                       *number, oldest_gecko, newest_gecko),
                           ErrorCode::unsupported);
    version_ = *number;
    return {};
  }

  Result<void> read_process(const JsonValue &at, double shift_ms) {
    const JsonValue threads = at["threads"];
    if (!threads.is_list())
      return at.error("the list of threads is missing");
    Process process;
    process.shift_ms = shift_ms;
    TALLY_CHECK(read_libraries(at["libs"], process));
    TALLY_CHECK(read_sources(at, process));
    for (JsonValue thread = threads.first(); !thread.is_absent(); thread = thread.next())
      TALLY_CHECK(read_gecko_thread(thread, process));
    return {};
  }

  static Result<uint64_t> address_in(const JsonValue &library, std::string_view key) {
    const JsonValue value = library[key];
    const auto number = value.integer();
    if (!number || *number < 0)
      return (value.is_absent() ? library : value)
          .error(fmt::format("expected an address as {} of a library", key));
    return static_cast<uint64_t>(*number);
  }

  Result<void> read_libraries(const JsonValue &libs, Process &process) {
    for (JsonValue lib = libs.is_list() ? libs.first() : JsonValue(); !lib.is_absent();
         lib = lib.next()) {
      TALLY_TRY(start, address_in(lib, "start"));
      TALLY_TRY(end, address_in(lib, "end"));
      uint64_t offset = 0;
      if (!lib["offset"].is_null()) {
        TALLY_TRY(given, address_in(lib, "offset"));
        offset = given;
      }
      if (end <= start)
        continue;
      Mapping mapping;
      mapping.start = start;
      mapping.limit = end;
      // The offset is the distance from the load bias, and not one in the file.
      mapping.bias = start - offset;
      mapping.has_bias = true;
      const std::string_view path = lib["path"].text().value_or("");
      mapping.path = builder_.intern(path.empty() ? lib["name"].text().value_or("") : path);
      mapping.build_id = builder_.intern(build_id_of(lib["codeId"].text().value_or("")));
      process.libraries.push_back({mapping});
    }
    sort_stably(process.libraries, {}, start_of);
    return {};
  }

  // Returns a build id in lower case; nothing if the text is none.
  static std::string build_id_of(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (!std::isxdigit(static_cast<unsigned char>(c)))
        return {};
      out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    }
    return out.size() % 2 == 0 ? out : std::string();
  }

  Result<void> read_sources(const JsonValue &at, Process &process) { // since version 32
    if (at["sources"].is_null())
      return {};
    TALLY_TRY(table, RowTable::of(at, "sources"));
    TALLY_TRY(index, table.column("filename"));
    for (JsonValue row = table.first(); !row.is_absent(); row = row.next()) {
      TALLY_TRY(name, table.cell(row, index));
      process.sources.push_back(builder_.intern(name.text().value_or("")));
    }
    return {};
  }

  Result<void> read_gecko_thread(const JsonValue &thread, Process &process) {
    if (!thread.is_object())
      return thread.error("expected a thread");
    const auto strings = thread["stringTable"].column();
    if (!strings)
      return thread.error("stringTable is missing");
    ++threads_;
    const ThreadId id = builder_.add_thread(id_of(thread["pid"]).value_or(0),
                                            id_of(thread["tid"]).value_or(threads_),
                                            thread["name"].text().value_or(""));
    builder_.set_process(id, thread["processName"].text().value_or(""));
    TALLY_TRY(frames, gecko_frames(thread, *strings, process));
    TALLY_TRY(stacks, gecko_stacks(thread, frames));
    return gecko_samples(thread, id, stacks, process);
  }

  Result<std::vector<GeckoFrame>> gecko_frames(const JsonValue &thread,
                                               const JsonValue::Column &strings, Process &process) {
    TALLY_TRY(table, RowTable::of(thread, "frameTable"));
    TALLY_TRY(location, table.column("location"));
    TALLY_TRY(line, table.optional_index("line"));
    std::vector<GeckoFrame> frames;
    for (JsonValue row = table.first(); !row.is_absent(); row = row.next()) {
      TALLY_TRY(index, table.cell(row, location));
      TALLY_TRY(at, index_below(index, strings.size(), "string"));
      if (!at)
        return row.error("a frame without a location");
      const auto text = strings[*at].text();
      if (!text)
        return strings[*at].error("expected text in stringTable");
      TALLY_TRY(line_value, table.cell(row, line));
      const double number = line_value.number().value_or(0);
      frames.push_back(gecko_frame(
          *text, number >= 1 && number <= UINT32_MAX ? static_cast<uint32_t>(number) : 0, process));
    }
    return frames;
  }

  GeckoFrame gecko_frame(std::string_view text, uint32_t line, Process &process) {
    if (version_ < without_prefix && text.starts_with(script_entry))
      text.remove_prefix(script_entry.size());
    const FrameText parsed = frame_text(text);
    if (parsed.address)
      return {address_location(*parsed.address, process),
              address_location(*parsed.address == 0 ? 0 : *parsed.address - 1, process)};
    SourceFunction function;
    function.name = builder_.intern(parsed.name);
    function.object = builder_.intern(parsed.object);
    function.line = parsed.line;
    function.file = parsed.source_index && *parsed.source_index < process.sources.size()
                        ? process.sources[*parsed.source_index]
                        : builder_.intern(parsed.file);
    const SourceLine at{builder_.add_function(function), function.file, line};
    const LocationId location = builder_.add_location(none<MappingId>, 0, std::span(&at, 1));
    return {location, location};
  }

  static uint64_t start_of(const Library &library) { return library.mapping.start; }

  LocationId address_location(uint64_t address, Process &process) {
    const auto after = std::ranges::upper_bound(process.libraries, address, {}, start_of);
    if (after == process.libraries.begin() || address >= std::prev(after)->mapping.limit)
      return builder_.add_location(none<MappingId>, address);
    Library &library = *std::prev(after);
    if (library.id == none<MappingId>)
      library.id = builder_.add_mapping(library.mapping);
    return builder_.add_location(library.id, address);
  }

  Result<std::vector<GeckoStack>> gecko_stacks(const JsonValue &thread,
                                               const std::vector<GeckoFrame> &frames) {
    TALLY_TRY(table, RowTable::of(thread, "stackTable"));
    TALLY_TRY(prefix_index, table.column("prefix"));
    TALLY_TRY(frame_index, table.column("frame"));
    std::vector<GeckoStack> out;
    for (JsonValue row = table.first(); !row.is_absent(); row = row.next()) {
      TALLY_TRY(prefix_value, table.cell(row, prefix_index));
      TALLY_TRY(frame_value, table.cell(row, frame_index));
      TALLY_TRY(prefix, index_below(prefix_value, out.size(), "earlier stack"));
      TALLY_TRY(frame, index_below(frame_value, frames.size(), "frame"));
      if (!frame)
        return row.error("a stack without a frame");
      GeckoStack stack;
      stack.depth = prefix ? out[*prefix].depth + 1 : 1;
      if (stack.depth > most_frames)
        return row.error(too_deep(), ErrorCode::limit);
      const StackId caller = prefix ? out[*prefix].as_caller : none<StackId>;
      stack.as_leaf = builder_.push(caller, frames[*frame].as_leaf);
      stack.as_caller = builder_.push(caller, frames[*frame].as_caller);
      out.push_back(stack);
    }
    return out;
  }

  Result<void> gecko_samples(const JsonValue &thread, ThreadId id,
                             const std::vector<GeckoStack> &stacks, const Process &process) {
    TALLY_TRY(table, RowTable::of(thread, "samples"));
    TALLY_TRY(stack_index, table.column("stack"));
    TALLY_TRY(time_index, table.column("time"));
    for (JsonValue row = table.first(); !row.is_absent(); row = row.next()) {
      TALLY_TRY(time_value, table.cell(row, time_index));
      TALLY_TRY(stack_value, table.cell(row, stack_index));
      const auto time = time_value.number();
      if (!time)
        return (time_value.is_absent() ? row : time_value).error("expected a time in milliseconds");
      const auto at_ns = nanoseconds(*time + process.shift_ms);
      if (!at_ns)
        return time_value.error("the time does not fit in 63 bits of nanoseconds");
      TALLY_TRY(leaf, index_below(stack_value, stacks.size(), "stack"));
      SampleTime stamp;
      stamp.at_ns = time_after(*at_ns, zero_ns_);
      stamp.amount = 1;
      stamp.row = builder_.add_sample(leaf ? stacks[*leaf].as_leaf : push_unknown(builder_), id,
                                      none<PartId>, 1);
      builder_.add_time(stamp);
    }
    return {};
  }

  JsonValue document_, meta_;
  const std::string &source_;
  StackProfileBuilder builder_;
  int64_t version_ = 0;
  int64_t zero_ns_ = 0;
  int32_t threads_ = 0; // read so far
};

} // namespace

Result<Profile> read_gecko(const JsonTree &tree, const std::string &source) {
  return GeckoReader(tree, source).run();
}

} // namespace tally::firefox
