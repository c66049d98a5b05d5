#include "session/coverage_group.h"

#include <algorithm>
#include <charconv>
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

// Parses the answer to RequestKind::stacks: a line "TID PC PC …" for each thread, in hexadecimal
// but for the first. Returns nothing if the answer is a reason in place of stacks.
std::optional<std::vector<live::StoppedThread>> parse_stacks(std::string_view answer) {
  std::vector<live::StoppedThread> threads;
  while (!answer.empty()) {
    const size_t end = std::min(answer.find('\n'), answer.size());
    std::string_view line = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    live::StoppedThread &thread = threads.emplace_back();
    const char *at = line.data(), *const last = line.data() + line.size();
    auto parsed = std::from_chars(at, last, thread.tid);
    if (parsed.ec != std::errc{})
      return std::nullopt;
    for (at = parsed.ptr; at < last; at = parsed.ptr) {
      uint64_t pc = 0;
      if (*at != ' ' || (parsed = std::from_chars(at + 1, last, pc, 16)).ec != std::errc{})
        return std::nullopt;
      thread.pcs.push_back(pc);
    }
  }
  return threads;
}

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

std::optional<std::string> from_hex(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.empty() || text.size() % 2 != 0)
    return std::nullopt;
  std::string out(text.size() / 2, '\0');
  for (size_t i = 0; i < out.size(); ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return std::nullopt;
    out[i] = static_cast<char>(high * 16 + low);
  }
  return out;
}

