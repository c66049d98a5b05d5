// Tests that the cache of symbol tables gives the same answers, whatever happened to its file.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "model/symbolizer.h"
#include "symbolize/cache.h"
#include "symbolize/elf_file.h"

namespace tally::symbolize_cache_test {
namespace {

namespace fs = std::filesystem;
using symbolize::Cache;
using symbolize::CacheSource;
using symbolize::CacheWriter;

std::string read_all(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_all(const fs::path &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
}

// Returns a small program with debug information of several units, or this test if run by hand.
std::string subject() {
  const char *const programs = std::getenv("TALLY_PROGRAMS");
  return programs ? std::string(programs) + "/inlines" : "/proc/self/exe";
}

// Looks up `count` addresses. Calls `before` when the files of the program are known.
std::string answers(bool use_cache, size_t count = 200, const std::string &path = subject(),
                    const std::function<void()> &before = {}) {
  SymbolizerOptions options;
  options.use_cache = use_cache;
  const auto symbolizer = make_symbolizer(options);
  Diagnostics diagnostics;
  ModuleKey key;
  key.path = path;
  const ModuleId module = symbolizer->module(key, diagnostics);
  auto file = symbolize::ElfFile::open(key.path);
  if (!file || file->code_segments().empty())
    return "no executable";
  const symbolize::Segment segment = file->code_segments().front();
  if (before)
    before();
  std::string text;
  std::vector<SourceFrame> frames;
  for (size_t i = 0; i < count; ++i) {
    frames.clear();
    const uint64_t offset = segment.offset + (segment.size / count) * i;
    const auto address = symbolizer->link_address(module, offset);
    if (!address)
      continue;
    symbolizer->frames(module, *address, frames);
    for (const SourceFrame &frame : frames) {
      text += frame.function;
      text += ' ';
      text += frame.system_name;
      text += ' ';
      text += frame.function_file;
      text += ':' + std::to_string(frame.function_line) + ' ';
      text += frame.file;
      text += ':' + std::to_string(frame.line) + '\n';
    }
    text += '\n';
  }
  symbolizer->save_cache();
  return text;
}

class SymbolizeCache : public ::testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tally-cache-test-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    ::setenv("TALLY_CACHE_DIR", folder_.c_str(), 1);
    without_ = answers(false);
  }
  void TearDown() override {
    ::unsetenv("TALLY_CACHE_DIR");
    fs::remove_all(folder_);
  }
  fs::path cache_file() const {
    for (const auto &entry : fs::directory_iterator(folder_))
      return entry.path();
    return {};
  }

