#include "session/coverage_group.h"

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

#include "collect/proc_info.h"
#include "live/raw_profile.h"
#include "session/command_help.h"
#include "session/coverage_table.h"
#include "support/path.h"
#include "support/text.h"

namespace tally {

namespace {

namespace fs = std::filesystem;

// A user does not notice it at each step.
constexpr std::chrono::milliseconds longest_mark(10);
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

// Returns what distinguishes the program that an event is about from another.
std::string opened_for(const DebugEvent &event) {
  return fmt::format("{} {}", static_cast<int>(event.target), event.pid);
}

} // namespace

CoverageGroup::CoverageGroup(Front &shared_front)
    : front(shared_front), settings(coverage_table()) {}

void CoverageGroup::event(const DebugEvent &event) {
  switch (event.kind) {
  case EventKind::target:
    if (program_ && opened_ != opened_for(event))
      forget_program();
    break;
  case EventKind::resumed:
    resumed_unseen = event.unseen && (last_stop || resumed_unseen);
    if (event.unseen) // the program may have stopped meanwhile
      last_stop = stop_before = nullptr;
    break;
  case EventKind::exited:
  case EventKind::signalled:
  case EventKind::killed:
  case EventKind::detached:
    forget_program();
    break;
  case EventKind::breakpoint:
  case EventKind::watchpoint:
  case EventKind::catchpoint:
  case EventKind::signal:
  case EventKind::step:
  case EventKind::other:
    if (auto_mark() == "on" && event.target == TargetKind::native)
      make_stop_mark();
    else
      last_stop = stop_before = nullptr;
    break;
  }
}

void CoverageGroup::forget_program() {
  program_.reset();
  by_debugger_ = nullptr;
  mark = last_stop = stop_before = nullptr;
  resumed_unseen = false;
  mark_times_ = {};
}

// A single mark may be slow by chance, or because the debugger reads symbols for it.
bool CoverageGroup::marks_are_slow() const { return mark_times_.slow > 1; }

std::string CoverageGroup::auto_mark() const {
  const std::string_view wanted = settings.value("auto-mark");
  if (front.target.target == TargetKind::remote || front.target.target == TargetKind::core)
    return "off (only programs of this machine are marked at each stop)";
  if (wanted == "auto" && marks_are_slow())
    return fmt::format("off (the last one took {} ms)", mark_times_.newest_ns / 1'000'000);
  return wanted == "off" ? "off" : "on";
}

// Errors are not shown: most programs have no counters. A stop that cannot be marked breaks the
// chain, because the stop before it is not the previous one of the next.
void CoverageGroup::make_stop_mark() {
  stop_before = nullptr;
  std::shared_ptr<const CounterMark> previous = std::exchange(last_stop, nullptr);
  if (!program("coverage"))
    return;
  const auto began = std::chrono::steady_clock::now(); // the layout is known now
  auto now = counters("coverage");
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
  mark_times_.newest_ns = static_cast<uint64_t>(took.count());
  mark_times_.slow = took > longest_mark ? mark_times_.slow + 1 : 0;
  if (now) {
    stop_before = std::move(previous);
    last_stop = std::move(*now);
  }
}

std::vector<std::string> CoverageGroup::words_of(ValueKind kind) const {
  return kind == ValueKind::function ? functions_ : std::vector<std::string>();
}

live::NotesCache &CoverageGroup::notes() {
  notes_.set_place(std::string(settings.value("notes")));
  return notes_;
}

Result<void> CoverageGroup::open_local() {
  const pid_t pid = front.target.pid;
  const auto status = process_status(std::to_string(live::thread_with_memory(pid)));
  if (status && status->state != 't' && status->state != 'T') // LLDB does not report every resume
    return fail(ErrorCode::bad_state, "the program is running; interrupt it first");
  if (program_)
    return {};
  TALLY_TRY(source, live::process_source(pid));
  program_.emplace(std::move(source));
  opened_ = opened_for(front.target);
  return {};
}

Result<void> CoverageGroup::open_reported(Debugger::LoadedFiles files) {
  const bool is_core = !files.core.empty();
  if (program_ && is_core) // core files of containers have the same pids
    if (const auto opened = program_->source().state_of_modules(); !opened || *opened != files.core)
      forget_program();
  if (program_ && is_core == (by_debugger_ != nullptr))
    forget_program();
  if (!program_ && is_core) {
    TALLY_TRY(source, live::core_source(files.core, front.target.program));
    program_.emplace(std::move(source));
  } else if (!program_) {
    auto source = live::debugger_source([this](const live::AddressRange &range) {
      auto content = front.debugger.memory(range);
      if (!content)
        content.error() = error_about("", ErrorCode::unsupported, std::move(content.error()),
                                      "the program's memory cannot be read: ");
      return content;
    });
    by_debugger_ = source.get();
    program_.emplace(std::move(source));
  }
  opened_ = opened_for(front.target);
  if (by_debugger_) {
    by_debugger_->set_modules(std::move(files.sections));
    by_debugger_->forget();
  }
  return {};
}

Result<void> CoverageGroup::open(const std::string &command) {
  const bool is_local = front.target.target == TargetKind::native;
  if (front.target.target == TargetKind::none || (is_local && front.target.pid == 0))
    return fail(ErrorCode::bad_state, "no process: run the program, or open a core file", command);
  if (is_local) {
    if (auto opened = open_local(); !opened)
      return fail(opened.error().code, opened.error().message, command);
  } else {
    auto files = front.ask(&Debugger::modules);
    if (files && files->core.empty() && files->sections.empty())
      files = fail(ErrorCode::unsupported, "the debugger names none");
    if (!files)
      return fail(error_about(command, ErrorCode::unsupported, std::move(files.error()),
                              "the modules of the program are not known: "));
    TALLY_CHECK(open_reported(std::move(*files)));
  }
  return program_->refresh(notes());
}

Result<live::LiveProgram *> CoverageGroup::program(const std::string &command) {
  TALLY_CHECK(open(command));
  if (program_->layout().has_counters())
    return &*program_;
  const bool is_core = front.target.target == TargetKind::core;
  Error why = live::no_objects(*program_, is_core ? "this core file" : "this process", is_core);
  why.source = command;
  return fail(std::move(why));
}

std::string CoverageGroup::remarks() const {
  return unloaded_text(*program_) + warning_lines(program_->findings());
}

Result<std::vector<ObjectFiles>> CoverageGroup::objects(const std::string &command) {
  TALLY_TRY(live, program(command));
  const auto snapshot = live->snapshot();
  TALLY_CHECK(check_memory());
  if (!snapshot)
    return fail(ErrorCode::io, "the program's counters cannot be read", command);
  auto read = live->objects({*snapshot, {}}, notes());
  TALLY_CHECK(check_memory());
  return read;
}

Result<std::vector<std::string>> CoverageGroup::raw_profiles(const std::string &command) {
  TALLY_CHECK(open(command));
  std::vector<std::string> profiles;
  for (const live::LoadedModule &module : program_->modules())
    if (module.places.is_source_based()) {
      auto bytes = live::raw_profile(module, program_->source().memory());
      TALLY_CHECK(check_memory());
      TALLY_TRY(read, std::move(bytes));
      profiles.push_back(std::move(read));
    }
  if (profiles.empty())
    return fail(ErrorCode::no_data,
                "nothing in this program was compiled with -fprofile-instr-generate "
                "-fcoverage-mapping",
                command);
  return profiles;
}

Result<std::shared_ptr<const CounterMark>> CoverageGroup::counters(const std::string &command) {
  TALLY_TRY(live, program(command));
  auto taken = live->snapshot();
  TALLY_CHECK(check_memory());
  if (!taken)
    return fail(ErrorCode::io, "the program's counters cannot be read", command);
  auto threads = front.ask(&Debugger::stacks);
  if (!threads)
    return fail(error_about(command, ErrorCode::unsupported, std::move(threads.error()),
                            "the stacks of the threads are not known: "));
  return std::make_shared<const CounterMark>(
      CounterMark{live->generation(), live->loaded(), std::move(*taken), std::move(*threads)});
}

// Returns the mark that `since` names; null if it is empty.
Result<std::shared_ptr<const CounterMark>> CoverageGroup::before(const std::string &command,
                                                                 std::string_view since) {
  const auto refused = [&](std::string why) {
    return fail(ErrorCode::no_data, std::move(why), command);
  };
  std::shared_ptr<const CounterMark> out;
  if (since.empty())
    return out;
  out = since == "mark" ? mark : stop_before;
  if (!out && since == "mark")
    return refused("no mark in this process: coverage mark");
  if (!out && resumed_unseen)
    return refused("the stop before this one is not known, because no command of the debugger "
                   "resumed the program (an editor or a script did): enter 'coverage mark' at a "
                   "stop, and use --since mark at a later one");
  if (!out)
    return refused(last_stop
                       ? "only one stop was marked until now"
                       : fmt::format("no stop was marked until now: auto-mark is {}", auto_mark()));
  if (out->generation == program_->generation())
    return out;
  // A module was loaded or unloaded since.
  return std::make_shared<const CounterMark>(
      CounterMark{program_->generation(), out->loaded,
                  program_->carried(out->snapshot, out->loaded), out->threads});
}

void CoverageGroup::show_progress(const std::string &text) {
  if (const auto shown = front.debugger.progress(text); !shown && is_interrupted(shown.error()))
    throw Interrupt();
}

Result<LiveCoverage> CoverageGroup::coverage(const std::string &command, std::string_view since,
                                             bool only_changed) {
  TALLY_TRY(now, counters(command));
  TALLY_TRY(old, before(command, since));
  if (since == "stop")
    now = last_stop;
  const auto counted = [&]() -> Result<LiveCoverage> {
    try {
      auto out = count(*program_, *now, old.get(), only_changed);
      TALLY_CHECK(check_memory());
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

Result<LiveCoverage> CoverageGroup::count(live::LiveProgram &program, const CounterMark &now,
                                          const CounterMark *before, bool only_changed) {
  LiveCoverage out;
  std::vector<ObjectFiles> old;
  const live::Reading reading{now.snapshot, now.threads};
  std::optional<live::Reading> earlier;
  if (before && program.was_reset(reading, {before->snapshot, before->threads}, notes())) {
    out.remarks += "(counters were reset since the mark: the counts begin there)\n";
    before = nullptr;
  }
  if (before)
    earlier.emplace(live::Reading{before->snapshot, before->threads});
  if (earlier)
    std::tie(out.objects, old) = program.changed_objects(reading, *earlier, only_changed, notes());
  else
    out.objects = program.objects(reading, notes());
  CollectOptions options;
  out.source_based = program.source_based(reading, earlier ? &*earlier : nullptr);
  TALLY_CHECK(check_memory());
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
