// Reads, selects from, adds up and writes whole files: the work of `tally report`, `tally convert`
// and `tally merge`, which the C interface offers, too. Callers show progress and diagnostics.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/formats.h"
#include "join/named_profile.h"
#include "transform/sample_filter.h"

namespace tally {

// Sets the source of an error that has none to `file`.
template <class T> Result<T> about(const std::string &file, Result<T> result) {
  if (!result && result.error().source.empty())
    result.error().source = file;
  return result;
}

// Returns the names of a program's functions; none if `program` is empty. Fails if the program
// cannot be read.
Result<ProgramNames> program_names(const std::string &program, Diagnostics &diagnostics);
// Does the same for the counts of addresses in `path`. If `program` is empty, a diagnostic says
// that the addresses have no names; `remedy` says what to do.
Result<ProgramNames> names_of_pcs(const std::string &path, const std::string &program,
                                  std::string_view remedy, Diagnostics &diagnostics);
// Does the same as named_profile_of(), with names_of_pcs() for counts of addresses.
Result<NamedProfile> named_profile_with(const std::string &path, ReadFile file,
                                        const std::string &program, std::string_view remedy,
                                        Diagnostics &diagnostics, bool keeps_coverage = false);

// What a table shows of a profile.
struct Selection {
  SampleFilter samples{};      // its event is a counted or a derived one
  bool unfolds_kernel = false; // see unfold_kernel()
  bool takes_all() const { return samples.takes_all() && !unfolds_kernel; }
};
// Fails with no_data if the profile holds no costs. `path` is for errors.
Result<void> check_costs(const Profile &profile, const std::string &path);
// The patterns apply to the kernel's functions, too, if these are unfolded.
Result<Profile> select_from(Profile &&profile, const Selection &wanted, const std::string &path);
// Does the same without a change to `profile`. If no samples are selected, it copies the whole
// profile.
Result<Profile> select_from(const Profile &profile, const Selection &wanted,
                            const std::string &path);

// Reports whether FILE is empty and FILE-01 exists, as Callgrind's --separate-threads=yes leaves
// them.
bool is_empty_beside_threads(const std::string &path);

struct ReadFiles {
  std::vector<ReadFile> files;
  std::vector<std::string> paths;
  const Format *format = nullptr; // of the first file
};
using FileReader = std::function<Result<ReadFile>(const std::string &path)>;
// Reads all files by `read`. If there are several, a file for which is_empty_beside_threads() is
// true is left out, and `skipped` receives the error. With `one_format`, fails at the first file
// whose sum has another format than that of the first, see sum_format_of().
Result<ReadFiles> read_files(std::span<const std::string> paths, bool one_format,
                             const FileReader &read,
                             const std::function<void(const Error &)> &skipped);
// Returns the sum of the files, see merge_files(). `program` is the path of the program that counts
// of addresses belong to, or empty.
Result<Content> sum_of(ReadFiles all, const std::string &program, Diagnostics &diagnostics);
// Returns the content to write in the format `to`: that of a single file as it is, because a sum
// would lose its parts, and otherwise the sum of all files. Fails with invalid_input for notes and
// counters of another format.
Result<Content> content_to_convert(ReadFiles all, const Format &to, const std::string &program,
                                   Diagnostics &diagnostics);
// Returns whether the content counts addresses, and the format holds functions in their place.
// WriteOptions::names gives names to the addresses.
bool needs_names(const Content &content, const Format &to);

// Fails with invalid_argument if the file's name has the suffix of a compressed file but the format
// is not compressed, because writers compress no other format.
Result<void> check_output_name(const std::string &path, const Format &format);

} // namespace tally
