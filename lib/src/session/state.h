// What a session remembers. session.cpp follows the process, commands.cpp does what is typed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include <tally/agent.h>
#include <tally/formats.h>
#include <tally/interrupt.h>
#include <tally/named_profile.h>
#include <tally/sampler.h>
#include <tally/session.h>
#include <tally/symbolization.h>

#include "session/complete.h"
#include "session/options.h"
#include "session/region.h"
#include "session/status.h"

namespace tally {

enum class Backend : uint8_t { perf, agent, interrupt };
std::string_view name_of(Backend backend);

struct StartOptions {
  uint32_t frequency_hz = 1000;
  StackMode stacks = *stack_mode_by_name(default_stack_mode);
  bool wall = false; // the clock that was asked for
  Backend backend = Backend::perf;
  bool chosen = false;            // the backend was named, not left to `auto`
  bool remote = false;            // what is sampled
  std::shared_ptr<Region> region; // null: all of the program
  friend bool operator==(const StartOptions &, const StartOptions &) = default;
};

// What the front is asked to do, and what comes of its answer: "" or why it was not done.
struct Action {
  Request request;
  std::function<Result<Reply>(std::string_view answer)> then; // null: nothing
};

// What a reader of names should know: a file replaced since it ran, a debug file of another build.
std::string warnings_of(const Diagnostics &diagnostics);

// What `status` tells of it, and one line below a table, without its end.
void add_region(const Region &region, std::vector<StatusRow> &rows);
std::string region_footer(const Region &region);

struct Session::State {
  using Then = std::function<Result<Reply>(const StackProfile &)>;
  using Profile = std::shared_ptr<const StackProfile>; // null: there is none
  using Shown = std::variant<const StackProfile *, const CostProfile *>;
  using Show = std::function<Result<Reply>(Shown)>;
  struct Loaded {
    NamedProfile read;
    std::string path;
    std::string program; // that counts of addresses are of; empty: not known
  };

  // The table that rows are named by number from: the last that was shown as text.
  struct ShownReport {
    By by = By::function;
    std::vector<FlatRow> rows;            // those that were shown
    Profile sampled;                      // what it was drawn from: this,
    std::shared_ptr<const Loaded> loaded; // or that
    int32_t pid = 0;                      // of the process that was sampled
    SampleFilter wanted{};                // the samples that were shown
  };

  State();

  // session.cpp
  Result<Reply> event(const DebugEvent &event);
  uint64_t event_time() const; // never before the change before it
  Result<void> name_frozen();
  // The sampler of what is there now: it begins a profile, or goes on with the one there is.
  void adopt(std::unique_ptr<Sampler> started);
  // `tell`: of an end that nothing else shows.
  Result<Reply> end_sampling(std::string_view trigger, bool tell = false);
  void end_part(std::string_view trigger);
  void note_resume();
  void note_stop();
  SamplerStatus sums();
  // Calls `then` with all that was collected, named; over as many requests as it takes.
  // It may be called after the command is gone: it holds values, no views into that.
  Result<Reply> with_names(Then then);
  Result<Reply> pump();
  Result<Reply> finish_names();
  void forget(); // what was collected; sampling goes on
  // Answers what is requested with nothing, to the end.
  Result<void> finish_requests(Reply reply);
  Result<Reply> answer(std::span<const std::string> answers);
  void use_answer(uint64_t address, std::string_view answer);
  Result<Reply> cancel();
  void give_up();
  Result<void> set(std::string_view name, std::string_view value);
  // What is yet to be asked of the front comes before the end of a command or an event.
  Result<Reply> settle(Result<Reply> reply);

  // backends.cpp: which way of sampling, and its beginning and end
  Result<void> check_target() const;        // refuses what cannot be sampled at all
  Result<Reply> begin(StartOptions wanted); // `auto` tries one after the other
  Result<Reply> try_next();
  Result<Reply> refused(Error why);     // the one that is tried: an error, or the next is tried
  void pass_over(std::string_view why); // notes why options.backend was not taken
  void ask(RequestKind kind);           // the front, later; whatever it answers
  Result<Reply> begun();                // the one that is tried works
  Result<void> prepare_perf();
  Result<Reply> prepare_agent();
  Result<Reply> prepare_interrupt();
  Result<Reply> begin_armed();          // a process has come
  Result<Reply> follow_sampler();       // at a stop: does it still work?
  void end_requests(bool process_gone); // what the front was asked for is undone
  Result<Reply> tick(std::span<const ThreadStack> stacks);

