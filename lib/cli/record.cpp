#include "commands.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "collect/agent.h"
#include "collect/perf_sampler.h"
#include "collect/sampled_events.h"
#include "collect/sampler.h"
#include "collect/unsampled.h"
#include "formats/dot/draw.h"
#include "formats/formats.h"
#include "live_table.h"
#include "profiles.h"
#include "report/value_text.h"
#include "session/sampling_remarks.h"
#include "session/start_options.h"
#include "support/file_io.h"
#include "support/text.h"
#include "transform/sample_filter.h"

namespace tally::cli {

namespace {

// Receives, through a descriptor, the signals that end a recording, so that the samples can still
// be written. A Ctrl-C on the terminal also reaches the program, which is in the same process
// group. SIGPIPE stays blocked until the end, because samples must not be lost if nobody reads our
// messages.
class EndSignals {
public:
  EndSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
      sigaddset(&set, signal);
    fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    sigaddset(&set, SIGPIPE);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
  }
  ~EndSignals() {
    ::close(fd_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  EndSignals(const EndSignals &) = delete;
  int fd() const { return fd_; }
  const sigset_t &before() const { return before_; }
  int take() const {
    signalfd_siginfo info{};
    return ::read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

private:
  int fd_;
  sigset_t before_;
};

// A child process that waits for release() before it executes the program.
class Child {
public:
  // `environment` is the program's environment, terminated by a null pointer.
  static Result<Child> make(const std::vector<std::string> &program, const sigset_t &mask,
                            char *const *environment) {
    Child child;
    std::array<int, 2> go{}, failed{};
    if (::pipe2(go.data(), O_CLOEXEC) != 0 || ::pipe2(failed.data(), O_CLOEXEC) != 0)
      return fail_errno(errno, "cannot make a pipe");
    std::vector<char *> words;
    words.reserve(program.size() + 1);
    for (const std::string &word : program)
      words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    child.pid_ = ::fork();
    if (child.pid_ < 0)
      return fail_errno(errno, "cannot fork");
    if (child.pid_ == 0) {
      ::close(go[1]);
      ::sigprocmask(SIG_SETMASK, &mask, nullptr);
      restore_signals();
      char byte;
      if (::read(go[0], &byte, 1) != 1)
        ::_exit(127); // the recorder gave up
      ::execvpe(words[0], words.data(), environment);
      const int error = errno;
      static_cast<void>(!::write(failed[1], &error, sizeof error));
      ::_exit(127);
    }
    ::close(go[0]);
    ::close(failed[1]);
    child.go_ = go[1];
    child.failed_ = failed[0];
    return child;
  }
  // Lets the child execute the program. Fails if the program cannot be executed.
  Result<void> release(const std::string &name) {
    static_cast<void>(!::write(go_, "g", 1));
    ::close(std::exchange(go_, -1));
    int error = 0;
    const ssize_t got = ::read(failed_, &error, sizeof error);
    ::close(std::exchange(failed_, -1));
    if (got != sizeof error)
      return {};
    ::waitpid(pid_, nullptr, 0);
    return fail(ErrorCode::invalid_argument, fmt::format("cannot run it: {}", strerror(error)),
                name);
  }
  void give_up() {
    ::close(std::exchange(go_, -1));
    ::close(std::exchange(failed_, -1));
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

private:
  pid_t pid_ = 0;
  int go_ = -1, failed_ = -1;
};

// Our own environment, with the variables that make a program load the agent.
class Environment {
public:
  void add(const AgentLaunch &launch) {
    const char *old = std::getenv("LD_PRELOAD");
    words_.push_back("LD_PRELOAD=" + launch.library + (old && *old ? ":" + std::string(old) : ""));
    words_.push_back(launch.variable);
  }
  char *const *pointers() {
    pointers_.clear();
    for (char **word = environ; *word; ++word)
      if (words_.empty() || std::strncmp(*word, "LD_PRELOAD=", 11) != 0)
        pointers_.push_back(*word);
    for (std::string &word : words_)
      pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
    return pointers_.data();
  }

private:
  std::vector<std::string> words_;
  std::vector<char *> pointers_;
};

// Returns the path at which execvp() finds a program; empty if it finds none.
std::string path_of_program(const std::string &name) {
  if (name.find('/') != name.npos)
    return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char *path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::string file = (folder.empty() ? "." : folder) + "/" + name;
        ::access(file.c_str(), X_OK) == 0)
      return file;
  return "";
}

// Returns the agent's sampler for a program that is about to be started.
Result<std::unique_ptr<AgentSampler>> agent_for(const ParsedCommand &given,
                                                const SamplerOptions &sampling) {
  const std::string &program = given.arguments[0];
  if (!sampling.events.empty())
    return fail(ErrorCode::unsupported, fmt::format("the agent {}", samples_the_clock_only),
                "--backend agent");
  if (given.has("children"))
    return fail(ErrorCode::unsupported, "the agent samples only the program's own process",
                "--children");
  if (const std::string path = path_of_program(program); !path.empty())
    if (std::string why = why_agent_cannot_load(path); !why.empty())
      return fail(ErrorCode::unsupported, "the agent cannot sample it: " + std::move(why));
  return make_agent_sampler(sampling);
}

std::string ending(int status) {
  if (WIFSIGNALED(status))
    return "ended by " + signal_name(WTERMSIG(status));
  return fmt::format("exited, status {}", WEXITSTATUS(status));
}

// Waits until the program ends or the user interrupts the recording. Returns what ended it. Calls
// `each_second` about once a second, unless it is empty.
std::string wait_for(pid_t pid, bool ours, const EndSignals &signals,
                     const std::function<void()> &each_second) {
  using Clock = std::chrono::steady_clock;
  auto due = Clock::now() + std::chrono::seconds(1);
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  std::string end = "ended";
  std::array<pollfd, 2> polled{{{process, POLLIN, 0}, {signals.fd(), POLLIN, 0}}};
  // Without a descriptor (before Linux 5.3, or forbidden by a seccomp filter), poll the process.
  const int look_ms = process < 0 ? 50 : each_second ? 100 : -1;
  while (true) {
    if (::poll(polled.data(), polled.size(), look_ms) < 0 && errno != EINTR)
      break;
    if (each_second && Clock::now() >= due) {
      each_second();
      due = Clock::now() + std::chrono::seconds(1);
    }
    if (polled[1].revents & POLLIN) {
      const int signal = signals.take();
      if (!ours) {
        end = signal_name(signal);
        break;
      }
      if (signal != SIGINT && signal != SIGQUIT) // the terminal has sent these two to the program
        ::kill(pid, signal);
    }
    if (process >= 0 && polled[0].revents == 0)
      continue;
    if (ours) {
      int status = 0;
      const pid_t ended = ::waitpid(pid, &status, WNOHANG);
      if (ended == 0)
        continue;
      if (ended == pid)
        end = ending(status);
      break;
    }
    if (process >= 0 || ::kill(pid, 0) != 0)
      break;
  }
  if (process >= 0)
    ::close(process);
  return end;
}

// Checks that the output can be written. Call it before the program runs, because after the run the
// samples would be lost.
Result<void> check_output(const std::string &path) {
  struct stat info {};
  if (path == "-")
    return {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return fail(ErrorCode::io, "is a directory", path);
    if (::access(path.c_str(), W_OK) != 0)
      return fail_errno(errno, "cannot write", path);
    return {};
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK) != 0)
    return fail_errno(errno, "cannot create", path);
  return {};
}

// Returns whether PF_KTHREAD is set in proc_pid_stat(5). Kernel threads run no user code to sample.
bool is_kernel_thread(pid_t pid) {
  const auto file = ByteSource::open(fmt::format("/proc/{}/stat", pid));
  const auto text = file ? (*file)->rest() : Result<std::string>("");
  if (!text)
    return false;
  // After the name, which may contain anything: state, ppid, pgrp, session, tty_nr, tpgid, flags.
  std::istringstream fields(text->substr(text->rfind(')') + 1));
  std::string skipped;
  uint64_t flags = 0;
  for (int i = 0; i < 6; ++i)
    fields >> skipped;
  return fields >> flags && (flags & 0x00200000) != 0;
}

struct Started {
  std::unique_ptr<Sampler> sampler;
  AgentSampler *agent = nullptr;
};

// Starts the program under the requested sampler or, with "auto", under the first that works. Sets
// `pid` to the program's process.
Result<Started> start(const ParsedCommand &given, SamplerOptions sampling,
                      const EndSignals &signals, pid_t &pid) {
  Environment environment;
  Started started;
  if (given.value("backend") != "agent") {
    TALLY_TRY(child, Child::make(given.arguments, signals.before(), environment.pointers()));
    sampling.enable_on_exec = true;
    auto perf = start_perf_sampler(child.pid(), sampling);
    if (perf) {
      TALLY_CHECK(child.release(given.arguments[0]));
      pid = child.pid();
      started.sampler = std::move(*perf);
      return started;
    }
    child.give_up();
    const ErrorCode code = perf.error().code;
    if (given.value("backend") == "perf" ||
        (code != ErrorCode::permission && code != ErrorCode::unsupported))
      return fail(std::move(perf.error()));
    sampling.enable_on_exec = false;
    auto agent = agent_for(given, sampling);
    if (!agent) {
      Error both = std::move(perf.error());
      both.message += fmt::format("; nor can the agent be used: {}", agent.error().message);
      return fail(std::move(both));
    }
    say(fmt::format("tally: sampled by an agent inside the program, because {}",
                    perf.error().text()));
    started.agent = agent->get();
    started.sampler = std::move(*agent);
  } else {
    TALLY_TRY(agent, agent_for(given, sampling));
    started.agent = agent.get();
    started.sampler = std::move(agent);
  }
  environment.add(started.agent->launch());
  TALLY_TRY(child, Child::make(given.arguments, signals.before(), environment.pointers()));
  pid = child.pid();
  started.agent->expect(pid);
  started.agent->resumed({}); // no debugger holds it
  TALLY_CHECK(child.release(given.arguments[0]));
  return started;
}

std::string why_none(const SamplerStatus &status, const AgentFacts &facts,
                     std::span<const SampledEvent> events) {
  if (!facts.exited && !facts.reason.empty())
    return facts.reason;
  if (status.lost > 0)
    return fmt::format("{} lost, and none was kept{}{}",
                       counted(status.lost, "ticks") + (status.lost == 1 ? " was" : " were"),
                       facts.conflict.empty() ? "" : ": ", facts.conflict);
  constexpr uint64_t much_ns = 50'000'000;
  if (status.processes == 1 && status.used_ns > 2 * status.cpu_ns + much_ns)
    return "the kernel ended sampling when the program began: it does so for a program with a "
           "set-user-ID or set-group-ID bit, and for one that you may not read";
  const bool alone = status.processes == 0;
  if (!events.empty())
    return fmt::format("the kernel counted {}{}", counts_text(events, status.counted),
                       alone ? " (processes that it forks are not counted)" : "");
  return fmt::format("the program{} used hardly any CPU time{}, or the frequency is too low for it",
                     alone ? " itself" : "",
                     alone ? " (processes that it forks are not sampled)" : "");
}

// Writes a file for each process that has samples. Returns their number, and says what is in none.
Result<size_t> write_processes(const StackProfile &profile, const Format &format,
                               const std::string &stem) {
  std::set<int32_t> pids;
  int64_t of_none = 0;
  for (size_t i = 0; i < profile.sample_count(); ++i)
    if (const ThreadId thread = profile.sample(i).thread; thread != none<ThreadId>)
      pids.insert(profile.threads()[thread].pid);
    else
      of_none += profile.sample(i).values[0];
  if (of_none > 0)
    say(fmt::format("tally: not in any file: {} of {} {}, of which the process is not known",
                    of_none, profile.totals()[0], profile.strings[profile.value_types()[0].type]));
  for (const int32_t pid : pids) {
    TALLY_TRY(own, filter_samples(profile, {.process = std::to_string(pid)}));
    TALLY_TRY(written, write_profile(own, format));
    TALLY_CHECK(write_file(fmt::format("{}.{}", stem, pid), format, written, OutputName::usual));
  }
  return pids.size();
}

void say_facts(const AgentFacts &facts) {
  if (!facts.clock.empty())
    say(fmt::format("tally: the agent's clock was {}{}", facts.clock,
                    facts.interruptions == 0 ? std::string()
                                             : fmt::format(", it interrupted the program {}",
                                                           counted(facts.interruptions, "times"))));
  if (!facts.conflict.empty())
    say("tally: " + facts.conflict);
  if (facts.phase == AgentPhase::refused || (facts.phase == AgentPhase::ended && !facts.exited))
    say("tally: sampling ended early: " + facts.reason);
}

} // namespace

Result<void> record_command(const ParsedCommand &given, Outcome &outcome) {
  auto pid = static_cast<pid_t>(given.number("pid"));
  if (given.arguments.empty() == (pid == 0)) {
    outcome.refers_to_help = true;
    return fail(ErrorCode::invalid_argument, "give either -p PID or -- PROGRAM", "record");
  }
  const std::string output(given.value("o"));
  const std::string_view otherwise = output.empty() ? formats().front().name : "";
  TALLY_TRY(format,
            format_for_output(output, given.has("format") ? given.value("format") : otherwise,
                              "--format"));
  if (auto written = profile_format_by_name(format->name); !written) {
    written.error().source = output;
    return fail(std::move(written.error()));
  }
  const auto path_for = [&](pid_t process) {
    return output.empty() ? default_file_name(*format, std::to_string(process)) : output;
  };
  TALLY_CHECK(check_output(path_for(pid)));
  if (dot::is_drawn(*format, output) && path_of_program("dot").empty())
    return fail(ErrorCode::invalid_argument,
                "is drawn by Graphviz, which is not installed: install Graphviz, or write a .dot "
                "file",
                output);
  if (given.has("parts") && (!format->write_costs || !format->holds_lines || output == "-"))
    return fail(ErrorCode::invalid_argument,
                output == "-" ? std::string("writes files, not standard output")
                              : fmt::format("the format {} does not support one file for each "
                                            "process",
                                            format->name),
                "--parts");
  if (given.has("live") && output == "-")
    return fail(ErrorCode::invalid_argument, "writes to standard output, as -o - does", "--live");
  if (pid != 0 && is_kernel_thread(pid))
    return fail(ErrorCode::unsupported, "is a kernel thread, which runs no program to sample",
                fmt::format("process {}", pid));

  EndSignals signals;
  SamplerOptions sampling;
  sampling.frequency_hz = static_cast<uint32_t>(given.number("frequency"));
  sampling.waits = given.value("clock") == "wall";
  TALLY_TRY(events, sampled_events(given, sampling.waits));
  sampling.events = events;
  if (given.has("children") && given.has("no-children"))
    return fail(ErrorCode::invalid_argument, "give one of --children and --no-children", "record");
  sampling.children = !given.has("no-children");
  sampling.stacks = *stack_mode_by_name(given.value("stacks"));
  sampling.stack_bytes = stack_bytes_of(given);
  if (sampling.stacks == StackMode::dwarf)
    sampling.unwinder = make_unwinder();
  if (const std::string remark = cost_remark(sampling.frequency_hz);
      has_clock(events) && !remark.empty())
    say("tally: " + remark);
  const bool ours = pid == 0;
  std::unique_ptr<Sampler> sampler;
  AgentSampler *agent = nullptr; // the sampler, if it is an agent's
  std::string command;
  if (ours) {
    TALLY_TRY(started, start(given, sampling, signals, pid));
    sampler = std::move(started.sampler);
    agent = started.agent;
    for (const std::string &word : given.arguments)
      command += (command.empty() ? "" : " ") + word;
  } else {
    if (given.value("backend") == "agent")
      return fail(ErrorCode::unsupported,
                  "the agent works only in programs that `tally record` starts: give a program "
                  "instead of -p, or attach a debugger");
    TALLY_TRY(started, start_perf_sampler(pid, sampling));
    sampler = std::move(started);
    say(fmt::format("tally: sampling process {}; Ctrl-C ends it", pid));
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto so_far = [begin] {
    return static_cast<uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  };
  std::function<void()> each_second;
  std::optional<LiveTable> live;
  if (given.has("live")) {
    live.emplace(*sampler, fmt::format("process {}", pid));
    each_second = [&] { live->draw(so_far()); };
  }
  const std::string end = wait_for(pid, ours, signals, each_second);
  live.reset();
  const uint64_t took = so_far();
  sampler->stop();
  const SamplerStatus status = sampler->status();
  const AgentFacts facts = agent ? agent->facts() : AgentFacts{};
  TALLY_TRY(raw, sampler->snapshot(end, 0, took));
  sampler.reset();
  if (!command.empty())
    raw.command = raw.strings.intern(command);
  if (agent) { // the snapshot of a perf sampler has this already
    TALLY_TRY(completed, with_unsampled(std::move(raw), sampling, status));
    raw = std::move(completed);
  }
  if (raw.sample_count() == 0)
    return fail(ErrorCode::no_data,
                fmt::format("{}; no samples: {}", end, why_none(status, facts, events)),
                ours ? given.arguments[0] : fmt::format("process {}", pid));
  Diagnostics of_names;
  auto named =
      name_shown(std::move(raw), Symbolization::Processes::here, *symbolizer_for(given), of_names);
  show(of_names);
  TALLY_TRY(profile, std::move(named));
  TALLY_TRY(written, write_profile(profile, *format));
  std::string path = path_for(pid);
  if (given.has("parts")) {
    const std::string stem = output.empty() ? path.substr(0, path.rfind('.')) : output;
    TALLY_TRY(files, write_processes(profile, *format, stem));
    path = fmt::format("{} ({}.PID)", counted(files, "files"), stem);
  } else {
    TALLY_CHECK(write_file(path, *format, written,
                           output.empty() ? OutputName::usual : OutputName::chosen));
  }
  // A format of addresses may leave out samples. Of what other formats lose, only the event's name
  // changes what the counts mean.
  for (const std::string &what : written.lost)
    if (format->write_pcs || std::ranges::any_of(events, [&](const SampledEvent &event) {
          return what.find(event.name) != what.npos;
        }))
      say(fmt::format("tally: not in {}: {}", format->name, what));
  const std::string counts = counts_text(events, status.counted);
  const std::string cpu = seconds_text(std::max(status.used_ns, status.cpu_ns)) + " of CPU time";
  const bool of_clock = has_clock(events);
  std::string of_what = of_clock ? cpu : counts;
  if (of_clock && !counts.empty())
    of_what += " and " + counts;
  if (status.processes > 1)
    of_what += fmt::format(" of {}", counted(status.processes, "processes"));
  if (sampling.waits)
    of_what += fmt::format(", {} of {}, queued for {}",
                           status.waits == 0 ? "waits" : counted(status.waits, "waits"),
                           seconds_text(status.wait_ns), seconds_text(status.queued_ns));
  say(fmt::format("tally: {}; {} in {}, {} lost; wrote {}", end, counted(status.samples, "samples"),
                  of_what, status.lost, path));
  if (status.processes_left > 0)
    say(fmt::format("tally: {} more were not sampled, because there were too many",
                    counted(status.processes_left, "processes")));
  if (const std::string remark = share_remark(status); events.empty() && !remark.empty())
    say("tally: " + remark);
  if (const std::string remark = truncation_remark(status); !remark.empty())
    say("tally: " + remark);
  if (status.waits_unsampled)
    say(fmt::format("tally: {}", short_waits_note));
  if (!status.kernel_included && has_others(events))
    say(fmt::format("tally: user code only: {} that the kernel's code caused were not sampled "
                    "(unprivileged)",
                    names_of_others(events)));
  if (!status.kernel_included && of_clock && !status.waits_unsampled)
    say(fmt::format("tally: user code only: the kernel's part, {}, was not sampled "
                    "(unprivileged)",
                    seconds_text(status.unsampled_ns)));
  if (!status.problem.empty())
    say("tally: sampling ended early: " + status.problem);
  if (agent)
    say_facts(facts);
  return {};
}

} // namespace tally::cli
