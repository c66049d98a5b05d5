// The C interface of profiles: reads, reports and converts files.
#include <fmt/format.h>

#include "capi/handles.h"
#include "join/profile_files.h"
#include "support/duration.h"
#include "support/file_io.h"
#include "support/number.h"
#include "support/text.h"

using namespace tally;
using namespace tally::capi;

struct tally_profile {
  NamedProfile read;
  std::string path; // for errors
  Diagnostics diagnostics;
};

namespace {

constexpr std::string_view no_names_remedy = "set tally_read_options.program";

// Returns an option that is given; its default otherwise.
std::string option(const char *value, const char *fallback = "") {
  return value && *value ? value : fallback;
}

Result<std::string> file_path(const char *path) {
  if (!path || !*path)
    return fail(ErrorCode::invalid_argument, "expected the name of a file");
  if (std::string_view(path) == "-")
    return fail(ErrorCode::invalid_argument,
                "standard input and output are the program's own: name a file", "-");
  return std::string(path);
}

// How a file is read, from the caller's options.
struct Reading {
  const Format *from = nullptr;
  ReadOptions how{};
  std::string program;
};

Result<Reading> reading_of(const tally_read_options *given) {
  TALLY_TRY(options, received_options(given, 0));
  Reading out;
  if (const std::string from = option(options.from); !from.empty()) {
    TALLY_TRY(named, about("from", format_by_name(from)));
    out.from = named;
  }
  if (options.max_unpacked_bytes != 0)
    out.how.max_unpacked_bytes = options.max_unpacked_bytes;
  out.how.memory_limit = options.memory_limit;
  out.program = option(options.program);
  return out;
}

Result<const Format *> output_format(const std::string &path, const std::string &name) {
  if (!name.empty())
    return format_for_output(path, name, "format");
  if (const Format *format = format_by_file_name(path))
    return format;
  return fail(ErrorCode::invalid_argument,
              "the file's name does not imply a format, and the options name none", path);
}

// How a file is written, from the caller's options.
struct Writing {
  std::string path;
  const Format *format = nullptr;
  WriteOptions how{};
};

Result<Writing> writing_of(const char *path, const tally_write_options *given) {
  TALLY_TRY(options, received_options(given, TALLY_WRITE_FULL_NAMES | TALLY_WRITE_FULL_POSITIONS));
  Writing out;
  TALLY_TRY(file, file_path(path));
  out.path = std::move(file);
  TALLY_TRY(format, output_format(out.path, option(options.format)));
  out.format = format;
  TALLY_CHECK(check_output_name(out.path, *out.format));
  out.how.compress_names = (options.flags & TALLY_WRITE_FULL_NAMES) == 0;
  out.how.compress_positions = (options.flags & TALLY_WRITE_FULL_POSITIONS) == 0;
  out.how.gcovr_version = option(options.gcovr_version);
  out.how.time = options.time;
  return out;
}

// Holds the caller's choice of what a table shows.
struct Shown {
  By by = By::function;
  SortBy sort = SortBy::self;
  Selection selection;
};

// Returns none if the caller states no time. The name is that of the option.
Result<std::optional<uint64_t>> time_of(const char *given, const char *name) {
  const std::string text = option(given);
  if (text.empty())
    return std::nullopt;
  auto time = duration_of(text);
  if (!time)
    return fail(ErrorCode::invalid_argument, time.error().message, name);
  return *time;
}

Result<Shown> shown_of(const tally_report_options *given) {
  TALLY_TRY(options, received_options(given, TALLY_REPORT_KERNEL | TALLY_REPORT_NO_INLINES));
  Shown out;
  TALLY_TRY(by, by_of(option(options.by, "function")));
  TALLY_TRY(sort, sort_by_of(option(options.sort, "self")));
  out.by = by;
  out.sort = sort;
  SampleFilter &samples = out.selection.samples;
  samples.event = option(options.event);
  samples.thread = option(options.thread);
  if (const std::string part = option(options.part); !part.empty()) {
    TALLY_TRY(number, whole_number(part, 0, UINT32_MAX, "part"));
    samples.part = static_cast<uint32_t>(number);
  }
  samples.process = option(options.process);
  samples.focus = option(options.focus);
  samples.ignore = option(options.ignore);
  samples.hide = option(options.hide);
  samples.fold = option(options.fold);
  samples.no_inlines = (options.flags & TALLY_REPORT_NO_INLINES) != 0;
  TALLY_TRY(from, time_of(options.from, "from"));
  TALLY_TRY(to, time_of(options.to, "to"));
  samples.from_ns = from;
  samples.to_ns = to;
  out.selection.unfolds_kernel = (options.flags & TALLY_REPORT_KERNEL) != 0;
  return out;
}

TablePtr lost_table(const Written &written) {
  auto out = std::make_unique<tally_table>();
  out->add("what", written.lost);
  return out;
}

std::string_view what_is_held(const Format &format) {
  if (format.read_counters)
    return "counters";
  if (format.read_coverage || format.write_coverage)
    return "coverage";
  if (format.read_pcs || format.write_pcs)
    return "addresses";
  return format.write_costs ? "costs" : "stacks";
}

Result<FlatTable> flat_table(const Profile &profile, By by, SortBy sort, const std::string &path) {
  return about(path, std::visit([&](const auto &each) { return tally::flat_table(each, by, sort); },
                                profile));
}

// A row of tally_profile_events().
struct EventRow {
  std::string name, unit, formula;
  uint64_t total = 0;
};

// Samples may have negative values, as in a difference of profiles. No flat table can be made of
// such samples, but the totals can be listed if they are not negative.
Result<std::vector<EventRow>> events_of(const StackProfile &profile) {
  const std::vector<int64_t> totals = profile.totals();
  std::vector<EventRow> out;
  for (size_t i = 0; i < totals.size(); ++i) {
    const ValueType &type = profile.value_types()[i];
    const std::string_view name = profile.strings[type.type];
    if (totals[i] < 0)
      return fail(ErrorCode::unsupported,
                  fmt::format("the total of the event {} is {}, and the table of events holds no "
                              "negative numbers",
                              name, totals[i]));
    out.push_back({std::string(name), std::string(profile.strings[type.unit]), "",
                   static_cast<uint64_t>(totals[i])});
  }
  return out;
}

Result<std::vector<EventRow>> events_of(const CostProfile &profile) {
  // Makes the table by part, because this is the only table that needs no search for callers.
  TALLY_TRY(flat, tally::flat_table(profile, By::part));
  std::vector<EventRow> out;
  for (size_t i = 0; i < flat.events.size(); ++i)
    out.push_back({flat.events[i], "", "", flat.totals[i]});
  for (const FlatTable::DerivedEvent &event : flat.derived)
    out.push_back({event.name, "", event.formula, event.total});
  return out;
}

// Names options as tally.h does, in place of the command line's "--thread".
template <class T> Result<T> by_c_name(Result<T> result) {
  if (!result && result.error().source.starts_with("--"))
    result.error().source.erase(0, 2);
  return result;
}

struct TwoTables {
  TablePtr diagnostics, lost;
};

} // namespace

