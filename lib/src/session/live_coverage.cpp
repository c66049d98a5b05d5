#include "session/live_coverage.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "session/session.h"
#include "support/path.h"
#include "support/source_text.h"
#include "support/text.h"

namespace tally {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds between_progress(100);

struct Interrupt {}; // ends a computation whose progress is shown

// Returns the path of a source. Clang 14 and GCC before version 9 do not note where the compiler
// ran; the source is then sought beside the notes. Returns an empty path if it is not there.
fs::path source_path(const ObjectFiles &object, StringId file) {
  const CoverageGraph &graph = object.live->notes->graph;
  const std::string_view folder = graph.strings[graph.working_directory];
  fs::path path = (fs::path(folder) / graph.strings[file]).lexically_normal();
  if (path.is_absolute())
    return path;
  path = (fs::path(object.notes).parent_path() / path).lexically_normal();
  std::error_code ignored; // the user may not be permitted to look
  return path.is_absolute() && fs::is_regular_file(path, ignored) ? path : fs::path();
}

// Returns the deepest directory that contains all sources of the objects, except those below /usr;
// "/" if it is not known. Sources outside of it would be left out.
std::string common_directory(std::span<const ObjectFiles> objects,
                             const GivenSourceBased &source_based) {
  std::set<fs::path> folders;
  for (const ObjectFiles &object : objects) {
    if (!object.live->notes)
      continue;
    std::set<StringId> files;
    for (const GraphFunction &function : object.live->notes->graph.functions)
      files.insert(function.file);
    for (const StringId file : files) {
      const fs::path path = source_path(object, file);
      if (path.empty())
        return "/";
      folders.insert(path.parent_path());
    }
  }
  if (!source_based.empty())
    for (const llvm::CoverageObject &object : *source_based.objects)
      for (const std::string &name : object.sources())
        folders.insert(fs::path(name).parent_path());
  std::optional<fs::path> common;
  for (const fs::path &folder : folders) {
    if (folder.string().starts_with("/usr/") || !folder.is_absolute())
      continue;
    if (!common) {
      common = folder;
      continue;
    }
    fs::path shared;
    for (auto a = common->begin(), b = folder.begin();
         a != common->end() && b != folder.end() && *a == *b; ++a, ++b)
      shared /= *a;
    common = shared;
  }
  std::error_code ignored; // the user may not be permitted to look
  return common && fs::is_directory(*common, ignored) ? common->string() : "/";
}

std::string warning_lines(const Diagnostics &findings) {
  constexpr size_t most = 3;
  std::string out;
  size_t count = 0;
  for (const Finding &finding : findings.findings())
    if (finding.severity != Severity::note && ++count <= most)
      out += finding.text() + "\n";
  if (count > most)
    out += fmt::format("(and {} more warnings)\n", count - most);
  return out;
}

bool has_notes(const ObjectFiles &object) { return object.live->notes != nullptr; }

// Says which notes cannot be read; empty if all can.
std::string missing_notes(std::span<const ObjectFiles> objects) {
  const auto first = std::ranges::find_if_not(objects, has_notes);
  const auto count = std::ranges::count_if(objects, std::not_fn(has_notes));
  if (count == 0)
    return {};
  return fmt::format("{} cannot be read{}: `coverage config notes` sets where the notes are\n",
                     first->notes,
                     count == 1   ? ""
                     : count == 2 ? ", nor can 1 other"
                                  : fmt::format(", nor can {} others", count - 1));
}

// Says which modules have counted what is not shown; empty if none has.
std::string unloaded_text(const live::LiveProgram &program) {
  return program.unloaded().empty()
             ? std::string()
             : fmt::format("({} was unloaded: what it counted until then is in the .gcda files "
                           "that it wrote)\n",
                           joined_text(program.unloaded(), ", "));
}

// Compilers may state the path of a source in several ways. If none of the files has the path of
// the pc, those of its name are meant.
void add_stopped_line(const std::string &source, uint32_t line, const Coverage &coverage,
                      StoppedLines &stopped) {
  const std::string path = fs::path(source).lexically_normal().string();
  const bool is_there =
      std::ranges::find(coverage.files, path, &FileCoverage::path) != coverage.files.end();
  for (const FileCoverage &file : coverage.files)
    if (is_there ? file.path == path : base_name(file.path) == base_name(path))
      stopped.emplace(file.path, line);
}

// Clang names a local function "FILE:NAME" in source-based coverage. A user knows NAME.
void remove_file_prefixes(Coverage &coverage) {
  for (FileCoverage &file : coverage.files)
    for (FunctionCoverage &function : file.functions)
      if (const size_t colon = function.name.find(':');
          colon != function.name.npos && colon > 0 && colon + 1 < function.name.size() &&
          base_name(file.path) == base_name(std::string_view(function.name).substr(0, colon)))
        function.name.erase(0, colon + 1);
}

} // namespace

