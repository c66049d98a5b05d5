// The file formats: one table of names, and reading and writing through it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tally/cost_profile.h>
#include <tally/counter_file.h>
#include <tally/coverage.h>
#include <tally/diagnostics.h>
#include <tally/file_io.h>
#include <tally/pc_costs.h>
#include <tally/pc_profile.h>
#include <tally/result.h>
#include <tally/stack_profile.h>
#include <tally/unwinder.h>

namespace tally {

using Profile = std::variant<StackProfile, CostProfile>;

struct WriteOptions {
  bool compress_names = true;     // Callgrind: (id) name
  bool compress_positions = true; // Callgrind: +3, -1, *
  // Of coverage: sources below this folder are written with paths relative to it. "": as they are.
  std::string root{};
  // Of gcovr's JSON: the version of its layout ("0.3"), for gcovr reads no other than its own.
  // "": the newest that is known here.
  std::string gcovr_version{};
  // When the report was made, in seconds since 1970, for formats that tell it: the same content and
  // time give the same bytes, so whoever writes passes it. 0: not told.
  int64_t time = 0;
  // The program that addresses of a PcProfile are of, for formats that hold functions. null: they
  // are named by address. It outlives the call.
  const PcNames *names = nullptr;
};

// Bytes to be written, built whole before any file is touched, and what the format could not hold.
struct Written {
  std::string bytes;
  std::vector<std::string> lost; // one sentence each
};

struct Format {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> file_names; // shell patterns; none: no name tells it
  // Where none does, a name that does not mislead, `*` being what the caller calls it.
  std::string_view default_name{};
  bool is_gzip = false; // what is written is packed, as a name in .gz says
  // Looks at the first bytes (4 KiB, more where the first line is longer, or the whole file): is it
  // this format? null: not read.
  bool (*probe)(std::string_view head) = nullptr;
  // One of the five; null where the format is not read. Counters' readers get empty files, too.
  Result<Profile> (*read)(ByteSource &source, Diagnostics &diagnostics) = nullptr;
  Result<std::unique_ptr<CounterFile>> (*read_counters)(ByteSource &source,
                                                        Diagnostics &diagnostics) = nullptr;
  Result<Coverage> (*read_coverage)(ByteSource &source, Diagnostics &diagnostics) = nullptr;
  Result<PcProfile> (*read_pcs)(ByteSource &source, Diagnostics &diagnostics) = nullptr;
  // A StackProfile of addresses without names: Symbolization gives them. unwinder: for samples that
  // hold a copy of the stack; null: their callers are left out, and a finding says so.
  Result<Profile> (*read_addresses)(ByteSource &source, Diagnostics &diagnostics,
                                    Unwinder *unwinder) = nullptr;
  // At most one of the four: what the format is drawn from. null: not written.
  Result<Written> (*write_stacks)(const StackProfile &, const WriteOptions &) = nullptr;
  Result<Written> (*write_costs)(const CostProfile &, const WriteOptions &) = nullptr;
  Result<Written> (*write_coverage)(const Coverage &, const WriteOptions &) = nullptr;
  Result<Written> (*write_pcs)(const PcProfile &, const WriteOptions &) = nullptr;

  bool writes_profiles() const { return write_stacks || write_costs || write_pcs; }
};

TALLY_API std::span<const Format> formats();
// An unknown name is an error that lists the known ones.
TALLY_API Result<const Format *> format_by_name(std::string_view name);
// The same of the formats that profiles are written in: Format::writes_profiles().
TALLY_API Result<const Format *> profile_format_by_name(std::string_view name);
// By the file's name; null when it tells none.
TALLY_API const Format *format_by_file_name(std::string_view path);

// The format to write `path` in: the named one, or, where no name is given, that of the file's
// name. A refusal says that `option` would tell it ("--to").
TALLY_API Result<const Format *> format_for_output(std::string_view path, std::string_view name,
                                                   std::string_view option);
// For a file that was given no name: the format's first pattern, `*` being `stem` ("x.folded",
// "callgrind.out.x"); of a format without patterns its default name ("x.cobertura.xml").
TALLY_API std::string default_file_name(const Format &format, std::string_view stem);

struct ReadProfile {
  Profile profile;
  const Format *format = nullptr;
};
// Reads FILE ("-": standard input), gzip and zstd unpacked. Its content tells the format; `from`
// overrides. The unwinder is for read_addresses().
TALLY_API Result<ReadProfile> read_profile(const std::string &path, Diagnostics &diagnostics,
                                           const Format *from = nullptr,
                                           const ReadOptions &options = {},
                                           Unwinder *unwinder = nullptr);

// A profile, a file of notes or counters, coverage of sources, or counts of addresses.
using Content = std::variant<Profile, std::unique_ptr<CounterFile>, Coverage, PcProfile>;
struct ReadFile {
  Content content;
  const Format *format = nullptr;
};
// As read_profile(), which refuses files of notes and counters, as does profile_of(). Coverage is
// a profile, too: of executions (costs_of()); and so are counts of addresses, named by `names`,
// without which read_profile() warns.
TALLY_API Result<ReadFile> read_file(const std::string &path, Diagnostics &diagnostics,
                                     const Format *from = nullptr, const ReadOptions &options = {},
                                     Unwinder *unwinder = nullptr);

TALLY_API Result<ReadProfile> profile_of(const std::string &path, ReadFile file,
                                         const PcNames *names = nullptr);
// The finding that is due where counts of addresses have no names.
TALLY_API void warn_of_no_names(const std::string &path, std::string_view remedy,
                                Diagnostics &diagnostics);

// The sum of profiles of one kind; `names`, one for each, are for errors.
TALLY_API Result<Profile> merge_profiles(std::vector<Profile> profiles,
                                         std::span<const std::string> names);
// The sum of files of one kind; where kinds are mixed, of all as profiles.
TALLY_API Result<Content> merge_files(std::vector<ReadFile> files,
                                      std::span<const std::string> names, Diagnostics &diagnostics,
                                      const PcNames *program = nullptr);

// Turns the profile into what the format is drawn from, and writes it there. A CostProfile has no
// stacks: a format of stacks refuses it. A format of addresses takes those of the program itself.
TALLY_API Result<Written> write_profile(const Profile &profile, const Format &format,
                                        const WriteOptions &options = {});
// Coverage itself where the format holds it, else its costs.
TALLY_API Result<Written> write_coverage(const Coverage &coverage, const Format &format,
                                         const WriteOptions &options = {});
// Either; counters go back into the format that they are of.
TALLY_API Result<Written> write_content(const Content &content, const Format &format,
                                        const WriteOptions &options = {});
// Callgrind's way with parts: one file for each, in order of their numbers.
TALLY_API Result<std::vector<Written>>
write_parts(const StackProfile &profile, const Format &format, const WriteOptions &options = {});

} // namespace tally