  // commands.cpp
  Result<Reply> run(const ParsedCommand &command);
  Result<Reply> start(const ParsedCommand &command);
  Result<Reply> stop(const ParsedCommand &command);
  Result<Reply> status(const ParsedCommand &command);
  std::vector<StatusRow> status_rows();
  Result<Reply> dump(const ParsedCommand &command);
  Result<Reply> diff(const ParsedCommand &command);
  Result<Reply> clear(const ParsedCommand &command);
  Result<Reply> config(const ParsedCommand &command);
  Result<Reply> histogram(const ParsedCommand &command);  // histogram.cpp
  Result<Reply> set_region(const ParsedCommand &command); // region_command.cpp
  Result<Reply> begin_region(std::shared_ptr<Region> region);
  uint64_t region_hit(const RegionHit &hit);
  StartOptions options_of(const ParsedCommand &command) const; // and of the settings

  // places.cpp: from a row of a report to the code
  void remember(FlatTable table, uint32_t limit, SampleFilter wanted);
  Result<Reply> break_at(const ParsedCommand &command);
  Result<Reply> list(const ParsedCommand &command);
  Result<std::vector<std::string>> place_words(const ParsedCommand &command) const;
  Result<Reply> show_place(const ParsedCommand &command, RequestKind kind);

  // code.cpp
  Result<Reply> annotate_code(const ParsedCommand &command);

  // views.cpp
  Result<Reply> report(const ParsedCommand &command);
  Result<Reply> tree(const ParsedCommand &command);
  Result<Reply> annotate(const ParsedCommand &command);
  Result<Reply> load(const ParsedCommand &command);
  // What was loaded, else with_samples(); of it what the command's --thread and --part take.
  Result<Reply> with_shown(const ParsedCommand &command, Show show);
  std::string footer(); // of what is shown
  std::string footer_line(const std::string &text) const;
  std::string user_code_footer();
  std::string wall_time_footer();
  Symbolizer &names();
  int live_pid() const; // of the process that is shown; 0: it is gone, or what is shown was loaded
  // For complete_words(): what needs no looking up.
  std::vector<std::string> words_of(std::string_view kind) const;
  // with_names(), refused where no sample was collected.
  Result<Reply> with_samples(const ParsedCommand &command, Then then);
  std::string why_no_samples(); // as far as it is known
  std::string state_words(bool process_gone) const;
  std::string sampling_words() const; // "perf, 1000 Hz of CPU time, stacks by frame pointers"
  std::string clock_words(const SamplerStatus &now, const AgentFacts &facts) const;

  std::map<std::string, std::string, std::less<>> settings;

  uint32_t width = 80; // of the terminal
  Style style;         // none where nobody looks at a terminal
  DisassemblyFlavor flavor = DisassemblyFlavor::att;
  DebugEvent target; // the newest that a front told
  StartOptions options;
  std::vector<Backend> to_try;     // options.backend and what comes after it
  std::vector<std::string> passed; // by `auto`: "perf: refused …"
  bool user_code_only = false;     // perf may not sample the kernel, as it was last tried
  bool armed = false;              // `start` was given, `stop` not yet
  bool region_asked = false;       // the front tells of hits
  const std::shared_ptr<StopPlaces> passed_stops = std::make_shared<StopPlaces>();
  InterruptClock clock; // before the sampler that uses it
  std::unique_ptr<Sampler> sampler;
  AgentSampler *agent = nullptr;           // the sampler, where it is one
  AgentFacts agent_facts;                  // of the newest that ended
  InterruptSampler *interrupts = nullptr;  // the same
  std::unique_ptr<AgentSampler> preloaded; // waits for the next run
  std::optional<bool> interrupting;        // the front has been asked to; of a remote process?
  int32_t given_up_pid = 0;                // the agent has ended there: it is not begun with again
  bool signals_changed = false;            // by the front, on our request
  int32_t sampled_pid = 0;                 // of the newest sampler
  std::string sampled_command;
  StartOptions sampled_options;

  bool running = false;       // the process runs, and is sampled
  uint64_t changed_at_ns = 0; // when `running` last changed
  uint64_t event_ns = 0;      // when the event happened that is being told; 0: now
  uint64_t running_ns = 0;    // of this profile, up to then
  uint64_t stopped_ns = 0;

  SamplerStatus done;                   // sums over samplers that ended, of this profile
  Profile frozen;                       // what an ended sampler collected, waiting for names
  Profile kept;                         // what ended samplers collected, named
  Profile named;                        // all there is, named; valid until the process runs on
  Profile previous;                     // of the run before, named
  std::shared_ptr<const Loaded> loaded; // shown in place of these; until the process runs on
  std::optional<ShownReport> shown_report;

  std::unique_ptr<Symbolizer> symbolizer; // one a run: files may be built anew in between
  Diagnostics diagnostics;
  std::unique_ptr<Symbolization> job;
  bool asked_debugger = false;
  std::map<uint64_t, std::string> told; // the debugger's answers, by address, of this process
  Then then;

  int interrupt_signal = 0;     // that the front was asked for; 0: as Ctrl-C
  std::vector<uint64_t> naming; // what tick() has asked the names of

  std::deque<Action> todo;
  std::optional<Action> doing;
  std::string said;            // by what has been done, of this command or event
  std::optional<Error> failed; // the same
};

} // namespace tally
