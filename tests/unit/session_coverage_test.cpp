#include <array>
#include <cinttypes>
#include <cstdlib>
#include <fstream>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

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
  std::string stacks() const { return std::to_string(pid_) + " 0\n"; }
  // Returns the answer to RequestKind::modules for the program alone.
  std::string modules() const {
    std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
    uint64_t begin = 0;
    maps >> std::hex >> begin;
    const auto file = symbolize::ElfFile::open(path());
    const symbolize::Section section = file->loaded_sections().front();
    std::array<char, 64> start{};
    std::snprintf(start.data(), start.size(), "module %" PRIx64 " ", begin + section.address);
    return start.data() + std::string(section.name) + " " + path() + "\n";
  }
  std::optional<std::string> memory(uint64_t low, uint64_t high) const {
    std::string bytes(high - low, '\0');
    std::ifstream file("/proc/" + std::to_string(pid_) + "/mem", std::ios::binary);
    file.seekg(static_cast<std::streamoff>(low));
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
    ASSERT_TRUE(session.event(program.event(EventKind::target)));
  }
  // Runs a command, and answers its requests for stacks. Returns the text or the error.
  std::string said(const std::string &line) {
    auto reply = session.command(line, GroupId::coverage);
    while (reply && reply->request.kind == RequestKind::stacks)
      reply = session.answer(std::vector{program.stacks()});
    return reply ? reply->text : reply.error().text();
  }

  TemporaryFolder folder;
  Counted program{folder};
  Session session;
};

TEST_F(CoverageCommands, EndIfTheProgramDoes) {
  for (const char *line : {"report", "report --by object", "mark", "break", "list"}) {
    ASSERT_TRUE(session.event(program.event(EventKind::target)));
    const auto asked = session.command(line, GroupId::coverage);
    ASSERT_TRUE(asked) << asked.error().text();
    ASSERT_EQ(asked->request.kind, RequestKind::stacks);
    ASSERT_TRUE(session.event(program.event(EventKind::exited)));
    const auto reply = session.answer(std::vector{program.stacks()});
    ASSERT_FALSE(reply) << reply->text;
    EXPECT_NE(reply.error().text().find("the program is gone"), std::string::npos) << line;
  }
}

std::string hex(const std::optional<std::string> &bytes) {
  std::string out;
  std::array<char, 3> digits{};
  for (const char byte : bytes.value_or("")) {
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(byte));
    out += digits.data();
  }
  return out + "\n";
}

// The front end reports the memory of a remote program, as bytes or in hexadecimal.
TEST_F(CoverageCommands, ReadMemoryThroughTheFrontEnd) {
  const std::string expected = said("report --by function");
  EXPECT_NE(expected.find("main"), std::string::npos) << expected;
  DebugEvent remote = program.event(EventKind::target);
  remote.target = TargetKind::remote;
  for (const bool as_text : {false, true}) {
    ASSERT_TRUE(session.event(program.event(EventKind::exited)));
    ASSERT_TRUE(session.event(remote));
    size_t ranges = 0;
    auto reply = session.command("report --by function", GroupId::coverage);
    while (reply && reply->request.kind != RequestKind::none) {
      if (reply->request.kind != RequestKind::memory) {
        reply = session.answer(std::vector{
            reply->request.kind == RequestKind::modules ? program.modules() : program.stacks()});
        continue;
      }
      std::vector<std::optional<std::string>> contents;
      EXPECT_EQ(session.answer_memory({}).error().code, ErrorCode::invalid_argument);
      const std::vector<uint64_t> asked = reply->request.addresses;
      for (size_t i = 0; i < asked.size(); i += 2)
        contents.push_back(program.memory(asked[i], asked[i + 1]));
      ranges += contents.size();
      std::string text;
      for (const auto &content : contents)
        text += hex(content);
      reply =
          as_text ? session.answer(std::vector{text}) : session.answer_memory(std::move(contents));
    }
    ASSERT_TRUE(reply) << reply.error().text();
    EXPECT_EQ(reply->text, expected);
    EXPECT_GT(ranges, 0u);
  }
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
