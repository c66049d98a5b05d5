#include "session/coverage_group.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collect/proc_info.h"
#include "session/command_help.h"
#include "session/coverage_table.h"
#include "support/path.h"

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

// Returns the deepest directory that contains all sources of the objects, except those below /usr.
std::string common_directory(std::span<const ObjectFiles> objects) {
  std::optional<fs::path> common;
  for (const ObjectFiles &object : objects) {
    if (!object.live->notes)
      continue;
    const CoverageGraph &graph = object.live->notes->graph;
    for (const GraphFunction &function : graph.functions) {
      fs::path path =
          fs::path(graph.strings[graph.working_directory]) / graph.strings[function.file];
      path = path.lexically_normal();
      if (path.is_relative() || path.string().starts_with("/usr/"))
        continue;
      const fs::path folder = path.parent_path();
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
  }
  return common && fs::is_directory(*common) ? common->string() : "/";
}

std::string function_and_line(const ObjectFiles &object, const OpenFrame &frame) {
  const CoverageGraph &graph = object.live->notes->graph;
  return fmt::format("{} ({}:{})", graph.strings[graph.functions[frame.function].name],
                     base_name(frame.file), frame.line);
}

// Says which functions threads are in, and how many lines are uncertain for that reason.
std::string uncertain_remark(const LiveCoverage &shown) {
  size_t lines = 0;
  for (const FileCoverage &file : shown.coverage.files)
    lines += static_cast<size_t>(std::ranges::count_if(
        file.lines, [](const LineCoverage &line) { return line.uncertain != 0; }));
  std::vector<std::string> places;
  for (const ObjectFiles &object : shown.objects)
    for (const OpenFrame &frame : object.live->frames)
      if (std::string text = function_and_line(object, frame);
          std::ranges::find(places, text) == places.end())
        places.push_back(std::move(text));
  if (lines == 0 || places.empty())
    return {};
  constexpr size_t most = 3;
  const size_t all = places.size();
  places.resize(std::min(all, most));
  return fmt::format("({} uncertain, because a thread is in {}{})\n",
                     lines == 1 ? "1 line is" : fmt::format("{} lines are", lines),
                     fmt::join(places, ", "),
                     all > most ? fmt::format(" and {} more", all - most) : "");
}

std::string warning_lines(const Diagnostics &findings) {
  std::string out;
  for (const Finding &finding : findings.findings())
    if (finding.severity != Severity::note)
      out += finding.text() + "\n";
  return out;
}

} // namespace

CoverageGroup::CoverageGroup(Front &shared_front)
    : front(shared_front), settings(coverage_table()) {}