std::vector<std::optional<std::string>> from_hex_lines(std::string_view text) {
  std::vector<std::optional<std::string>> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.push_back(from_hex(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

} // namespace

CoverageGroup::CoverageGroup(Front &shared_front)
    : front(shared_front), settings(coverage_table()) {}

Result<Reply> CoverageGroup::event(const DebugEvent &event) {
  switch (event.kind) {
  case EventKind::target:
    if (program_ && opened_ != opened_for(event))
      forget_program();
    break;
  case EventKind::resumed:
    resumed_unseen = event.text == "unseen" && (last_stop || resumed_unseen);
    if (event.text == "unseen") // the program may have stopped meanwhile
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
  return Reply{};
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
  if (!open_local() || !counted_program("coverage"))
    return;
  const auto began = std::chrono::steady_clock::now(); // the layout is known now
  static_cast<void>(with_counters(
      "coverage",
      [this, began, previous = std::move(previous)](
          Result<std::shared_ptr<const CounterMark>> now) -> Result<Reply> {
        const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
        mark_times_.newest_ns = static_cast<uint64_t>(took.count());
        mark_times_.slow = took > longest_mark ? mark_times_.slow + 1 : 0;
        if (now) {
          stop_before = previous;
          last_stop = std::move(*now);
        }
        return Reply{};
      }));
}

std::vector<std::string> CoverageGroup::words_of(std::string_view kind) const {
  return kind == "FUNCTION" ? functions_ : std::vector<std::string>();
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

Result<void> CoverageGroup::open_reported(const std::string &command, std::string_view modules) {
  if (!modules.starts_with("core ") && !modules.starts_with("module "))
    return fail(ErrorCode::unsupported,
                fmt::format("the modules of the program are not known: {}",
                            modules.empty() ? "the debugger names none" : modules),
                command);
  const bool is_core = modules.starts_with("core ");
  std::string_view path = is_core ? modules.substr(5) : std::string_view();
  path = path.substr(0, path.find('\n'));
  if (program_ && is_core) // core files of containers have the same pids
    if (const auto opened = program_->source().state_of_modules(); !opened || *opened != path)
      forget_program();
  if (program_ && is_core == !by_debugger_) {
    if (by_debugger_)
      by_debugger_->set_modules(modules);
  } else if (is_core) {
    TALLY_TRY(source, live::core_source(std::string(path), front.target.program));
    program_.emplace(std::move(source));
    by_debugger_ = nullptr;
  } else {
    auto source = live::debugger_source();
    by_debugger_ = source.get();
    by_debugger_->set_modules(modules);
    program_.emplace(std::move(source));
  }
  opened_ = opened_for(front.target);
  if (by_debugger_)
    by_debugger_->forget();
  return {};
}

Result<live::LiveProgram *> CoverageGroup::counted_program(const std::string &command) {
  if (!program_)
    return fail(ErrorCode::bad_state, "the program is gone", command);
  TALLY_CHECK(program_->refresh(notes()));
  if (program_->layout().has_counters())
    return &*program_;
  const bool is_core = front.target.target == TargetKind::core;
  Error why = live::no_objects(*program_, is_core ? "this core file" : "this process", is_core);
  why.source = command;
  return fail(std::move(why));
}

Result<Reply> CoverageGroup::with_program(const std::string &command, ThenProgram then) {
  return with_open_program(
      command, [this, command, then = std::move(then)](Result<void> opened) -> Result<Reply> {
        TALLY_CHECK(std::move(opened));
        return then(counted_program(command));
      });
}

Result<Reply> CoverageGroup::with_objects(const std::string &command, const ThenObjects &then) {
  return with_program(
      command, [this, command, then](Result<live::LiveProgram *> live) -> Result<Reply> {
        TALLY_CHECK(std::move(live));
        auto objects = std::make_shared<std::vector<ObjectFiles>>();
        return with_memory(
            [this, command, objects]() -> Result<void> {
              const auto snapshot = program_->snapshot();
              if (!snapshot)
                return fail(ErrorCode::io, "the program's counters cannot be read", command);
              *objects = program_->objects({*snapshot, {}}, notes());
              return {};
            },
            [this, objects, then](Result<void> done) -> Result<Reply> {
              TALLY_CHECK(std::move(done));
              return then(*objects, unloaded_text(*program_) + warning_lines(program_->findings()));
            });
      });
}

Result<Reply> CoverageGroup::with_raw_profiles(const std::string &command, ThenProfiles then) {
  return with_open_program(
      command, [this, command, then = std::move(then)](Result<void> opened) -> Result<Reply> {
        TALLY_CHECK(std::move(opened));
        auto profiles = std::make_shared<std::vector<std::string>>();
        return with_memory(
            [this, command, profiles]() -> Result<void> {
              profiles->clear();
              for (const live::LoadedModule &module : program_->modules())
                if (module.places.is_source_based()) {
                  TALLY_TRY(bytes, live::raw_profile(module, program_->source().memory()));
                  profiles->push_back(std::move(bytes));
                }
              return profiles->empty() ? fail(ErrorCode::no_data,
                                              "nothing in this program was compiled with "
                                              "-fprofile-instr-generate -fcoverage-mapping",
                                              command)
                                       : Result<void>();
            },
            [profiles, then](Result<void> done) -> Result<Reply> {
              TALLY_CHECK(std::move(done));
              return then(std::move(*profiles));
            });
      });
}

// Opens the program, and finds its modules.
Result<Reply> CoverageGroup::with_open_program(const std::string &command, ThenStep then) {
  const bool is_local = front.target.target == TargetKind::native;
  if (front.target.target == TargetKind::none || (is_local && front.target.pid == 0))
    return fail(ErrorCode::bad_state, "no process: run the program, or open a core file", command);
  const auto refresh = [this] { return program_->refresh(notes()); };
  if (is_local) {
    if (auto opened = open_local(); !opened)
      return fail(opened.error().code, opened.error().message, command);
    return then(refresh());
  }
  front.actions.push(
      {RequestKind::modules, {}, {}},
      [this, command, refresh, then = std::move(then)](std::string_view answer) -> Result<Reply> {
        TALLY_CHECK(open_reported(command, answer));
        return with_memory(refresh, then);
      });
  return Reply{};
}

Result<Reply> CoverageGroup::with_memory(Step step, ThenStep then, uint32_t rounds) {
  constexpr uint32_t most_rounds = 4096; // more mean that the answers do not help
  Result<void> done = step();
  if (!by_debugger_)
    return then(std::move(done));
  const std::vector<live::AddressRange> wanted = by_debugger_->take_wanted();
  if (wanted.empty())
    return then(std::move(done));
  if (rounds == most_rounds)
    return then(fail(ErrorCode::io, "the program's memory cannot be read"));
  Request request{RequestKind::memory, {}, {}};
  for (const live::AddressRange &range : wanted)
    request.addresses.insert(request.addresses.end(), {range.low, range.high});
  answered_.reset();
  front.actions.push(std::move(request),
                     [this, wanted, step = std::move(step), then = std::move(then),
                      rounds](std::string_view answer) -> Result<Reply> {
                       auto contents = std::exchange(answered_, std::nullopt);
                       if (!by_debugger_)
                         return then(fail(ErrorCode::io, "the program is gone"));
                       if (!contents)
                         contents = from_hex_lines(answer);
                       contents->resize(wanted.size());
                       for (size_t i = 0; i < wanted.size(); ++i)
                         by_debugger_->give(wanted[i], std::move((*contents)[i]));
                       return with_memory(step, then, rounds + 1);
                     });
  return Reply{};
}

Result<Reply> CoverageGroup::with_counters(const std::string &command, const ThenMark &then) {
  const auto with_stacks = [this, command,
                            then](const std::shared_ptr<CounterMark> &now) -> Result<Reply> {
    front.actions.push(
        {RequestKind::stacks, {}, {}},
        [this, now, command, then](std::string_view answer) -> Result<Reply> {
          if (!program_) // an event may come before the answer
            return then(fail(ErrorCode::bad_state, "the program is gone", command));
          auto threads = parse_stacks(answer);
          if (!threads)
            return then(fail(ErrorCode::unsupported,
                             fmt::format("the stacks of the threads are not known: {}", answer),
                             command));
          now->threads = std::move(*threads);
          return then(std::shared_ptr<const CounterMark>(now));
        });
    return Reply{};
  };
  return with_program(
      command, [this, command, with_stacks](Result<live::LiveProgram *> live) -> Result<Reply> {
        TALLY_CHECK(std::move(live));
        auto taken = std::make_shared<std::optional<live::CounterSnapshot>>();
        return with_memory(
            [this, taken]() -> Result<void> {
              *taken = program_->snapshot();
              return {};
            },
            [this, command, taken, with_stacks](Result<void> done) -> Result<Reply> {
              TALLY_CHECK(std::move(done));
              if (!*taken)
                return fail(ErrorCode::io, "the program's counters cannot be read", command);
              return with_stacks(std::make_shared<CounterMark>(
                  CounterMark{program_->generation(), program_->loaded(), std::move(**taken), {}}));
            });
      });
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

Result<Reply> CoverageGroup::with_coverage(const std::string &command, std::string since, Then then,
                                           bool only_changed) {
  return with_counters(
      command,
      [this, command, since = std::move(since), then = std::move(then),
       only_changed](Result<std::shared_ptr<const CounterMark>> read) -> Result<Reply> {
        TALLY_TRY(now, std::move(read));
        TALLY_TRY(old, before(command, since));
        if (since == "stop")
          now = last_stop;
        auto shown = std::make_shared<std::optional<LiveCoverage>>();
        return with_memory(
            [this, now, old, shown, only_changed]() -> Result<void> {
              TALLY_TRY(counted, count(*program_, *now, old.get(), only_changed));
              *shown = std::move(counted);
              return {};
            },
            [command, old, shown, then](Result<void> done) -> Result<Reply> {
              TALLY_CHECK(std::move(done));
              if ((*shown)->coverage.files.empty() && !old)
                return fail(ErrorCode::no_data,
                            (*shown)->remarks.empty()
                                ? "no source of the program has counts"
                                : (*shown)->remarks.substr(0, (*shown)->remarks.find('\n')),
                            command);
              return then(**shown);
            });
      });
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
  options.given_source_based = out.source_based;
  out.root = common_directory(out.objects, out.source_based);
  Diagnostics findings = program.findings();
  options.root = out.root;
  options.threads = std::max(1u, std::thread::hardware_concurrency());
  std::ranges::copy_if(out.objects, std::back_inserter(options.given), has_notes);
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
