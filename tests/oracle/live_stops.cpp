// Stops a program at random moments, and then at each of the addresses on standard input, in
// hexadecimal and before relocation, that its only thread reaches soon. Compares the counts of its
// lines, which are computed from the coverage counters in its memory, with counts that the program
// keeps itself.
//
//   live_stops SOURCE STOPS SEED PROGRAM
//
// A line of SOURCE with "C()" counts itself in the array self_count, before it does anything else.
// Prints the numbers of lines: in functions that a thread is in, exact ones, intervals, lines of a
// pc that are wrong by one, wrong ones; then wrong lines of other functions; then lines whose count
// differs by much more than the number of threads, because gcov counts them in another way. Each
// wrong line is described on standard error.
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "coverage_collect/counted_object.h"
#include "live/live_program.h"
#include "live/process_modules.h"
#include "model/unwinder.h"
#include "stacks/address_space.h"
#include "symbolize/elf_file.h"

using namespace tally;

namespace {

[[noreturn]] void give_up(const std::string &why) {
  fmt::print(stderr, "{}\n", why);
  std::exit(2);
}

std::vector<pid_t> tasks_of(pid_t pid) {
  std::vector<pid_t> out;
  std::error_code ignored;
  for (const auto &entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), ignored))
    out.push_back(std::stoi(entry.path().filename().string()));
  return out;
}

class Tracee {
public:
  explicit Tracee(char **words) {
    pid_ = ::fork();
    if (pid_ == 0) {
      ::raise(SIGSTOP);
      ::execv(words[0], words);
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
    if (::ptrace(PTRACE_SEIZE, pid_, nullptr, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) != 0)
      give_up("ptrace is not permitted");
    ::kill(pid_, SIGCONT);
    resume_until(std::chrono::milliseconds(100));
  }
  ~Tracee() { ::kill(pid_, SIGKILL); }
  pid_t pid() const { return pid_; }

  // Lets the program run, and then stops all its threads.
  void resume_until(std::chrono::microseconds duration) {
    for (const pid_t tid : stopped_)
      ::ptrace(PTRACE_CONT, tid, nullptr, nullptr);
    stopped_.clear();
    const auto end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end)
      take_events();
    for (;;) {
      bool all = true;
      for (const pid_t tid : tasks_of(pid_))
        if (!stopped_.contains(tid)) {
          all = false;
          ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
          int status = 0;
          if (::waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status))
            handle(tid, status, true);
        }
      if (all)
        return;
    }
  }

  // Lets the only thread run to an address. Returns false, with the thread stopped elsewhere, if it
  // does not come there soon.
  bool run_to(uint64_t address) {
    const auto word = ::ptrace(PTRACE_PEEKTEXT, pid_, address, nullptr);
    ::ptrace(PTRACE_POKETEXT, pid_, address, (word & ~0xffL) | 0xcc);
    ::ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
    int status = 0;
    bool soon = true;
    while (::waitpid(pid_, &status, __WALL | WNOHANG) == 0)
      if (soon && std::chrono::steady_clock::now() > end) {
        soon = false;
        ::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr);
      }
    if (!WIFSTOPPED(status))
      give_up("the program ended");
    ::ptrace(PTRACE_POKETEXT, pid_, address, word);
    user_regs_struct r{};
    ::ptrace(PTRACE_GETREGS, pid_, nullptr, &r);
    if (r.rip != address + 1)
      return false;
    r.rip = address;
    ::ptrace(PTRACE_SETREGS, pid_, nullptr, &r);
    if (status >> 8 != SIGTRAP) // the interruption came first, and the trap is still to come
      return false;
    if (!soon) { // the interruption is still to come
      ::ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
      ::waitpid(pid_, &status, __WALL);
      return false;
    }
    return true;
  }

private:
  void take_events() {
    int status = 0;
    const pid_t tid = ::waitpid(-1, &status, __WALL | WNOHANG);
    if (tid <= 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    else if (WIFSTOPPED(status))
      handle(tid, status, false);
    else if (tid == pid_)
      give_up("the program ended");
  }
  // An event of the stop itself leaves the thread stopped; all others are passed on.
  void handle(pid_t tid, int status, bool stopping) {
    if (stopping) {
      stopped_.insert(tid);
      return;
    }
    const bool is_event = status >> 16 != 0;
    ::ptrace(PTRACE_CONT, tid, nullptr, is_event ? 0 : WSTOPSIG(status));
  }

  pid_t pid_ = 0;
  std::set<pid_t> stopped_;
};

class Stacks {
public:
  explicit Stacks(pid_t pid) : pid_(pid) {
    const auto maps = live::read_maps(pid);
    for (const CodeRange &range : parse_maps(*maps)) {
      space_.map(range);
      modules_.push_back(unwinder_->module({range.path, {}, range.device, range.inode, pid}));
    }
  }

  live::StoppedThread of(pid_t tid) {
    user_regs_struct r{};
    ::ptrace(PTRACE_GETREGS, tid, nullptr, &r);
    UnwindInput input;
    input.registers.value = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
                             r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
    std::vector<std::byte> stack(1 << 16);
    for (; stack.size() > 8; stack.resize(stack.size() / 2)) {
      const iovec here{stack.data(), stack.size()};
      const iovec there{reinterpret_cast<void *>(r.rsp), stack.size()};
      const ssize_t got = ::process_vm_readv(pid_, &here, 1, &there, 1, 0);
      if (got > 8) {
        stack.resize(static_cast<size_t>(got));
        break;
      }
    }
    input.stack = stack;
    input.mapping_of_pc = [&](uint64_t pc) -> std::optional<CodeMapping> {
      const uint32_t found = space_.find(pc);
      if (found == AddressSpace::nowhere)
        return std::nullopt;
      const CodeRange &range = space_.ranges()[found];
      return CodeMapping{modules_[found], range.start, range.limit, range.file_offset};
    };
    live::StoppedThread out{tid, {}};
    unwinder_->unwind(input, out.pcs);
    return out;
  }

private:
  pid_t pid_;
  std::unique_ptr<Unwinder> unwinder_ = make_unwinder();
  AddressSpace space_;
  std::vector<ModuleId> modules_;
};

