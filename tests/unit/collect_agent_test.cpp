// Tests the reader with memory whose contents no agent wrote, and the agent with memory that our
// reader did not make.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/agent_view.h"
#include "../support/hostile_agent.h"
#include "../support/sanitized.h"
#include "collect/agent.h"
#include "collect/agent_memory.h"
#include "collect_child.h"
#include "temporary.h"

namespace tally::collect_agent_test {
namespace {

AgentMemory memory_or_fail(const SamplerOptions &options = {}) {
  auto memory = AgentMemory::make(options);
  EXPECT_TRUE(memory) << memory.error().text();
  return memory ? std::move(*memory) : AgentMemory();
}

uint64_t head_word(uint32_t kind, uint32_t bytes) { return uint64_t{kind} << 32 | bytes; }
uint64_t tail_word(uint32_t weight, uint32_t tid) { return uint64_t{weight} << 32 | tid; }

TEST(CollectAgentRecords, AreReadInOrder) {
  const std::vector<uint64_t> bytes{head_word(TALLY_RECORD_CHAIN, 32),
                                    tail_word(2, 7),
                                    111,
                                    0x1000,
                                    head_word(TALLY_RECORD_CHAIN, 40),
                                    tail_word(1, 8),
                                    222,
                                    0x2000,
                                    0x3000};
  std::span<const uint64_t> words = bytes;
  AgentRecord record;
  ASSERT_TRUE(next_agent_record(words, record));
  EXPECT_EQ(record.weight, 2u);
  EXPECT_EQ(record.tid, 7);
  EXPECT_EQ(record.at_ns, 111u);
  EXPECT_EQ(record.words.size(), 1u);
  ASSERT_TRUE(next_agent_record(words, record));
  EXPECT_EQ(record.words.back(), 0x3000u);
  EXPECT_TRUE(words.empty());
  EXPECT_FALSE(next_agent_record(words, record));
}

TEST(CollectAgentRecords, AreRefusedIfDamaged) {
  for (const std::vector<uint64_t> &bytes : std::vector<std::vector<uint64_t>>{
           {0},                                                        // no header
           {head_word(TALLY_RECORD_CHAIN, 24), tail_word(1, 1), 0},    // no words
           {head_word(TALLY_RECORD_CHAIN, 32), tail_word(1, 1), 0},    // longer than the rest
           {head_word(TALLY_RECORD_CHAIN, 31), tail_word(1, 1), 0, 0}, // not whole words
           {head_word(9, 32), tail_word(1, 1), 0, 0},                  // no such kind
           {head_word(TALLY_RECORD_CHAIN, 32), tail_word(0, 1), 0, 0}, // a weight of 0
           {head_word(TALLY_RECORD_CHAIN, 32), tail_word(1, 0), 0, 0}, // no thread
           {head_word(TALLY_RECORD_CHAIN, 32), tail_word(1, 0xffffffff), 0, 0}, // no thread
           {head_word(TALLY_RECORD_CHAIN, 32), tail_word(1, 1 << 23), 0, 0},    // no thread
           {head_word(TALLY_RECORD_CHAIN, 0xfffffff8), tail_word(1, 1), 0},
       }) {
    std::span<const uint64_t> words = bytes;
    AgentRecord record;
    EXPECT_FALSE(next_agent_record(words, record));
  }
  // More words than the largest dump of a stack.
  std::vector<uint64_t> bytes(2048);
  bytes[0] = head_word(TALLY_RECORD_COPY, 2048 * 8);
  bytes[1] = tail_word(1, 1);
  std::span<const uint64_t> words = bytes;
  AgentRecord record;
  EXPECT_FALSE(next_agent_record(words, record));
}

// Appends the words to the ring.
void append(AgentView &view, uint32_t slot, const std::vector<uint64_t> &words) {
  const std::span<uint64_t> ring = view.ring(slot);
  for (const uint64_t word : words) {
    ring[view.slot(slot).head / sizeof word % ring.size()] = word;
    view.slot(slot).head += sizeof word;
  }
}

std::vector<uint64_t> chain(uint32_t weight, uint64_t pc) {
  return {head_word(TALLY_RECORD_CHAIN, 32), tail_word(weight, 7), 1, pc};
}

TEST(CollectAgentMemory, IsReadUpToTheFirstLie) {
  using Lie = void (*)(AgentView &);
  for (const Lie lie : std::initializer_list<Lie>{
           [](AgentView &view) { view.slot(2).head = uint64_t{1} << 62; },
           [](AgentView &view) { view.slot(2).head = 12; },
           [](AgentView &view) {
             append(view, 2, {0, 0, 0, 0});
           },
           [](AgentView &view) { append(view, 2, chain(INT32_MAX, 3)); },
           [](AgentView &view) {
             for (size_t i = 0; i < view.ring(2).size() / 4; ++i)
               append(view, 2, chain(1, 3));
           },
           [](AgentView &view) { append(view, 2, chain(1, 4)); }, // see the handler
       }) {
    AgentMemory memory = memory_or_fail();
    AgentView view(memory.variable());
    append(view, 1, chain(2, 1));
    view.header().slots = 0; // the reader does not read it again
    uint64_t ticks = 0, firsts = 0;
    const auto handle = [&](const AgentRecord &record) {
      ticks += record.weight;
      firsts += record.words[0] == 1;
      return record.words[0] != 4;
    };
    memory.drain(handle);
    EXPECT_EQ(ticks, 2u);
    EXPECT_FALSE(memory.is_overwritten());
    view.header().slots = TALLY_WIRE_SLOTS;
    lie(view);
    memory.drain(handle);
    EXPECT_TRUE(memory.is_overwritten());
    EXPECT_LE(ticks, memory.most_ticks());
    append(view, 1, chain(1, 1));
    memory.drain(handle);
    EXPECT_EQ(firsts, 1u);
  }
}

TEST(CollectAgentMemory, CannotShrinkAndIsRenewedUnderTheSameName) {
  AgentMemory memory = memory_or_fail();
  const std::string name = memory.variable();
  const std::string path = name.substr(name.find('=') + 1);
  EXPECT_NE(::truncate(path.c_str(), 4096), 0);
  AgentView(name).header().claimed_by = 4711;
  ASSERT_TRUE(memory.renew());
  EXPECT_EQ(memory.variable(), name);
  EXPECT_EQ(AgentView(name).header().claimed_by, 0);
  EXPECT_EQ(memory.load(&tally_wire_header::claimed_by), 0);
}

// Samples a program that lies, with each seed for half a second, or with many for as long as
// TALLY_HOSTILE_SECONDS says.
TEST(CollectAgentSampler, SurvivesAHostileProgram) {
  const char *const wanted = std::getenv("TALLY_HOSTILE_SECONDS");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(wanted ? std::atoi(wanted) : 0);
  for (uint64_t seed = 0; seed < 6 || std::chrono::steady_clock::now() < end; ++seed) {
    SCOPED_TRACE(seed);
    SamplerOptions options;
    options.stacks = seed % 2 ? StackMode::fp : StackMode::none;
    auto made = make_agent_sampler(options, "/proc/self/exe");
    ASSERT_TRUE(made) << made.error().text();
    AgentSampler &sampler = **made;
    const std::string variable = sampler.launch().variable;
    Child child([&] {
      hostile liar;
      if (hostile_begin(&liar, variable.substr(variable.find('=') + 1).c_str(), seed))
        hostile_play(&liar, 0.5);
    });
    sampler.expect(child.pid());
    child.go();
    std::thread ends([&] { child.wait_end(); });
    uint64_t begin_ns = 0;
    for (uint64_t i = 0; i < 40; ++i) {
      sampler.facts();
      const SamplerStatus status = sampler.status();
      EXPECT_LT(status.samples, 1'000'000u);
      EXPECT_LT(status.lost, 1'000'000u);
      sampler.resumed({});
      sampler.end_part("stop", begin_ns, begin_ns + 1);
      begin_ns += 1;
      if (i % 10 == 0) {
        const auto profile = sampler.snapshot("stop", begin_ns, begin_ns + 1);
        ASSERT_TRUE(profile) << profile.error().text();
        EXPECT_TRUE(validate(*profile));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ends.join();
    sampler.clear();
    sampler.stop();
    EXPECT_TRUE(sampler.snapshot("stop", 0, 1));
    if (sampler.facts().clock != "ring") { // whose end the debugger reports
      EXPECT_NE(sampler.facts().phase, AgentPhase::working);
    }
  }
}

TEST(CollectAgentSampler, RefusesUnsupportedOptions) {
  SamplerOptions options;
  EXPECT_EQ(make_agent_sampler(options, "/nonexistent").error().code, ErrorCode::not_found);
  options.frequency_hz = 0;
  EXPECT_EQ(make_agent_sampler(options, "/proc/self/exe").error().code,
            ErrorCode::invalid_argument);
  options.frequency_hz = 1'000'000;
  EXPECT_EQ(make_agent_sampler(options, "/proc/self/exe").error().code,
            ErrorCode::invalid_argument);
  options.frequency_hz = 1000;
  options.stacks = StackMode::dwarf;
  EXPECT_FALSE(make_agent_sampler(options, "/proc/self/exe"));
}

TEST(CollectAgentSampler, ReportsAProgramThatNeverLoadsTheAgent) {
  auto made = make_agent_sampler({}, "/proc/self/exe");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ((*made)->facts().phase, AgentPhase::waiting);
  Child child([] { spin_for(0.3); });
  (*made)->expect(child.pid());
  child.go();
  child.wait_end();
  while ((*made)->facts().phase == AgentPhase::waiting)
    ::usleep(1000);
  const AgentFacts facts = (*made)->facts();
  EXPECT_EQ(facts.phase, AgentPhase::ended);
  EXPECT_NE(facts.reason.find("before the agent was loaded"), std::string::npos) << facts.reason;
  EXPECT_EQ((*made)->status().samples, 0u);
  EXPECT_TRUE((*made)->status().ended);
}

// ---- the agent itself, in a child process ----

using Start = int(const char *);

// Returns the result of tally_agent_start() in a child, after `prepare` has changed the memory
// there.
template <class Prepare> int start_in_child(const std::string &value, Prepare &&prepare) {
  const char *library = std::getenv("TALLY_AGENT_LIBRARY");
  if (!library)
    return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    void *handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    auto *start =
        handle ? reinterpret_cast<Start *>(::dlsym(handle, "tally_agent_start")) : nullptr;
    if (!start)
      ::_exit(99);
    prepare();
    ::_exit(start(value.c_str()));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

TEST(CollectAgentStart, RefusesInvalidAndForeignMemory) {
  if (!std::getenv("TALLY_AGENT_LIBRARY"))
    GTEST_SKIP() << "TALLY_AGENT_LIBRARY is not set";
  const auto nothing = [] {};
  for (const char *value : {"", "x", "/proc/1/fd", "/proc/1/fd/", "/proc/1/fd/3/../4",
                            "/etc/passwd", "/proc/99999999999999999999/fd/3", "/proc/1/fd/3 "})
    EXPECT_EQ(start_in_child(value, nothing), TALLY_REFUSED_VARIABLE) << value;
  EXPECT_EQ(start_in_child("/proc/2147483646/fd/3", nothing), TALLY_REFUSED_OPEN);

  AgentMemory memory = memory_or_fail();
  const std::string variable = memory.variable();
  const std::string value = variable.substr(variable.find('=') + 1);
  AgentView view(variable);
  // First no process is expected, then another one.
  EXPECT_EQ(start_in_child(value, nothing), TALLY_REFUSED_UNEXPECTED);
  view.header().expected_pid = ::getpid();
  EXPECT_EQ(start_in_child(value, nothing), TALLY_REFUSED_UNEXPECTED);
  EXPECT_EQ(view.header().state, uint32_t{TALLY_STATE_EMPTY});
  const auto expected = [&] { view.header().expected_pid = ::getpid(); };
  view.header().claimed_by = 1;
  EXPECT_EQ(start_in_child(value, expected), TALLY_REFUSED_CLAIMED);
  view.header().claimed_by = 0;
  view.header().version += 1;
  EXPECT_EQ(start_in_child(value, expected), TALLY_REFUSED_VERSION);
  view.header().version -= 1;
  view.header().slots += 1;
  EXPECT_EQ(start_in_child(value, expected), TALLY_REFUSED_FOREIGN);
  view.header().slots -= 1;
  view.header().ring_bytes = 4097;
  EXPECT_EQ(start_in_child(value, expected), TALLY_REFUSED_FOREIGN);
  view.header().magic = 0;
  EXPECT_EQ(start_in_child(value, expected), TALLY_REFUSED_FOREIGN);

  // A memory that is too short and of a kind that may shrink.
  const int fd = ::memfd_create("short", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(fd, 100), 0);
  const std::string other = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd);
  EXPECT_EQ(start_in_child(other, nothing), TALLY_REFUSED_FOREIGN);
  ::close(fd);
}

TEST(CollectAgentStart, WaitsForADebuggerThatFindsTheProcessLate) {
  if (!std::getenv("TALLY_AGENT_LIBRARY"))
    GTEST_SKIP() << "TALLY_AGENT_LIBRARY is not set";
  AgentMemory memory = memory_or_fail();
  const std::string variable = memory.variable();
  AgentView view(variable);
  const auto late = [&](int32_t expected) {
    view.header().expected_pid = 0;
    return start_in_child(variable.substr(variable.find('=') + 1), [&view, expected] {
      std::thread([&view, pid = expected == 0 ? ::getpid() : expected] {
        ::usleep(20'000);
        view.header().expected_pid = pid;
      }).detach();
    });
  };
  EXPECT_EQ(late(::getpid()), TALLY_REFUSED_UNEXPECTED);
  view.header().claimed_by = 1; // so that no clock begins to tick
  EXPECT_EQ(late(0), TALLY_REFUSED_CLAIMED);
}

// Checks the input that an unwinder is given.
class Onlooker final : public Unwinder {
public:
  ModuleId module(const ModuleKey &) override { return {}; }
  StackEnd unwind(const UnwindInput &input, std::vector<uint64_t> &pcs) override {
    ++calls;
    mapped += input.mapping_of_pc(input.registers.pc()).has_value();
    // The stack dump ends where the stack does, or has the full length.
    whole += !input.stack.empty() && input.stack.size() <= TALLY_WIRE_STACK_BYTES;
    pcs.push_back(input.registers.pc());
    return StackEnd::complete;
  }
  uint64_t calls = 0, mapped = 0, whole = 0;
};

// Loads the agent into a process that has already started, as a debugger does. Disables the
// kernel's clocks, so that the agent uses its ticker.
void sample_late(SamplerOptions options) {
  const char *library = std::getenv("TALLY_AGENT_LIBRARY");
  if (!library)
    GTEST_SKIP() << "TALLY_AGENT_LIBRARY is not set";
#if TALLY_SANITIZED
  GTEST_SKIP() << "a sanitizer does not expect the agent's thread";
#endif
  options.frequency_hz = 2000;
  auto made = make_agent_sampler(options, library);
  ASSERT_TRUE(made) << made.error().text();
  AgentSampler &sampler = **made;
  const std::string variable = sampler.launch().variable;
  AgentView view(variable);
  view.header().attr_bytes = 0;
  const std::string value = variable.substr(variable.find('=') + 1);
  Child child([&] {
    spin_second(50'000'000);
    auto *start = reinterpret_cast<Start *>(
        ::dlsym(::dlopen(library, RTLD_NOW | RTLD_LOCAL), "tally_agent_start"));
    if (start(value.c_str()) != 0 || start(value.c_str()) != TALLY_REFUSED_CLAIMED)
      ::_exit(1);
    spin_for(0.5);
  });
  sampler.expect(child.pid());
  child.go();
  child.wait_end();
  wait_ended(sampler);
  const AgentFacts facts = sampler.facts();
  EXPECT_EQ(facts.clock, "ticker");
  EXPECT_NE(facts.conflict.find("loaded late"), std::string::npos) << facts.conflict;
  const auto profile = sampler.snapshot("exit", 0, 1);
  ASSERT_TRUE(profile) << profile.error().text();
  const Counts counts = count_leaves(*profile);
  EXPECT_EQ(counts.all, static_cast<int64_t>(sampler.status().samples));
  EXPECT_EQ(counts.second, 0);
  EXPECT_EQ(counts.no_mapping, 0);
  EXPECT_GT(counts.first, 50); // of 1000; other threads may delay the ticker's thread
  EXPECT_LT(counts.all, 1100);
}

TEST(CollectAgentStart, SamplesAProcessThatLoadsItLate) { sample_late({}); }

// Starts one sampler after the other in a process that keeps running.
void sample_again_and_again(uint32_t frequency_hz, const char *clock) {
  const char *library = std::getenv("TALLY_AGENT_LIBRARY");
  if (!library)
    GTEST_SKIP() << "TALLY_AGENT_LIBRARY is not set";
#if TALLY_SANITIZED
  GTEST_SKIP() << "a sanitizer does not expect the agent's thread";
#endif
  constexpr int times = 5; // more than the signals that the agent can use
  SamplerOptions options;
  options.frequency_hz = frequency_hz;
  std::vector<std::unique_ptr<AgentSampler>> samplers;
  std::vector<std::string> values;
  for (int i = 0; i < times; ++i) {
    auto made = make_agent_sampler(options, library);
    ASSERT_TRUE(made) << made.error().text();
    const std::string variable = (*made)->launch().variable;
    AgentView(variable).header().attr_bytes = 0;
    values.push_back(variable.substr(variable.find('=') + 1));
    samplers.push_back(std::move(*made));
  }
  Child child([&] {
    std::thread([] { spin_for(60); }).detach(); // this thread has a timer, too
    auto *start = reinterpret_cast<Start *>(
        ::dlsym(::dlopen(library, RTLD_NOW | RTLD_LOCAL), "tally_agent_start"));
    for (const std::string &value : values) {
      if (const int refusal = start(value.c_str()); refusal != 0)
        ::_exit(refusal);
      AgentView memory("=" + value);
      spin_for(0.3);
      memory.header().command = TALLY_COMMAND_STOP;
    }
  });
  for (const auto &sampler : samplers)
    sampler->expect(child.pid());
  child.go();
  child.wait_end();
  for (const auto &sampler : samplers) {
    wait_ended(*sampler);
    EXPECT_EQ(sampler->facts().clock, clock) << sampler->facts().reason;
    EXPECT_GT(sampler->status().samples, 15u);
  }
}

TEST(CollectAgentStart, RestartsAfterItsTickerWasStopped) {
  sample_again_and_again(2000, "ticker");
}

TEST(CollectAgentStart, RestartsAfterItsTimersWereStopped) { sample_again_and_again(100, "timer"); }

TEST(CollectAgentStart, CopiesRegistersAndStack) {
#if defined(__x86_64__)
  const auto made = std::make_shared<Onlooker>();
  const Onlooker &onlooker = *made;
  SamplerOptions options;
  options.stacks = StackMode::dwarf;
  options.unwinder = made;
  sample_late(options);
  if (testing::Test::IsSkipped())
    return;
  EXPECT_GT(onlooker.calls, 50u);
  EXPECT_EQ(onlooker.whole, onlooker.calls);
  EXPECT_EQ(onlooker.mapped, onlooker.calls);
#endif
}

// ---- which programs can load it ----

std::string elf_file(const TemporaryFolder &folder, const char *name, uint16_t machine,
                     uint32_t segment, mode_t mode = 0755) {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = machine == EM_386 ? ELFCLASS32 : ELFCLASS64;
  head.e_machine = machine;
  head.e_phoff = sizeof head;
  head.e_phnum = 1;
  Elf64_Phdr row{};
  row.p_type = segment;
  const std::string path = folder / name;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&head), sizeof head);
  file.write(reinterpret_cast<const char *>(&row), sizeof row);
  file.close();
  ::chmod(path.c_str(), mode);
  return path;
}

TEST(CollectAgentLoad, ReportsWhyAProgramCannotLoadIt) {
#if defined(__x86_64__)
  constexpr uint16_t here = EM_X86_64, elsewhere = EM_AARCH64;
#else
  constexpr uint16_t here = EM_AARCH64, elsewhere = EM_X86_64;
#endif
  const TemporaryFolder folder;
  const auto says = [](const std::string &path, const char *word) {
    const std::string why = why_agent_cannot_load(path);
    EXPECT_NE(why.find(word), std::string::npos) << path << ": " << why;
  };
  const std::string fine = elf_file(folder, "fine", here, PT_INTERP);
  EXPECT_EQ(why_agent_cannot_load(fine), "");
  says(elf_file(folder, "static", here, PT_LOAD), "statically");
  says(elf_file(folder, "other", elsewhere, PT_INTERP), "the agent is for");
  says(elf_file(folder, "small", EM_386, PT_INTERP), "32-bit");
  says(elf_file(folder, "suid", here, PT_INTERP, 04755), "set-user-ID");
  says(folder / "none", "cannot be read");
  const std::string text = folder / "text", script = folder / "script";
  std::ofstream(text) << "hello\n";
  says(text, "not ELF");
  std::ofstream(script) << "#! " << fine << " -x\n";
  EXPECT_EQ(why_agent_cannot_load(script), "");
  std::ofstream(script) << "#!" << script << "\n";
  says(script, "script");
}

} // namespace
} // namespace tally::collect_agent_test