std::string older_than(const LiveCoverage &shown, const std::string &path) {
  const auto is_of = [&](const ObjectFiles &object) {
    return std::ranges::any_of(
        object.live->notes->graph.functions,
        [&, last = none<StringId>, was = false](const GraphFunction &function) mutable {
          if (std::exchange(last, function.file) != function.file)
            was = source_path(object, function.file) == path;
          return was;
        });
  };
  for (const ObjectFiles &object : shown.objects)
    if (object.live->notes && is_newer(path, object.notes) && is_of(object))
      return object.notes;
  if (!shown.source_based.empty())
    for (const llvm::CoverageObject &object : *shown.source_based.objects)
      if (is_newer(path, object.name()) && object.sources().contains(path))
        return object.name();
  return {};
}

std::string remarks_of(const live::LiveProgram &program) {
  return unloaded_text(program) + warning_lines(program.findings());
}

void CoverageReader::show_progress(const std::string &text) {
  if (const auto shown = front_.debugger.progress(text); !shown && is_interrupted(shown.error()))
    throw Interrupt();
}

Result<LiveCoverage> CoverageReader::read(const std::string &command, std::string_view since,
                                          bool only_changed) {
  TALLY_TRY(live, program_.open(command));
  TALLY_TRY(old, marks_.since(command, since)); // before much is read
  TALLY_TRY(now, program_.counters_of(*live, command));
  if (since == "stop")
    now = marks_.newest_stop();
  if (old && old->generation != live->generation()) // a module was loaded or unloaded since
    old = std::make_shared<const CounterMark>(CounterMark{
        live->generation(), old->loaded, live->carried(old->snapshot, old->loaded), old->threads});
  const auto counted = [&]() -> Result<LiveCoverage> {
    try {
      auto out = count(*live, *now, old.get(), only_changed);
      TALLY_CHECK(program_.check_memory());
      show_progress("counted"); // so that an interrupt comes before what is written
      return out;
    } catch (const Interrupt &) {
      return fail(interrupted());
    }
  };
  TALLY_TRY(shown, counted());
  if (shown.coverage.files.empty() && !old)
    return fail(ErrorCode::no_data,
                shown.remarks.empty() ? "no source of the program has counts"
                                      : shown.remarks.substr(0, shown.remarks.find('\n')),
                command);
  return shown;
}

Result<LiveCoverage> CoverageReader::count(live::LiveProgram &program, const CounterMark &now,
                                           const CounterMark *before, bool only_changed) {
  LiveCoverage out;
  std::vector<ObjectFiles> old;
  const live::Reading reading{now.snapshot, now.threads};
  std::optional<live::Reading> earlier;
  if (before && program.was_reset(reading, {before->snapshot, before->threads}, program_.notes())) {
    out.remarks += "(counters were reset since the mark: the counts begin there)\n";
    before = nullptr;
  }
  if (before)
    earlier.emplace(live::Reading{before->snapshot, before->threads});
  if (earlier)
    std::tie(out.objects, old) =
        program.changed_objects(reading, *earlier, only_changed, program_.notes());
  else
    out.objects = program.objects(reading, program_.notes());
  CollectOptions options;
  out.source_based = program.source_based(reading, earlier ? &*earlier : nullptr);
  TALLY_CHECK(program_.check_memory());
  options.given_source_based = out.source_based;
  out.root = common_directory(out.objects, out.source_based);
  Diagnostics findings = program.findings();
  options.root = out.root;
  options.threads = std::max(1u, std::thread::hardware_concurrency());
  std::ranges::copy_if(out.objects, std::back_inserter(options.given), has_notes);
  options.progress = [this, shown = std::chrono::steady_clock::now()](size_t done,
                                                                      size_t all) mutable {
    const auto time = std::chrono::steady_clock::now();
    if (time - shown < between_progress)
      return;
    shown = time;
    show_progress(fmt::format("counting: {} of {} objects", done, all));
  };
  out.remarks += missing_notes(out.objects);
  out.remarks += unloaded_text(program);
  if (options.given.empty() && options.given_source_based.empty()) {
    out.remarks += warning_lines(findings);
    return out;
  }
  TALLY_TRY(collected, collect_coverage(options, findings));
  out.coverage = std::move(collected.coverage);
  if (earlier) {
    Diagnostics ignored; // they are the same
    out.before = old;
    std::erase_if(old, std::not_fn(has_notes));
    options.given = std::move(old);
    options.given_source_based = {}; // it is a difference already
    if (!options.given.empty()) {
      TALLY_TRY(subtracted, collect_coverage(options, ignored));
      out.coverage = coverage_since(std::move(out.coverage), subtracted.coverage);
    }
  }
  remove_file_prefixes(out.coverage);
  TALLY_CHECK(demangle_names(out.coverage));
  for (const ObjectFiles &object : out.objects)
    for (const OpenFrame &frame : object.live->frames)
      add_stopped_line(frame.file, frame.line, out.coverage, out.stopped);
  for (const live::SourceBasedFrame &frame : program.source_based_frames())
    add_stopped_line(frame.file, frame.line, out.coverage, out.stopped);
  functions_.clear();
  for (const FileCoverage &file : out.coverage.files)
    for (const FunctionCoverage &function : file.functions)
      functions_.push_back(function.name);
  if (const std::string why =
          live::why_uncertain(out.coverage, out.objects, program.source_based_frames());
      !why.empty())
    out.uncertain = fmt::format("({})\n", why);
  out.remarks += warning_lines(findings);
  return out;
}

} // namespace tally
