// Lists the file formats in one table, and reads and writes files through it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/cost_profile.h"
#include "model/counter_file.h"
#include "model/coverage.h"
#include "model/pc_profile.h"
#include "model/stack_profile.h"
#include "model/unwinder.h"
#include "support/diagnostics.h"
#include "support/file_io.h"
#include "support/result.h"
#include "transform/pc_costs.h"

namespace tally {

using Profile = std::variant<StackProfile, CostProfile>;

struct WriteOptions {
  bool compress_names = true;     // Callgrind: write names as "(id) name", later as "(id)"
  bool compress_positions = true; // Callgrind: write positions as +3, -1, *
  // Coverage: sources below this directory are written with paths relative to it. If empty, paths
  // are written as they are.
  std::string root{};
  // gcovr's JSON: the version of the layout ("0.3"). Each gcovr reads only its own version. Empty
  // means the newest that Tally knows.
  std::string gcovr_version{};
  // lcov's tracefile: the oldest lcov that is to read it, "1.16" or "2.3", which adds MC/DC. Empty
  // means 1.16.
  std::string lcov_version{};
  // Flame graphs: the title of the picture. If empty, it is the program's command.
  std::string title{};
  // The time of the report, in seconds since 1970, for formats that store it. The caller passes it,
  // so that the same content and time give the same bytes. 0 if unknown.
  int64_t time = 0;
  // The program that a PcProfile's addresses belong to, for formats that hold functions. If null,
  // functions are named by address. Must outlive the call.
  const PcNames *names = nullptr;
};

// The complete content of a file, built before any file is touched, and what the format could not
// hold.
struct Written {
  std::string bytes;
  std::vector<std::string> lost; // one phrase for each kind of information that was left out
};

// Whether a written file is compressed with gzip. If `by_name`, write_file() compresses it if its
// name ends in .gz.
enum class Gzip : uint8_t { never, always, by_name };

// A row of the table of formats. It has more than 15 data members, because each kind of content has
// a function that reads it and one that writes it.
struct Format {
  std::string_view name;
  std::string_view summary;
  // Shell patterns (fnmatch) of the format's file names; empty if no name identifies it.
  std::vector<std::string_view> file_names;
  // For a format without `file_names`: a pattern for a new file, with `*` for the caller's stem.
  std::string_view default_name{};
  Gzip gzip = Gzip::never;
  // Judges by the first bytes of a file whether it is of this format. `head` has 4 KiB, more if the
  // first line is longer, or the whole file if that is shorter. Null if the format cannot be read.
  bool (*probe)(std::string_view head) = nullptr;
  // Judges the same by more of a file that no probe accepts, for what a log has among other lines.
  bool (*probe_log)(std::string_view text) = nullptr;
  // Exactly one of these five is set if the format can be read, otherwise none. `read_counters` is
  // called for empty files, too; for the other four functions, read_file() reports an empty file as
  // no_data.
  Result<Profile> (*read)(ByteSource &source, Diagnostics &diagnostics) = nullptr;
  Result<std::unique_ptr<CounterFile>> (*read_counters)(ByteSource &source,
                                                        Diagnostics &diagnostics) = nullptr;
  Result<Coverage> (*read_coverage)(ByteSource &source, Diagnostics &diagnostics) = nullptr;
  Result<PcProfile> (*read_pcs)(ByteSource &source, Diagnostics &diagnostics) = nullptr;
  // Of counters that are only read: the name of the format that their sum is written in.
  std::string_view sum_format{};
  // Returns a StackProfile of addresses without names; Symbolization adds the names. `unwinder` is
  // for samples with a stack dump. If it is null, the callers in these samples are left out, and a
  // diagnostic says so.
  Result<Profile> (*read_addresses)(ByteSource &source, Diagnostics &diagnostics,
                                    Unwinder *unwinder) = nullptr;
  // At most one of these four functions is set: that for the kind of content that the format
  // stores. All are null if the format cannot be written.
  Result<Written> (*write_stacks)(const StackProfile &, const WriteOptions &) = nullptr;
  Result<Written> (*write_costs)(const CostProfile &, const WriteOptions &) = nullptr;
  Result<Written> (*write_coverage)(const Coverage &, const WriteOptions &) = nullptr;
  Result<Written> (*write_pcs)(const PcProfile &, const WriteOptions &) = nullptr;
  bool holds_lines = true; // with write_costs; otherwise it cannot hold coverage either

