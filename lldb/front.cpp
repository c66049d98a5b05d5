#include "front.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include "commands.h"
#include "interpreter.h"
#include "performer.h"
#include "source_view.h"

namespace tally_lldb {

namespace {

// The front ends by the debugger's id. They are never destroyed, because LLDB keeps pointers into
// them.
struct Fronts {
  std::mutex mutex;
  std::map<lldb::user_id_t, std::shared_ptr<Front>> by_debugger;
};

Fronts &fronts() {
  static Fronts *const all = new Fronts;
  return *all;
}

// Joins all threads of the plug-in. No thread may exist when LLDB's process exits.
void close_all() {
  const std::lock_guard lock(fronts().mutex);
  for (const auto &[id, front] : fronts().by_debugger)
    front->close();
}

// Defines the abbreviation `pro` of `process`, which the command `profile` makes ambiguous.
void keep_abbreviation(lldb::SBDebugger &debugger) {
  lldb::SBCommandInterpreter interpreter = debugger.GetCommandInterpreter();
  if (interpreter.AliasExists("pro") || interpreter.CommandExists("pro"))
    return;
  interpret(debugger, "command alias pro process");
}

// LLDB has only one setting, use-color. The colours here are those of LLDB's frame format.
void set_display(Session &session, lldb::SBDebugger &debugger) {
  const std::string flavor = disassembly_flavor(debugger);
  tally_display display{};
  display.flavor = flavor.c_str();
  if (is_terminal(debugger)) {
    display.width = debugger.GetTerminalWidth();
    if (debugger.GetUseColor()) {
      display.function = display.address = "\033[33m";
      display.filename = display.variable = "\033[36m";
      display.title = "\033[1m";
      display.highlight = "\033[31m";
      display.metadata = "\033[2m";
    }
  }
  session.set_display(display);
}

} // namespace

bool load(lldb::SBDebugger &debugger) noexcept {
  try {
    const std::lock_guard lock(fronts().mutex);
    if (fronts().by_debugger.contains(debugger.GetID()))
      return true;
    std::string why;
    if (!load_library(why)) {
      print_error(debugger, "Tally is not loaded: " + why + "\n");
      return false;
    }
    if (fronts().by_debugger.empty())
      std::atexit(close_all);
    const auto front = std::make_shared<Front>();
    keep_abbreviation(debugger);
    register_commands(debugger, front);
    fronts().by_debugger.emplace(debugger.GetID(), front);
    front->connect(debugger);
    return true;
  } catch (...) {
    return false; // LLDB then reports that the plug-in could not be loaded
  }
}

Front::Front() : inferior_(session_) {}

void Front::connect(lldb::SBDebugger &debugger) { inferior_.connect(debugger); }

void Front::close() noexcept {
  try {
    inferior_.close();
    session_.close();
  } catch (...) {
  }
}

namespace {

std::string name_of(lldb::SBTarget &target) {
  const char *const name = target.GetExecutable().GetFilename();
  return name ? name : "without a program";
}

// Returns that another target is selected than that of the process whose profile is shown; empty if
// it is not.
std::string other_target_note(lldb::SBDebugger &debugger, Session &session) {
  lldb::SBTarget selected = debugger.GetSelectedTarget();
  const int32_t shown = session.last_sampled_pid();
  if (shown == 0 || static_cast<int32_t>(selected.GetProcess().GetProcessID()) == shown)
    return {};
  for (uint32_t i = 0; i < debugger.GetNumTargets(); ++i) {
    lldb::SBTarget target = debugger.GetTargetAtIndex(i);
    if (target == selected || static_cast<int32_t>(target.GetProcess().GetProcessID()) != shown)
      continue;
    return "(the profile is that of target #" + std::to_string(i) + ", " + name_of(target) +
           ", process " + std::to_string(shown) + "; the selected target, " + name_of(selected) +
           ", is not sampled)\n";
  }
  return {};
}

// Returns whether the command shows what was collected of a process, even after its end.
bool shows_profile(const std::string &command) {
  return command != "start" && command != "config" && command != "load" && command != "clear" &&
         command != "region";
}

} // namespace

void Front::run(lldb::SBDebugger &debugger, const std::string &group, const std::string &name,
                char **words, lldb::SBCommandReturnObject &result) {
  std::unique_lock lock(inferior_.mutex(), std::defer_lock);
  // An editor's stop commands take milliseconds, and are waited for. The other thread may wait for
  // what this one holds, so that this one gives up after a third of a second.
  constexpr int most_tries = 60;
  for (int tries = 0; !lock.try_lock(); ++tries) {
    if (tries == most_tries) {
      result.SetError(
          (group + ": another thread of LLDB runs a command of Tally: try again").c_str());
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::string line = name;
  bool is_json = false;
  for (char **word = words; word && *word; ++word) {
    line += " " + as_word(*word);
    is_json = is_json || std::string_view(*word) == "--json";
  }
  if (group == "coverage")
    inferior_.report_all_stops();
  Inferior::News news = inferior_.look(debugger);
  set_display(session_, debugger);
  Outcome outcome;
  {
    LldbPerformer performer(debugger, session_.sampled_pid(), inferior_.actions(), true);
    outcome = session_.command(group, line, performer);
    news.text += performer.said();
  }
  if (group == "profile" && name == "load" && outcome.ok())
    session_.forget_last_sampled(); // a file is shown from now on
  if (group == "profile" && (session_.sampled_pid() != 0 || shows_profile(name)))
    news.errors += other_target_note(debugger, session_);
  const Inferior::News more = inferior_.follow(debugger);
  print_error(debugger, news.errors + more.errors);
  if (is_json) // only the document may be there
    print_error(debugger, news.text + more.text);
  else
    outcome.text = news.text + outcome.text + more.text;
  if (!outcome.text.empty())
    result.Printf("%s", outcome.text.c_str());
  if (outcome.ok()) {
    result.SetStatus(lldb::eReturnStatusSuccessFinishResult);
  } else if (debugger.GetCommandInterpreter().WasInterrupted()) {
    print_error(debugger, "error: " + outcome.error + "\n"); // LLDB 14 and 16 drop result's error
    result.SetStatus(lldb::eReturnStatusFailed);
  } else {
    result.SetError(outcome.error.c_str());
  }
}

} // namespace tally_lldb
