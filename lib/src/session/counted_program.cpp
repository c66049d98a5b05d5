#include "session/counted_program.h"

#include <utility>

#include <fmt/format.h>

#include "collect/proc_info.h"
#include "live/raw_profile.h"

namespace tally {

// Returns what distinguishes the program that an event is about from another.
static std::string opened_for(const DebugEvent &event) {
  return fmt::format("{} {}", static_cast<int>(event.target), event.pid);
}

void CountedProgram::forget_other(const DebugEvent &event) {
  if (program_ && opened_ != opened_for(event))
    forget();
}

void CountedProgram::forget() {
  program_.reset();
  by_debugger_ = nullptr;
  marks_.forget_program();
}

live::NotesCache &CountedProgram::notes() {
  notes_.set_place(std::string(settings_.value("notes")));
  return notes_;
}

Result<void> CountedProgram::open_local() {
  const pid_t pid = front_.target.pid;
  const auto status = process_status(std::to_string(live::thread_with_memory(pid)));
  if (status && status->state != 't' && status->state != 'T') // LLDB does not report every resume
    return fail(ErrorCode::bad_state, "the program is running; interrupt it first");
  if (program_)
    return {};
  TALLY_TRY(source, live::process_source(pid));
  program_.emplace(std::move(source));
  opened_ = opened_for(front_.target);
  return {};
}

Result<void> CountedProgram::open_reported(Debugger::LoadedFiles files) {
  const bool is_core = !files.core.empty();
  if (program_ && is_core) // core files of containers have the same pids
    if (const auto opened = program_->source().state_of_modules(); !opened || *opened != files.core)
      forget();
  if (program_ && is_core == (by_debugger_ != nullptr))
    forget();
  if (!program_ && is_core) {
    TALLY_TRY(source, live::core_source(files.core, front_.target.program));
    program_.emplace(std::move(source));
  } else if (!program_) {
    auto source = live::debugger_source([this](const live::AddressRange &range) {
      auto content = front_.debugger.memory(range);
      if (!content)
        content.error() = error_about("", ErrorCode::unsupported, std::move(content.error()),
                                      "the program's memory cannot be read: ");
      return content;
    });
    by_debugger_ = source.get();
    program_.emplace(std::move(source));
  }
  opened_ = opened_for(front_.target);
  if (by_debugger_) {
    by_debugger_->set_modules(std::move(files.sections));
    by_debugger_->forget();
  }
  return {};
}

Result<void> CountedProgram::find_modules(const std::string &command) {
  const bool is_local = front_.target.target == TargetKind::native;
  if (front_.target.target == TargetKind::none || (is_local && front_.target.pid == 0))
    return fail(ErrorCode::bad_state, "no process: run the program, or open a core file", command);
  if (is_local) {
    if (auto opened = open_local(); !opened)
      return fail(opened.error().code, opened.error().message, command);
  } else {
    auto files = front_.ask(&Debugger::modules);
    if (files && files->core.empty() && files->sections.empty())
      files = fail(ErrorCode::unsupported, "the debugger names none");
    if (!files)
      return fail(error_about(command, ErrorCode::unsupported, std::move(files.error()),
                              "the modules of the program are not known: "));
    TALLY_CHECK(open_reported(std::move(*files)));
  }
  return program_->refresh(notes());
}

Result<live::LiveProgram *> CountedProgram::open(const std::string &command) {
  TALLY_CHECK(find_modules(command));
  if (program_->layout().has_counters())
    return &*program_;
  const bool is_core = front_.target.target == TargetKind::core;
  Error why = live::no_objects(*program_, is_core ? "this core file" : "this process", is_core);
  why.source = command;
  return fail(std::move(why));
}

Result<std::vector<ObjectFiles>> CountedProgram::objects(const std::string &command) {
  TALLY_TRY(live, open(command));
  const auto snapshot = live->snapshot();
  TALLY_CHECK(check_memory());
  if (!snapshot)
    return fail(ErrorCode::io, "the program's counters cannot be read", command);
  auto read = live->objects({*snapshot, {}}, notes());
  TALLY_CHECK(check_memory());
  return read;
}

Result<std::vector<std::string>> CountedProgram::raw_profiles(const std::string &command) {
  TALLY_CHECK(find_modules(command));
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

Result<CounterMarkPtr> CountedProgram::counters(const std::string &command) {
  TALLY_TRY(live, open(command));
  return counters_of(*live, command);
}

Result<CounterMarkPtr> CountedProgram::counters_of(live::LiveProgram &program,
                                                   const std::string &command) {
  auto taken = program.snapshot();
  TALLY_CHECK(check_memory());
  if (!taken)
    return fail(ErrorCode::io, "the program's counters cannot be read", command);
  auto threads = front_.ask(&Debugger::stacks);
  if (!threads)
    return fail(error_about(command, ErrorCode::unsupported, std::move(threads.error()),
                            "the stacks of the threads are not known: "));
  return std::make_shared<const CounterMark>(
      CounterMark{program.generation(), program.loaded(), std::move(*taken), std::move(*threads)});
}

} // namespace tally