Result<Reply> CoverageGroup::event(const DebugEvent &event) {
  switch (event.kind) {
  case EventKind::target:
    if (event.pid == 0 || (program_ && program_->pid() != event.pid))
      forget_process();
    break;
  case EventKind::resumed:
    if (event.text == "unseen") // the program may have stopped meanwhile
      last_stop = stop_before = nullptr;
    break;
  case EventKind::exited:
  case EventKind::signalled:
  case EventKind::killed:
  case EventKind::detached:
    forget_process();
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

void CoverageGroup::forget_process() {
  program_.reset();
  mark = last_stop = stop_before = nullptr;
  mark_times_ = {};
}

// A single mark may be slow by chance, or because the debugger reads symbols for it.
bool CoverageGroup::marks_are_slow() const { return mark_times_.slow > 1; }

std::string CoverageGroup::auto_mark() const {
  const std::string_view wanted = settings.value("auto-mark");
  if (wanted == "auto" && marks_are_slow())
    return fmt::format("off (the last one took {} ms)", mark_times_.newest_ns / 1'000'000);
  return wanted == "off" ? "off" : "on";
}

// Errors are not shown: most programs have no counters.
void CoverageGroup::make_stop_mark() {
  if (!program("coverage"))
    return;
  const auto began = std::chrono::steady_clock::now(); // the layout is known now
  static_cast<void>(with_counters(
      "coverage", [this, began](Result<std::shared_ptr<const CounterMark>> now) -> Result<Reply> {
        const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
        mark_times_.newest_ns = static_cast<uint64_t>(took.count());
        mark_times_.slow = took > longest_mark ? mark_times_.slow + 1 : 0;
        stop_before = std::exchange(last_stop, now ? std::move(*now) : nullptr);
        return Reply{};
      }));
}

std::vector<std::string> CoverageGroup::words_of(std::string_view kind) const {
  return kind == "FUNCTION" ? functions_ : std::vector<std::string>();
}

Result<live::LiveProgram *> CoverageGroup::program(const std::string &command) {
  const auto refused = [&](std::string why) {
    return fail(ErrorCode::bad_state, std::move(why), command);
  };
  switch (front.target.target) {
  case TargetKind::none:
    return refused("no process: run the program, and stop it");
  case TargetKind::remote:
    return refused("the counters of a remote program cannot be read yet");
  case TargetKind::core:
    return refused("the counters in a core file cannot be read yet");
  case TargetKind::native:
    break;
  }
  if (front.target.pid == 0)
    return refused("no process: run the program, and stop it");
  const auto status = process_status(std::to_string(front.target.pid));
  if (status && status->state != 't' && status->state != 'T') // LLDB does not report every resume
    return refused("the program is running; interrupt it first");
  if (!program_ || program_->pid() != front.target.pid) {
    TALLY_TRY(opened, live::LiveProgram::open(front.target.pid));
    program_ = std::move(opened);
  }
  Diagnostics findings;
  TALLY_CHECK(program_->refresh(findings));
  if (!program_->layout().objects.empty())
    return &*program_;
  for (const live::LoadedModule &module : program_->modules())
    if (module.places.source_based)
      return refused(fmt::format("{} counts source-based (-fprofile-instr-generate), which is not "
                                 "read from memory",
                                 base_name(module.key.path)));
  return fail(ErrorCode::no_data, "nothing in this process was compiled with --coverage", command);
}

live::NotesCache &CoverageGroup::notes() {
  notes_.set_place(std::string(settings.value("notes")));
  return notes_;
}

Result<Reply> CoverageGroup::with_counters(const std::string &command, ThenMark then) {
  TALLY_TRY(live, program(command));
  auto snapshot = live->snapshot();
  if (!snapshot)
    return fail(ErrorCode::io, "the program's counters cannot be read", command);
  auto now =
      std::make_shared<CounterMark>(CounterMark{live->generation(), std::move(*snapshot), {}});
  front.actions.push(
      {RequestKind::stacks, {}, {}},
      [now, command, then = std::move(then)](std::string_view answer) -> Result<Reply> {
        auto threads = parse_stacks(answer);
        if (!threads)
          return then(fail(ErrorCode::unsupported,
                           fmt::format("the stacks of the threads are not known: {}", answer),
                           command));
        now->threads = std::move(*threads);
        return then(std::shared_ptr<const CounterMark>(now));
      });
  return Reply{};
}

Result<Reply> CoverageGroup::with_coverage(const std::string &command, std::string since,
                                           Then then) {
  return with_counters(
      command,
      [this, command, since = std::move(since),
       then = std::move(then)](Result<std::shared_ptr<const CounterMark>> read) -> Result<Reply> {
        TALLY_TRY(now, std::move(read));
        TALLY_TRY(live, program(command));
        std::shared_ptr<const CounterMark> before;
        if (since == "mark") {
          before = mark;
          if (!before)
            return fail(ErrorCode::no_data, "no mark in this process: coverage mark", command);
        } else if (since == "stop") {
          before = stop_before;
          if (!before)
            return fail(ErrorCode::no_data,
                        last_stop ? "only one stop was marked until now"
                                  : fmt::format("no stop was marked until now: auto-mark is {}",
                                                auto_mark()),
                        command);
        }
        if (before && before->generation != live->generation())
          return fail(ErrorCode::no_data,
                      "the mark is of no use: a module was loaded or unloaded since", command);
        if (since == "stop")
          now = last_stop;
        TALLY_TRY(shown, count(*live, *now, before.get()));
        if (shown.coverage.files.empty() && !before)
          return fail(ErrorCode::no_data,
                      shown.remarks.empty() ? "no source of the program has counts"
                                            : one_line(shown.remarks),
                      command);
        return then(shown);
      });
}

Result<LiveCoverage> CoverageGroup::count(live::LiveProgram &program, const CounterMark &now,
                                          const CounterMark *before) {
  LiveCoverage out;
  std::vector<ObjectFiles> old;
  if (before && live::any_is_lower(program.layout(), now.snapshot, before->snapshot)) {
    out.remarks += "(counters were reset since the mark: the counts begin there)\n";
    before = nullptr;
  }
  const live::Reading reading{now.snapshot, now.threads};
  if (before)
    std::tie(out.objects, old) =
        program.changed_objects(reading, {before->snapshot, before->threads}, notes());
  else
    out.objects = program.objects(reading, notes());
  out.root = common_directory(out.objects);
  if (out.objects.empty())
    return out;
  Diagnostics findings;
  CollectOptions options;
  options.root = out.root;
  options.threads = std::max(1u, std::thread::hardware_concurrency());
  options.given = out.objects;
  TALLY_TRY(collected, collect_coverage(options, findings));
  out.coverage = std::move(collected.coverage);
  if (before) {
    Diagnostics ignored; // they are the same
    out.before = old;
    options.given = std::move(old);
    TALLY_TRY(earlier, collect_coverage(options, ignored));
    out.coverage = coverage_since(std::move(out.coverage), earlier.coverage);
  }
  TALLY_CHECK(demangle_names(out.coverage));
  for (const ObjectFiles &object : out.objects)
    for (const OpenFrame &frame : object.live->frames)
      for (const FileCoverage &file : out.coverage.files)
        if (base_name(file.path) == base_name(frame.file))
          out.stopped.emplace(file.path, frame.line);
  functions_.clear();
  for (const FileCoverage &file : out.coverage.files)
    for (const FunctionCoverage &function : file.functions)
      functions_.push_back(function.name);
  out.remarks += uncertain_remark(out) + warning_lines(findings);
  return out;
}

} // namespace tally