  fs::path folder_;
  std::string without_;
};

TEST_F(SymbolizeCache, GivesTheSameAnswers) {
  EXPECT_NE(without_.find("::"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_EQ(answers(true), without_);
  if (!fs::exists(folder_))
    GTEST_SKIP() << "this executable has no build id";
  const auto written = fs::last_write_time(cache_file());
  EXPECT_EQ(answers(true), without_);
  EXPECT_EQ(fs::last_write_time(cache_file()), written) << "nothing new, so nothing is written";
}

TEST_F(SymbolizeCache, GrowsWithLaterRequests) {
  answers(true, 1);
  if (!fs::exists(folder_))
    GTEST_SKIP() << "this executable has no build id";
  const auto small = fs::file_size(cache_file());
  EXPECT_EQ(answers(true), without_);
  EXPECT_GT(fs::file_size(cache_file()), small);
  EXPECT_EQ(answers(true), without_);
}

// A process whose program is gone adds nothing to the cache, and nothing wrong.
TEST_F(SymbolizeCache, KeepsItsNamesWhileTheFileIsGone) {
  const fs::path program = folder_.string() + "-program", away = folder_.string() + "-away";
  fs::copy_file(subject(), program, fs::copy_options::overwrite_existing);
  const std::string names = answers(false, 200, program);
  { // An address with debug information needs neither the table of symbols nor all units.
    const auto symbolizer = make_symbolizer({});
    Diagnostics diagnostics;
    ModuleKey key;
    key.path = program;
    const ModuleId module = symbolizer->module(key, diagnostics);
    std::vector<SourceFrame> frames;
    for (const uint64_t address : symbolizer->addresses_of(module, "main"))
      symbolizer->frames(module, address, frames);
    EXPECT_FALSE(frames.empty());
    symbolizer->save_cache();
  }
  (void)answers(true, 200, program, [&] { fs::rename(program, away); });
  fs::rename(away, program);
  EXPECT_EQ(answers(true, 200, program), names);
  fs::remove(program);
}

TEST_F(SymbolizeCache, SurvivesTruncation) {
  answers(true);
  if (!fs::exists(folder_))
    GTEST_SKIP() << "this executable has no build id";
  const fs::path file = cache_file();
  const std::string whole = read_all(file);
  for (size_t i = 0; i < 16; ++i) {
    const size_t length = i < 12 ? i * 16 : whole.size() * (i - 11) / 5;
    write_all(file, std::string_view(whole).substr(0, length));
    ASSERT_EQ(answers(true), without_) << "cut at " << length;
    EXPECT_GE(read_all(file).size() + whole.size() / 8, whole.size()) << "was not written again";
  }
}

TEST_F(SymbolizeCache, SurvivesFlippedBytes) {
  answers(true);
  if (!fs::exists(folder_))
    GTEST_SKIP() << "this executable has no build id";
  const fs::path file = cache_file();
  const std::string whole = read_all(file);
  std::mt19937_64 chance(1);
  for (size_t i = 0; i < 32; ++i) {
    std::string bad = whole;
    // First the header, then any bytes, few and many.
    for (size_t n = 0; n < (i < 24 ? 1 : 4000); ++n)
      bad[i < 16 ? i * 8 + chance() % 8 : chance() % bad.size()] ^=
          static_cast<char>(1 << (chance() % 8));
    write_all(file, bad);
    ASSERT_EQ(answers(true), without_) << "case " << i;
  }
}

TEST_F(SymbolizeCache, IgnoresForeignFilesAndUnusableDirectories) {
  answers(true);
  if (!fs::exists(folder_))
    GTEST_SKIP() << "this executable has no build id";
  const fs::path file = cache_file();
  for (std::string_view bytes : {"", "\x1f\x8b\x08gzip",
                                 "\x7f"
                                 "ELF",
                                 "tallysym"}) {
    write_all(file, bytes);
    EXPECT_EQ(answers(true), without_);
  }
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(answers(true), without_);
  ::setenv("TALLY_CACHE_DIR", "/proc/none/such", 1);
  EXPECT_EQ(answers(true), without_);
  ::setenv("TALLY_CACHE_DIR", "", 1);
  EXPECT_EQ(answers(true), without_);
}

TEST_F(SymbolizeCache, AllowsManyProcessesToWrite) {
  for (int round = 0; round < 3; ++round) {
    fs::remove_all(folder_);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const size_t count = i % 2 ? 200 : 3;
        const bool same = count == 200 ? answers(true) == without_ : !answers(true, 3).empty();
        ::_exit(same ? 0 : 1);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    EXPECT_EQ(answers(true), without_);
    if (fs::exists(folder_)) {
      size_t files = 0;
      for ([[maybe_unused]] const auto &entry : fs::directory_iterator(folder_))
        ++files;
      EXPECT_EQ(files, 1u) << "what was written aside is left behind";
    }
  }
}

// The cache has correct checksums and wrong contents: every reference is out of bounds.
TEST_F(SymbolizeCache, ChecksEveryReference) {
  fs::create_directories(folder_);
  const fs::path path = folder_ / "bad.sym";
  const CacheSource source{"00", "/x", {3, 4, 1, 2}};
  CacheWriter writer;
  CacheWriter::Unit unit;
  unit.key = 7;
  unit.ranges = {{0, 5}};
  unit.lines = {{0, 0xfffffff0, 1}};
  unit.nodes = {{9, 0, 0x7fffffff, 1}};
  unit.functions = {{3, 0x1000, 0xffffffff, 1}};
  writer.add(unit);
  writer.set_unit_ranges({{0, ~uint64_t{0}, 7}}, true);
  write_all(path, writer.finish(source));
  const auto cache = Cache::open(path, source);
  ASSERT_NE(cache, nullptr);
  const Cache::Unit *read = cache->unit(7);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(cache->text(read->tables.lines[0].file), "");
  EXPECT_EQ(cache->text(read->tables.functions[0].file), "");
  EXPECT_EQ(cache->text(3).size(), cache->text(3).size());
  EXPECT_EQ(read->tables.functions[9].line, 0u);
  for (const CacheSource &other :
       {CacheSource{"01", "/x", source.file}, CacheSource{"00", "/y", source.file},
        CacheSource{"00", "/x", {3, 4, 1, 3}}, CacheSource{"00", "/x", {3, 4, 2, 2}},
        CacheSource{"00", "/x", {3, 5, 1, 2}}, CacheSource{"00", "/x", {4, 4, 1, 2}}})
    EXPECT_EQ(Cache::open(path, other), nullptr);
}

// With sudo -E, the home is another user's: a link there would be followed.
TEST(SymbolizeCacheDirectory, IsNotInTheHomeOfAnother) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can make a directory of another user";
  const fs::path home = fs::temp_directory_path() / ("tally-home-" + std::to_string(::getpid()));
  fs::create_directories(home);
  const char *const variables[] = {"HOME", "XDG_CACHE_HOME", "TALLY_CACHE_DIR"};
  std::vector<std::optional<std::string>> before;
  for (const char *const each : variables) {
    const char *const value = std::getenv(each);
    before.push_back(value ? std::optional<std::string>(value) : std::nullopt);
    ::unsetenv(each);
  }
  ::setenv("HOME", home.c_str(), 1);
  EXPECT_EQ(symbolize::cache_directory(), home.string() + "/.cache/tally");
  ASSERT_EQ(::chown(home.c_str(), 12345, 12345), 0);
  EXPECT_EQ(symbolize::cache_directory(), "");
  ::setenv("TALLY_CACHE_DIR", home.c_str(), 1);
  EXPECT_EQ(symbolize::cache_directory(), home.string()) << "what is asked for";
  for (size_t i = 0; i < before.size(); ++i)
    if (before[i])
      ::setenv(variables[i], before[i]->c_str(), 1);
    else
      ::unsetenv(variables[i]);
  fs::remove_all(home);
}

} // namespace
} // namespace tally::symbolize_cache_test
