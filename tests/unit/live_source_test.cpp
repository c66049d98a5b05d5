#include <array>
#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/program_source.h"
#include "symbolize/core_file.h"
#include "symbolize/elf_file.h"
#include "temporary.h"

namespace tally::live {
namespace {

const std::string self = "/proc/self/exe";

uint64_t own_bias() {
  uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *to) {
        *static_cast<uint64_t *>(to) = info->dlpi_addr;
        return 1; // the program is the first
      },
      &bias);
  return bias;
}

// This program, as a debugger shows it that cannot read one range.
class OwnProgram {
public:
  OwnProgram() {
    const auto file = symbolize::ElfFile::open(self);
    for (const symbolize::Section &section : file->loaded_sections())
      if (section.name == ".text")
        source_->set_modules({{section.address + own_bias(), ".text", self},
                              {1, ".text", "/no/such/file"},
                              {1, ".none", self}});
  }

  bool read(uint64_t address, std::span<std::byte> to) {
    return source_->memory().read(address, to);
  }

  Result<std::optional<std::string>> content_of(const AddressRange &range) {
    if (fails)
      return fail(ErrorCode::cancelled, "interrupted");
    ++requests;
    bytes += range.size();
    if (range.low < hidden.high && hidden.low < range.high)
      return std::nullopt;
    std::string content(range.size(), '\0');
    // Not by a pointer: AddressSanitizer has redzones in the range.
    EXPECT_TRUE(memory_->read(range.low, std::as_writable_bytes(std::span(content))));
    return content;
  }

  std::unique_ptr<DebuggerSource> source_ =
      debugger_source([this](const AddressRange &range) { return content_of(range); });
  std::unique_ptr<Memory> memory_ = std::move(*process_memory(::getpid()));
  AddressRange hidden;
  size_t requests = 0;
  uint64_t bytes = 0;
  bool fails = false;
};

alignas(64) char variables[1 << 18] = {1};

TEST(DebuggerSource, AsksForWhatReadsMiss) {
  std::mt19937 random(1);
  for (char &each : variables)
    each = static_cast<char>(random());
  const auto start = reinterpret_cast<uint64_t>(variables);
  for (int run = 0; run < 20; ++run) {
    OwnProgram program;
    Diagnostics diagnostics;
    ASSERT_EQ(program.source_->modules(diagnostics).size(), 1u);
    EXPECT_EQ(diagnostics.findings().size(), 1u); // a file that is not on this machine
    if (run % 2 == 1)
      program.hidden.low = start + random() % sizeof variables;
    program.hidden.high = program.hidden.low == 0 ? 0 : program.hidden.low + 1 + random() % 64;
    for (int i = 0; i < 2000; ++i) {
      const uint64_t offset = random() % sizeof variables;
      std::vector<std::byte> copy(std::min<size_t>(1 + random() % 300, sizeof variables - offset));
      const uint64_t at = start + offset;
      const bool is_hidden = at < program.hidden.high && program.hidden.low < at + copy.size();
      ASSERT_EQ(program.read(at, copy), !is_hidden);
      if (!is_hidden) {
        ASSERT_EQ(std::memcmp(copy.data(), variables + offset, copy.size()), 0);
      }
    }
    if (run % 2 == 0) {
      EXPECT_LT(program.requests, 100u); // one request for each piece, and pieces grow
      EXPECT_LT(program.bytes, 16 * sizeof variables);
    }
  }
}

TEST(DebuggerSource, ReadsConstantsFromTheFile) {
  static const char constant[] = "a text in the constant part of this program";
  OwnProgram program;
  Diagnostics diagnostics;
  program.source_->modules(diagnostics);
  EXPECT_LE(program.requests, 1u); // the build ID
  char copy[sizeof constant];
  EXPECT_TRUE(program.source_->memory().read(reinterpret_cast<uint64_t>(constant),
                                             std::as_writable_bytes(std::span(copy))));
  EXPECT_STREQ(copy, constant);
  EXPECT_LE(program.requests, 1u);
}

TEST(DebuggerSource, ForgetsWhatThePauseShowed) {
  OwnProgram program;
  char copy[8];
  const auto start = reinterpret_cast<uint64_t>(variables);
  ASSERT_TRUE(program.read(start, std::as_writable_bytes(std::span(copy))));
  variables[0] = static_cast<char>(~variables[0]);
  program.source_->forget();
  ASSERT_TRUE(program.read(start, std::as_writable_bytes(std::span(copy))));
  EXPECT_EQ(copy[0], variables[0]);
}

TEST(DebuggerSource, FailsUntilItForgetsAfterAnInterrupt) {
  OwnProgram program;
  char copy[8];
  const auto start = reinterpret_cast<uint64_t>(variables);
  program.fails = true;
  EXPECT_FALSE(program.read(start, std::as_writable_bytes(std::span(copy))));
  program.fails = false;
  EXPECT_FALSE(program.read(start, std::as_writable_bytes(std::span(copy))));
  EXPECT_EQ(program.source_->failure().error().code, ErrorCode::cancelled);
  program.source_->forget();
  EXPECT_TRUE(program.source_->failure());
  EXPECT_TRUE(program.read(start, std::as_writable_bytes(std::span(copy))));
}