  bool writes_profiles() const { return write_stacks || write_costs || write_pcs; }
  bool writes_counters() const { return read_counters && sum_format.empty(); }
};

std::span<const Format> formats();
// Finds a format by its name. An unknown name is an error that lists the known ones.
Result<const Format *> format_by_name(std::string_view name);
// Returns the format that the sum of files of this format has: the format itself for most.
const Format &sum_format_of(const Format &format);
// Does the same as format_by_name() for formats that profiles can be written in, see
// Format::writes_profiles().
Result<const Format *> profile_format_by_name(std::string_view name);
// Finds a format by the name of a file. Returns null if no format's pattern matches.
const Format *format_by_file_name(std::string_view path);

// Returns the format to write `path` in: the one called `name`, or, if `name` is empty, the one
// that the file's name identifies. If neither works, the error names `option` ("--to"), with which
// the user can name a format.
Result<const Format *> format_for_output(std::string_view path, std::string_view name,
                                         std::string_view option);
// Returns a name for a file that the user did not name: the format's first pattern with `stem` in
// place of `*` ("x.folded", "callgrind.out.x"); for a format without patterns, its default name
// ("x.cobertura.xml").
std::string default_file_name(const Format &format, std::string_view stem);

struct ReadProfile {
  Profile profile;
  const Format *format = nullptr;
};
// A profile, a file of notes or counters, coverage of sources, or counts of addresses (gmon.out).
using Content = std::variant<Profile, std::unique_ptr<CounterFile>, Coverage, PcProfile>;
struct ReadFile {
  Content content;
  const Format *format = nullptr;
};
// Returns the format of a file, as read_file() determines it; null if it is unknown.
Result<const Format *> format_of_file(const std::string &path);
// Reads a file ("-" is standard input), which may be compressed with gzip or zstd. The content
// determines the format, and the file's name decides if several formats match; `from` overrides
// both. The unwinder is for Format::read_addresses().
Result<ReadFile> read_file(const std::string &path, Diagnostics &diagnostics,
                           const Format *from = nullptr, const ReadOptions &options = {},
                           Unwinder *unwinder = nullptr);

// Turns the content of a file into a profile. Coverage becomes a profile of executions
// (costs_of()). Counts of addresses become a profile of functions, which are named by address if
// `names` is null. Notes and counters are invalid_input; `path` is for errors.
Result<ReadProfile> profile_of(const std::string &path, ReadFile file,
                               const PcNames *names = nullptr);
// Adds the warning that the counts of addresses in `path` have no names; `remedy` says what to do.
void warn_of_no_names(const std::string &path, std::string_view remedy, Diagnostics &diagnostics);

// Returns the sum of profiles of one kind. Errors use `names`, one for each profile. Stack profiles
// and cost profiles together are invalid_input.
Result<Profile> merge_profiles(std::vector<Profile> profiles, std::span<const std::string> names);
// Returns the sum of files. The sum of files of one kind is of that kind; if the kinds differ, each
// file is first turned into a profile by profile_of(), with `program` for counts of addresses.
Result<Content> merge_files(std::vector<ReadFile> files, std::span<const std::string> names,
                            Diagnostics &diagnostics, const PcNames *program = nullptr);

// Converts the profile to the kind of content that the format stores, and returns the file's bytes.
// A CostProfile has no stacks, so writing it in a format of stacks is unsupported. A format of
// addresses gets only the addresses of the program itself, see to_pc_profile().
Result<Written> write_profile(const StackProfile &profile, const Format &format,
                              const WriteOptions &options = {});
Result<Written> write_profile(const CostProfile &profile, const Format &format,
                              const WriteOptions &options = {});
Result<Written> write_profile(const Profile &profile, const Format &format,
                              const WriteOptions &options = {});
// Writes the coverage itself if the format holds coverage, otherwise its costs (costs_of()).
Result<Written> write_coverage(const Coverage &coverage, const Format &format,
                               const WriteOptions &options = {});
// Writes content of any kind. Counters can be written only in a format of counters, as
// CounterFile::bytes() returns them.
Result<Written> write_content(const Content &content, const Format &format,
                              const WriteOptions &options = {});
// Writes the file, compressed with gzip if its name and the format demand it.
Result<void> write_file(const std::string &path, const Format &format, const Written &written,
                        OutputName name = OutputName::chosen);
// Writes each part as a file of its own, as Callgrind does, in the order of the parts' numbers. A
// format that does not hold costs is unsupported. A profile without parts is no_data.
Result<std::vector<Written>> write_parts(const StackProfile &profile, const Format &format,
                                         const WriteOptions &options = {});

} // namespace tally
