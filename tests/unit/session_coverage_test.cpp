#include <cstdlib>
#include <fstream>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fake_debugger.h"
#include "session/session.h"
#include "symbolize/elf_file.h"
#include "temporary.h"

namespace tally::session_coverage_test {
namespace {

// The program `counted`, stopped when it is about to exit. Its own files of counters go to
// `folder`.
class Counted {
public:
  explicit Counted(const TemporaryFolder &folder) {
    const std::string file = path();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setenv("GCOV_PREFIX", (folder / "own").c_str(), 1);
      ::close(STDOUT_FILENO);
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      ::execl(file.c_str(), file.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ::ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
    ::ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    ::waitpid(pid_, &status, 0);
    is_stopped_ = status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
  }
  Counted(const Counted &) = delete;
  ~Counted() {
    ::ptrace(PTRACE_DETACH, pid_, nullptr, nullptr); // the exit then goes on
    ::waitpid(pid_, nullptr, 0);
  }
  bool is_stopped() const { return is_stopped_; }
  DebugEvent event(EventKind kind) const {
    DebugEvent event;
    event.kind = kind;
    event.target = TargetKind::native;
    event.pid = pid_;
    return event;
  }
  std::vector<live::StoppedThread> threads() const { return {{pid_, {0}}}; }
  // The program alone.
  Debugger::LoadedFiles files() const {
    std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
    uint64_t begin = 0;
    maps >> std::hex >> begin;
    const auto file = symbolize::ElfFile::open(path());
    const symbolize::Section section = file->loaded_sections().front();
    return {{}, {{begin + section.address, std::string(section.name), path()}}};
  }
  std::optional<std::string> memory(const live::AddressRange &range) const {
    std::string bytes(range.size(), '\0');
    std::ifstream file("/proc/" + std::to_string(pid_) + "/mem", std::ios::binary);
    file.seekg(static_cast<std::streamoff>(range.low));
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file ? std::optional(bytes) : std::nullopt;
  }

private:
  static std::string path() {
    const char *const programs = std::getenv("TALLY_PROGRAMS");
    return std::string(programs ? programs : ".") + "/counted";
  }

  pid_t pid_ = 0;
  bool is_stopped_ = false;
};

class CoverageCommands : public testing::Test {
protected:
  void SetUp() override {
    if (!program.is_stopped())
      GTEST_SKIP() << "the program `counted` cannot be traced";
    debugger.threads = program.threads();
    ASSERT_TRUE(session.event(program.event(EventKind::target)));
  }
  // Returns the text or the error of a command.
  std::string said(const std::string &line) {
    const auto reply = session.command(line, GroupId::coverage);
    return reply ? *reply : reply.error().text();
  }
  void be_remote() {
    ASSERT_TRUE(session.event(program.event(EventKind::exited)));
    DebugEvent remote = program.event(EventKind::target);
    remote.target = TargetKind::remote;
    ASSERT_TRUE(session.event(remote));
    debugger.files = program.files();
    debugger.content_of = [this](const live::AddressRange &range) {
      ++reads;
      return program.memory(range);
    };
  }

  TemporaryFolder folder;
  Counted program{folder};
  FakeDebugger debugger;
  Session session{debugger};
  size_t reads = 0;
};

// A process may end while the debugger is asked for its stacks.
TEST_F(CoverageCommands, ForgetAProgramThatEndsMeanwhile) {
  for (const char *line : {"report", "report --by object", "mark", "break", "list"}) {
    ASSERT_TRUE(session.event(program.event(EventKind::target)));
    bool reported = false;
    debugger.during = [&](FakeDebugger::Call call) {
      if (std::exchange(reported, true))
        return;
      EXPECT_EQ(call, FakeDebugger::Call::stacks);
      ASSERT_TRUE(session.event(program.event(EventKind::exited)));
    };
    said(line);
    EXPECT_TRUE(reported) << line;
    EXPECT_NE(said("report --since mark").find("no mark in this process"), std::string::npos);
  }
}

TEST_F(CoverageCommands, ReadMemoryThroughTheDebugger) {
  const std::string expected = said("report --by function");
  EXPECT_NE(expected.find("main"), std::string::npos) << expected;
  be_remote();
  EXPECT_EQ(said("report --by function"), expected);
  EXPECT_GT(reads, 0u);
}

// A read that fails ends the command, and the next one is right.
TEST_F(CoverageCommands, EndIfAnyReadFails) {
  const std::string expected = said("report --by function");
  be_remote();
  const std::string refused = "the program's memory cannot be read: the connection is lost";
  for (const bool by_user : {true, false}) {
    size_t left = 0;
    debugger.during = [&](FakeDebugger::Call call) {
      if (call != FakeDebugger::Call::memory || left-- != 0)
        return;
      if (by_user)
        debugger.interrupt_call(call);
      else
        debugger.refuse(call, "the connection is lost");
    };
    for (size_t reads_before = 0;; ++reads_before) {
      ASSERT_LT(reads_before, 1000u);
      left = reads_before;
      const std::string text = said("report --by function");
      const bool failed = debugger.errors.contains(FakeDebugger::Call::memory);
      EXPECT_EQ(text, !failed ? expected : by_user ? "interrupted" : refused) << reads_before;
      debugger.errors.clear();
      if (!failed)
        break;
      left = SIZE_MAX;
      EXPECT_EQ(said("report --by function"), expected) << reads_before;
    }
  }
}

// Ctrl-C after the last read leaves no file.
TEST_F(CoverageCommands, WriteNothingIfTheUserInterrupts) {
  debugger.interrupt_call(FakeDebugger::Call::progress);
  EXPECT_EQ(said("dump " + (folder / "x.info")), "interrupted");
  EXPECT_FALSE(std::filesystem::exists(folder / "x.info"));
  debugger.errors.clear();
  EXPECT_NE(said("dump " + (folder / "x.info")).find("Wrote"), std::string::npos);
}

// The files of counters need no notes.
TEST_F(CoverageCommands, DumpCountersWithoutNotes) {
  ASSERT_TRUE(session.set("notes", folder / "nowhere", GroupId::coverage));
  EXPECT_NE(said("report").find(".gcno cannot be read"), std::string::npos) << said("report");
  EXPECT_EQ(said("dump " + (folder / "memory/")),
            "Wrote the counters of 1 object below " + (folder / "memory/") + ".\n");
  std::vector<std::string> files; // by the program and from its memory
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder / ""))
    if (entry.path().extension() == ".gcda") {
      std::ostringstream bytes;
      bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      files.push_back(bytes.str());
    }
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0], files[1]);
}

} // namespace
} // namespace tally::session_coverage_test