// A core file with one segment of memory, and the note of mappings.
std::string small_core() {
  std::string text(0x400, '\0');
  const auto put = [&](size_t at, uint64_t value, size_t size) {
    std::memcpy(text.data() + at, &value, size);
  };
  std::memcpy(text.data(),
              "\x7f"
              "ELF\2\1\1",
              7);
  put(16, ET_CORE, 2);
  put(18, EM_X86_64, 2);
  put(20, 1, 4);
  put(32, 64, 8); // program headers
  put(52, 64, 2);
  put(54, 56, 2);
  put(56, 2, 2);
  put(64, PT_LOAD, 4);
  put(64 + 8, 0x300, 8);
  put(64 + 16, 0x5000, 8);
  put(64 + 32, 0x80, 8);  // in the file
  put(64 + 40, 0x100, 8); // in memory
  put(120, PT_NOTE, 4);
  put(120 + 8, 0x200, 8);
  put(120 + 32, 20 + 5 * 8 + 8, 8);
  put(120 + 48, 4, 8);
  put(0x200, 5, 4); // "CORE"
  put(0x204, 5 * 8 + 8, 4);
  put(0x208, NT_FILE, 4);
  std::memcpy(text.data() + 0x20c, "CORE", 4);
  put(0x214, 1, 8);
  put(0x21c, 4096, 8);
  put(0x224, 0x5000, 8);
  put(0x22c, 0x6000, 8);
  put(0x234, 3, 8);
  std::memcpy(text.data() + 0x23c, "/bin/x", 6);
  for (size_t i = 0; i < 0x80; ++i)
    text[0x300 + i] = static_cast<char>(i);
  return text;
}

class CoreFileTest : public testing::Test {
protected:
  std::string write(const std::string &bytes) { return folder_.put("core", bytes); }
  TemporaryFolder folder_;
};

TEST_F(CoreFileTest, HoldsMemoryAndMappings) {
  const auto core = symbolize::CoreFile::open(write(small_core()));
  ASSERT_TRUE(core) << core.error().text();
  ASSERT_EQ(core->mappings().size(), 1u);
  EXPECT_EQ(core->mappings()[0].path, "/bin/x");
  EXPECT_EQ(core->mappings()[0].start, 0x5000u);
  EXPECT_EQ(core->mappings()[0].file_offset, 3 * 4096u);
  char bytes[16];
  const auto read = [&](uint64_t address) {
    return core->read(address, std::as_writable_bytes(std::span(bytes)));
  };
  EXPECT_TRUE(read(0x5010));
  EXPECT_EQ(bytes[1], 0x11);
  EXPECT_TRUE(read(0x5070));
  EXPECT_FALSE(read(0x5071)); // the file ends before the memory does
  EXPECT_FALSE(read(0x50f0));
  EXPECT_FALSE(read(0x4ff8));
  EXPECT_FALSE(read(UINT64_MAX - 8));
}

TEST_F(CoreFileTest, SurvivesDamage) {
  std::mt19937 random(5);
  const std::string whole = small_core();
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = whole;
    for (size_t changes = random() % 6; changes > 0; --changes)
      bytes[random() % 0x260] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    if (random() % 4 == 0)
      bytes.resize(random() % bytes.size());
    const auto core = symbolize::CoreFile::open(write(bytes));
    if (!core)
      continue;
    char copy[64];
    for (int k = 0; k < 10; ++k)
      core->read(random() % 2 ? 0x5000 + random() % 0x100 : uint64_t{random()} << random() % 33,
                 std::as_writable_bytes(std::span(copy)));
    core->threads("");
    if (auto source = core_source(core->path(), "")) {
      Diagnostics diagnostics;
      (*source)->modules(diagnostics);
    }
  }
}

// The first thread of a process may end before the others. The memory is then theirs.
TEST(LiveSource, ReadsAProcessWhoseFirstThreadHasEnded) {
  static int value = 7;
  std::array<int, 2> go{};
  ASSERT_EQ(::pipe(go.data()), 0);
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    value = 8;
    std::thread([] { ::pause(); }).detach();
    ::close(go[1]);
    char byte = 0;
    static_cast<void>(!::read(go[0], &byte, 1));
    ::syscall(SYS_exit, 0); // of this thread alone
  }
  const auto before = process_source(pid);
  ::close(go[1]);
  for (int tries = 0; tries < 1000 && thread_with_memory(pid) == pid; ++tries)
    ::usleep(1000);
  EXPECT_NE(thread_with_memory(pid), pid);
  const auto after = process_source(pid);
  for (const auto *const each : {&before, &after})
    if (*each) {
      int seen = 0;
      EXPECT_TRUE((**each)->memory().read(reinterpret_cast<uint64_t>(&value),
                                          std::as_writable_bytes(std::span(&seen, 1))));
      EXPECT_EQ(seen, 8);
      EXPECT_NE((**each)->state_of_modules().value_or("").find("/"), std::string::npos);
      Diagnostics findings;
      EXPECT_FALSE((**each)->modules(findings).empty());
    } else {
      ADD_FAILURE() << each->error().text();
    }
  ::close(go[0]);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

} // namespace
} // namespace tally::live