struct Counts {
  size_t lines = 0, exact = 0, intervals = 0, own = 0, wrong = 0, elsewhere = 0, stops = 0,
         otherwise = 0;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  const std::string source = argv[1];
  std::mt19937 random(static_cast<unsigned>(std::stoul(argv[3])));
  std::vector<bool> counts_itself(1, false);
  std::ifstream text(source);
  for (std::string line; std::getline(text, line);)
    counts_itself.push_back(line.find("C()") != line.npos);
  Tracee tracee(argv + 4);
  Diagnostics diagnostics;
  live::NotesCache cache;
  auto opened = live::process_source(tracee.pid());
  auto program = opened ? std::optional<live::LiveProgram>(std::move(*opened)) : std::nullopt;
  if (!program || !program->refresh(cache))
    give_up("the program cannot be read");
  uint64_t self_count = 0, bias = 0;
  if (const auto file = symbolize::ElfFile::open(argv[4]))
    file->visit_data_symbols([&](const symbolize::DataSymbol &symbol) {
      if (symbol.name == "self_count")
        self_count = symbol.address;
    });
  for (const live::LoadedModule &module : program->modules())
    if (std::filesystem::path(module.key.path).filename() ==
        std::filesystem::path(argv[4]).filename())
      bias = module.bias;
  self_count += bias;
  const auto memory = live::process_memory(tracee.pid());
  Stacks stacks(tracee.pid());
  Counts sum;
  auto stop_next = [&, left = std::stoi(argv[2])]() mutable {
    if (left-- > 0) {
      tracee.resume_until(std::chrono::microseconds(200 + random() % 3000));
      return true;
    }
    uint64_t address = 0;
    while (std::cin >> std::hex >> address)
      if (tracee.run_to(bias + address))
        return true;
    return false;
  };
  while (stop_next()) {
    std::vector<live::StoppedThread> threads;
    for (const pid_t tid : tasks_of(tracee.pid()))
      threads.push_back(stacks.of(tid));
    if (!program->refresh(cache))
      give_up("the program cannot be read");
    const auto snapshot = program->snapshot();
    std::vector<uint64_t> self(counts_itself.size());
    if (!snapshot || !(*memory)->read(self_count, std::as_writable_bytes(std::span(self))))
      give_up("the counters cannot be read");
    ++sum.stops;
    for (const ObjectFiles &files : program->objects({*snapshot, threads}, cache)) {
      const auto counted = count_object(files, {}, diagnostics);
      if (!counted)
        give_up(counted.error().text());
      std::set<uint32_t> own;
      std::set<uint32_t> open; // lines of the functions that threads are in
      for (const OpenFrame &frame : files.live->frames) {
        own.insert(frame.line);
        const GraphFunction &function = counted->graph->functions[frame.function];
        for (uint32_t line = function.start_line; line <= function.end_line; ++line)
          open.insert(line);
        for (const GraphLocation &location : counted->graph->locations_of(function))
          for (const uint32_t line : counted->graph->lines_of(location))
            open.insert(line); // Clang does not note where a function ends
      }
      for (const GcovFile &file : counted->counts.files)
        for (const GcovLine &line : file.lines) {
          if (line.line >= counts_itself.size() || !counts_itself[line.line])
            continue;
          const auto right = static_cast<int64_t>(self[line.line]);
          const bool within = right >= line.count &&
                              (line.uncertain == INT64_MAX || right <= line.count + line.uncertain);
          const bool is_open = open.contains(line.line);
          sum.lines += is_open;
          if (within) {
            sum.exact += is_open && line.uncertain == 0;
            sum.intervals += is_open && line.uncertain != 0;
            continue;
          }
          if (std::abs(right - line.count) > 16) { // gcov counts the line in another way
            ++sum.otherwise;
            continue;
          }
          const bool by_one = right + 1 == line.count || right - 1 == line.count + line.uncertain;
          if (own.contains(line.line) && by_one) {
            ++sum.own;
            continue;
          }
          ++(is_open ? sum.wrong : sum.elsewhere);
          fmt::print(stderr, "{}:{}: counted {}+{}, right is {}{}", source, line.line, line.count,
                     line.uncertain, right, is_open ? "; frames:" : " (not open)");
          for (const OpenFrame &frame : files.live->frames)
            fmt::print(stderr, " {}:{}{}{}",
                       counted->graph->strings[counted->graph->functions[frame.function].name],
                       frame.line, frame.at_line_start ? " start" : "",
                       frame.in_call ? " call" : "");
          for (const live::StoppedThread &thread : threads)
            fmt::print(stderr, "; {:#x}", thread.pcs.empty() ? 0 : thread.pcs[0]);
          fmt::print(stderr, "\n");
        }
    }
  }
  fmt::print("{} {} {} {} {} {} {} {}\n", sum.stops, sum.lines, sum.exact, sum.intervals, sum.own,
             sum.wrong, sum.elsewhere, sum.otherwise);
  return 0;
}
