// The state of a session. session.cpp follows the process, commands.cpp executes the commands.
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
  bool wall = false; // wall time was requested, not CPU time
  Backend backend = Backend::perf;
  bool chosen = false;            // the user named the backend; false means `auto`
  bool remote = false;            // the target is remote
  std::shared_ptr<Region> region; // null samples the whole program
  friend bool operator==(const StartOptions &, const StartOptions &) = default;
};

// A request to the front end, and the handler of its answer: "" on success, otherwise the reason.
struct Action {
  Request request;
  std::function<Result<Reply>(std::string_view answer)> then; // null ignores the answer
};

// Returns the warnings that make names doubtful, one per line: a file that was replaced since it
// ran, a debug file of another build.
std::string warnings_of(const Diagnostics &diagnostics);

// Appends the rows that `profile status` shows for a region.
void add_region(const Region &region, std::vector<StatusRow> &rows);
// Returns the line below a table that describes a region, without a newline.
std::string region_footer(const Region &region);

struct Session::State {
  using Then = std::function<Result<Reply>(const StackProfile &)>;
  using Profile = std::shared_ptr<const StackProfile>; // null if there is none
  using Shown = std::variant<const StackProfile *, const CostProfile *>;
  using Show = std::function<Result<Reply>(Shown)>;
  struct Loaded {
    NamedProfile read;
    std::string path;
    std::string program; // the program that address counts belong to; empty if unknown
  };

  // The last table that was shown as text. `profile break` and `profile list` name its rows by
  // number.
  struct ShownReport {
    By by = By::function;
    std::vector<FlatRow> rows;            // the rows that were shown
    Profile sampled;                      // the source of the table, unless a file was loaded
    std::shared_ptr<const Loaded> loaded; // the loaded file; null if the table shows samples
    int32_t pid = 0;                      // the sampled process; 0 for a loaded file
    SampleFilter wanted{};                // selects the samples that were shown
  };

  State();

  // session.cpp
  Result<Reply> event(const DebugEvent &event);
  uint64_t event_time() const; // in ns; never earlier than changed_at_ns
  Result<void> name_frozen();
  // Takes over the sampler of the current process. Continues the current profile if process and
  // options are the same as before, otherwise begins a new one.
  void adopt(std::unique_ptr<Sampler> started);
  // Ends sampling and keeps the profile. `tell` prints a message, for an end that the debugger
  // does not show.
  Result<Reply> end_sampling(std::string_view trigger, bool tell = false);
  void end_part(std::string_view trigger);
  void note_resume();
  void note_stop();
  SamplerStatus sums();
  // Calls `then` with the whole profile after its addresses have names. Looking these up may take
  // several requests, so the call may happen after the command object is gone: `then` must hold
  // values, not views into the command.
  Result<Reply> with_names(Then then);
  Result<Reply> pump();
  Result<Reply> finish_names();
  void forget(); // drops what was collected; sampling continues
  // Answers all requests with nothing until none is left.
  Result<void> finish_requests(Reply reply);
  Result<Reply> answer(std::span<const std::string> answers);
  void use_answer(uint64_t address, std::string_view answer);
  Result<Reply> cancel();
  void give_up();
  Result<void> set(std::string_view name, std::string_view value);
  // Ends a command or an event, after the front end has answered all pending requests.
  Result<Reply> settle(Result<Reply> reply);

  // backends.cpp: selects a backend, begins and ends sampling
  Result<void> check_target() const;        // fails if no backend can sample the target
  Result<Reply> begin(StartOptions wanted); // `auto` tries the backends in turn
  Result<Reply> try_next();
  Result<Reply> refused(Error why);     // fails, or tries the next backend if `auto` chose this
  void pass_over(std::string_view why); // records why options.backend is not used
  void ask(RequestKind kind);           // queues a request whose answer is ignored
  Result<Reply> begun();                // reports that options.backend works
  Result<void> prepare_perf();
  Result<Reply> prepare_agent();
  Result<Reply> prepare_interrupt();
  Result<Reply> begin_armed();          // begins sampling the process that has appeared
  Result<Reply> follow_sampler();       // checks at a stop whether the sampler still works
  void end_requests(bool process_gone); // asks the front end to undo earlier requests
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
  // Returns the options of a command; the settings supply those that it does not give.
  StartOptions options_of(const ParsedCommand &command) const;