extern "C" {

tally_error *tally_formats(tally_table **table) {
  return guarded(
      []() -> TableResult {
        std::vector<std::string> names, summaries, holds, patterns;
        std::vector<uint64_t> reads, writes;
        for (const Format &format : formats()) {
          names.emplace_back(format.name);
          summaries.emplace_back(format.summary);
          reads.push_back(format.probe ? 1 : 0);
          writes.push_back(
              format.writes_profiles() || format.write_coverage || format.writes_counters() ? 1
                                                                                            : 0);
          holds.emplace_back(what_is_held(format));
          patterns.push_back(joined_text(format.file_names, " "));
        }
        auto out = std::make_unique<tally_table>();
        out->add("name", std::move(names));
        out->add("summary", std::move(summaries));
        out->add("reads", std::move(reads));
        out->add("writes", std::move(writes));
        out->add("holds", std::move(holds));
        out->add("file_names", std::move(patterns));
        return out;
      },
      into(table));
}

tally_error *tally_profile_read(const char *path, const tally_read_options *options,
                                tally_profile **profile) {
  return guarded(
      [&]() -> Result<std::unique_ptr<tally_profile>> {
        TALLY_TRY(name, file_path(path));
        TALLY_TRY(reading, reading_of(options));
        auto out = std::make_unique<tally_profile>();
        TALLY_TRY(file, read_named_file(name, out->diagnostics, reading.from, reading.how));
        TALLY_TRY(read, named_profile_with(name, std::move(file), reading.program, no_names_remedy,
                                           out->diagnostics, true));
        TALLY_CHECK(check_costs(read.profile, name));
        out->read = std::move(read);
        out->path = std::move(name);
        return out;
      },
      [profile](std::unique_ptr<tally_profile> made) { *profile = made.release(); });
}

void tally_profile_free(tally_profile *profile) { delete profile; }

const char *tally_profile_format(const tally_profile *profile) {
  return profile->read.format->name.data(); // a string literal, which ends with a null character
}

tally_error *tally_profile_diagnostics(const tally_profile *profile, tally_table **table) {
  return guarded([&]() -> TableResult { return table_of(profile->diagnostics); }, into(table));
}

tally_error *tally_profile_events(const tally_profile *profile, tally_table **table) {
  return guarded(
      [&]() -> TableResult {
        TALLY_TRY(events,
                  about(profile->path, std::visit([](const auto &each) { return events_of(each); },
                                                  profile->read.profile)));
        std::vector<std::string> names, units, formulas;
        std::vector<uint64_t> totals;
        for (EventRow &event : events) {
          names.push_back(std::move(event.name));
          units.push_back(std::move(event.unit));
          formulas.push_back(std::move(event.formula));
          totals.push_back(event.total);
        }
        auto out = std::make_unique<tally_table>();
        out->add("name", std::move(names));
        out->add("unit", std::move(units));
        out->add("formula", std::move(formulas));
        out->add("total", std::move(totals));
        return out;
      },
      into(table));
}

tally_error *tally_profile_report(const tally_profile *profile, const tally_report_options *options,
                                  tally_table **table) {
  return guarded(
      [&]() -> TableResult {
        TALLY_TRY(shown, shown_of(options));
        const Profile *source = &profile->read.profile;
        std::optional<Profile> selected;
        if (!shown.selection.takes_all()) {
          TALLY_TRY(some, by_c_name(select_from(*source, shown.selection, profile->path)));
          source = &selected.emplace(std::move(some));
        }
        TALLY_TRY(flat, flat_table(*source, shown.by, shown.sort, profile->path));
        return table_of(flat);
      },
      into(table));
}

tally_error *tally_profile_write(const tally_profile *profile, const char *path,
                                 const tally_write_options *options, tally_table **lost) {
  return guarded(
      [&]() -> TableResult {
        TALLY_TRY(writing, writing_of(path, options));
        TALLY_TRY(written, write_named_profile(profile->read, *writing.format, writing.how));
        auto out = lost_table(written);
        TALLY_CHECK(write_file(writing.path, *writing.format, written));
        return out;
      },
      [lost](TablePtr table) {
        if (lost)
          *lost = table.release();
      });
}

tally_error *tally_convert(const char *const *paths, size_t count,
                           const tally_read_options *reading_options, const char *output,
                           const tally_write_options *writing_options, tally_table **diagnostics,
                           tally_table **lost) {
  return guarded(
      [&]() -> Result<TwoTables> {
        TALLY_TRY(reading, reading_of(reading_options));
        TALLY_TRY(writing, writing_of(output, writing_options));
        if (count == 0)
          return fail(ErrorCode::invalid_argument, "expected the names of files to read");
        std::vector<std::string> names;
        for (size_t i = 0; i < count; ++i) {
          TALLY_TRY(name, file_path(paths[i]));
          names.push_back(std::move(name));
        }
        Diagnostics found;
        const auto read = [&](const std::string &path) {
          return read_named_file(path, found, reading.from, reading.how);
        };
        TALLY_TRY(files, read_files(names, false, read, [&](const Error &error) {
                    found.add(Severity::warning, error.message, error.source, error.where);
                  }));
        TALLY_TRY(content,
                  content_to_convert(std::move(files), *writing.format, reading.program, found));
        ProgramNames program;
        if (needs_names(content, *writing.format)) {
          TALLY_TRY(known, names_of_pcs(names.front(), reading.program, no_names_remedy, found));
          program = std::move(known);
        }
        writing.how.names = program.get();
        TALLY_TRY(written, about(count == 1 ? names.front() : writing.path,
                                 write_content(content, *writing.format, writing.how)));
        TwoTables out{table_of(found), lost_table(written)};
        TALLY_CHECK(write_file(writing.path, *writing.format, written));
        return out;
      },
      [&](TwoTables out) {
        if (diagnostics)
          *diagnostics = out.diagnostics.release();
        if (lost)
          *lost = out.lost.release();
      });
}

} // extern "C"
