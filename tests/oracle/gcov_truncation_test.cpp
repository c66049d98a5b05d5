// Truncates real coverage files at every byte. Each is rejected with an offset, or is a valid file
// as far as it goes; none is misread.
//
// TALLY_CORPUS names the corpus; without it, the directory shared/corpus beside the sources is
// used.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "formats/gcov/read.h"
#include "formats/gcov3/gcov3.h"
#include "support/file_io.h"

namespace tally {
namespace {

namespace fs = std::filesystem;

fs::path corpus() {
  const char *named = std::getenv("TALLY_CORPUS");
  const char *sources = std::getenv("TALLY_SOURCE_ROOT");
  return named && *named ? fs::path(named)
                         : fs::path(sources ? sources : ".") / ".." / "shared" / "corpus";
}

// Returns the smallest file of each directory and extension, because the time grows with the square
// of the size. Files larger than `largest` are left out.
constexpr uintmax_t largest = 24 * 1024;
std::vector<fs::path> chosen(std::string_view below, const std::set<std::string> &endings) {
  std::map<std::pair<fs::path, std::string>, fs::path> smallest;
  for (const auto &entry : fs::recursive_directory_iterator(corpus() / below)) {
    const fs::path &path = entry.path();
    if (!endings.contains(path.extension().string()) || !entry.file_size() ||
        entry.file_size() > largest)
      continue;
    fs::path &least = smallest[{path.parent_path(), path.extension().string()}];
    if (least.empty() || entry.file_size() < fs::file_size(least))
      least = path;
  }
  std::vector<fs::path> out;
  for (const auto &[key, path] : smallest)
    out.push_back(path);
  return out;
}

using Read = Result<std::unique_ptr<CounterFile>> (*)(ByteSource &, Diagnostics &);

// Reads each proper prefix of the file. Returns how many of them are valid files.
size_t cut(const fs::path &path, Read read) {
  auto source = ByteSource::open(path.string());
  EXPECT_TRUE(source) << path;
  const std::string bytes = *(*source)->rest();
  size_t whole = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    Diagnostics findings;
    const std::string_view part = std::string_view(bytes).substr(0, size);
    const auto file = read(*ByteSource::of(part, path.filename().string()), findings);
    if (!file) {
      EXPECT_FALSE(file.error().message.empty());
      EXPECT_EQ(file.error().source, path.filename().string());
      // An empty file has no offset to report.
      EXPECT_TRUE(size == 0 || file.error().where.kind == Position::Kind::offset)
          << path << " " << size << " " << file.error().text();
      EXPECT_LE(file.error().where.offset, size) << path << " " << file.error().text();
      continue;
    }
    ++whole;
    const auto written = (*file)->bytes();
    EXPECT_TRUE(written && *written == part) << path << " " << size;
  }
  return whole;
}

TEST(GcovTruncation, Data) {
  const auto files = chosen("gcov", {".gcda"});
  ASSERT_GE(files.size(), 3u);
  for (const fs::path &path : files)
    // GCC's end mark may be missing. Clang writes it twice, and nothing is lost without the second.
    EXPECT_LE(cut(path, gcov::read_data), 4u) << path;
}

TEST(GcovTruncation, Notes) {
  const auto files = chosen("gcov", {".gcno"});
  ASSERT_GE(files.size(), 3u);
  for (const fs::path &path : files) {
    const size_t whole = cut(path, gcov::read_notes);
    EXPECT_LE(whole, fs::file_size(path) / 8 + 5) << path; // at most at each record boundary
  }
}

TEST(GcovTruncation, Gcc3) {
  const auto counters = chosen("gcov3", {".da"}), notes = chosen("gcov3", {".bb", ".bbg"});
  ASSERT_GE(counters.size(), 3u);
  ASSERT_GE(notes.size(), 4u);
  for (const fs::path &path : counters)
    EXPECT_LE(cut(path, gcov3::read), 1u) << path; // between its two blocks, if it has two
  for (const fs::path &path : notes)
    cut(path, gcov3::read);
}

} // namespace
} // namespace tally

int main(int argc, char **argv) {
  if (!std::filesystem::exists(tally::corpus() / "gcov")) {
    std::printf("SKIP: there is no corpus in %s (TALLY_CORPUS can name another)\n",
                tally::corpus().c_str());
    return 77;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