  // places.cpp: finds the code of a report's row
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
  // Calls `show` with the loaded profile or, if none is loaded, with that of with_samples(),
  // restricted to the command's --thread and --part.
  Result<Reply> with_shown(const ParsedCommand &command, Show show);
  std::string footer(); // the lines below a table: region, limits and warnings
  std::string footer_line(const std::string &text) const;
  std::string user_code_footer();
  std::string wall_time_footer();
  Symbolizer &names();
  int live_pid() const; // the process that is shown; 0 if it is gone or the profile was loaded
  // Returns the words that complete_words() offers. Uses only names that are looked up already.
  std::vector<std::string> words_of(std::string_view kind) const;
  // Like with_names(), but fails if no sample was collected.
  Result<Reply> with_samples(const ParsedCommand &command, Then then);
  std::string why_no_samples(); // a message with the likely reason
  std::string state_words(bool process_gone) const;
  std::string sampling_words() const; // "perf, 1000 Hz of CPU time, stacks by frame pointers"
  std::string clock_words(const SamplerStatus &now, const AgentFacts &facts) const;

  std::map<std::string, std::string, std::less<>> settings;

  uint32_t width = 80; // the terminal's columns
  Style style;         // empty if the output is not a terminal
  DisassemblyFlavor flavor = DisassemblyFlavor::att;
  DebugEvent target; // the newest event of the front end
  StartOptions options;
  std::vector<Backend> to_try;     // options.backend and the backends to try after it
  std::vector<std::string> passed; // the backends that `auto` skipped: "perf: refused …"
  bool user_code_only = false;     // perf could not sample the kernel when it was last tried
  bool armed = false;              // `start` was given, `stop` not yet
  bool region_asked = false;       // the front end watches a region and reports hits
  const std::shared_ptr<StopPlaces> passed_stops = std::make_shared<StopPlaces>();
  InterruptClock clock; // must outlive the sampler that uses it
  std::unique_ptr<Sampler> sampler;
  AgentSampler *agent = nullptr;           // `sampler` if the backend is agent, otherwise null
  AgentFacts agent_facts;                  // of the newest agent that ended
  InterruptSampler *interrupts = nullptr;  // `sampler` if the backend is interrupt, otherwise null
  std::unique_ptr<AgentSampler> preloaded; // waits for the next run
  // Set while the front end is asked to interrupt the process; true for a remote process.
  std::optional<bool> interrupting;
  int32_t given_up_pid = 0;     // sampling failed or ended in this process and is not tried again
  bool signals_changed = false; // the front end changed signals at our request
  int32_t sampled_pid = 0;      // of the newest sampler
  std::string sampled_command;
  StartOptions sampled_options;

  bool running = false;       // the process runs and is sampled
  uint64_t changed_at_ns = 0; // when `running` last changed
  uint64_t event_ns = 0;      // the time of the event that is being handled; 0 means now
  uint64_t running_ns = 0;    // the profile's running time, up to changed_at_ns
  uint64_t stopped_ns = 0;    // the profile's stopped time, up to changed_at_ns

  SamplerStatus done;                   // sums over this profile's samplers that ended
  Profile frozen;                       // the samples of an ended sampler, not named yet
  Profile kept;                         // the samples of ended samplers, named
  Profile named;                        // the whole profile, named; valid until the next resume
  Profile previous;                     // the profile of the run before, named
  std::shared_ptr<const Loaded> loaded; // shown in place of these, until the next resume
  std::optional<ShownReport> shown_report;

  std::unique_ptr<Symbolizer> symbolizer; // one per run, because a build may replace the files
  Diagnostics diagnostics;
  std::unique_ptr<Symbolization> job;
  bool asked_debugger = false;
  std::map<uint64_t, std::string> told; // the debugger's answers for this process, by address
  Then then;

  int interrupt_signal = 0;     // the signal requested for interrupts; 0 means as Ctrl-C does
  std::vector<uint64_t> naming; // the addresses whose names tick() has requested

  std::deque<Action> todo;
  std::optional<Action> doing;
  std::string said;            // the output of this command or event so far
  std::optional<Error> failed; // the first error of this command or event
};

} // namespace tally
