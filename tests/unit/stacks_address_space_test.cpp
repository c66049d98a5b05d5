#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "stacks/address_space.h"
#include "stacks/jit_dumps.h"

namespace tally::stacks_address_space_test {
namespace {

CodeRange range(uint64_t start, uint64_t limit, std::string path) {
  return {start, limit, 0, 1, 2, std::move(path)};
}

std::string at(const AddressSpace &space, uint64_t pc) {
  const uint32_t number = space.find(pc);
  return number == AddressSpace::nowhere ? "-" : space.ranges()[number].path;
}

TEST(AddressSpace, FindsByHalfOpenRanges) {
  AddressSpace space;
  EXPECT_EQ(at(space, 0), "-");
  space.map(range(100, 200, "a"));
  space.map(range(300, 400, "b"));
  EXPECT_EQ(at(space, 99), "-");
  EXPECT_EQ(at(space, 100), "a");
  EXPECT_EQ(at(space, 199), "a");
  EXPECT_EQ(at(space, 200), "-");
  EXPECT_EQ(at(space, 399), "b");
  EXPECT_EQ(at(space, 400), "-");
  EXPECT_EQ(at(space, ~uint64_t{0}), "-");
}

TEST(AddressSpace, NewRangesReplaceAndSplitOldOnes) {
  AddressSpace space;
  space.map(range(100, 200, "a"));
  space.map(range(200, 300, "b"));
  space.map(range(300, 400, "c"));
  space.map(range(150, 350, "new"));
  EXPECT_EQ(at(space, 149), "a");
  EXPECT_EQ(at(space, 150), "new");
  EXPECT_EQ(at(space, 250), "new");
  EXPECT_EQ(at(space, 349), "new");
  EXPECT_EQ(at(space, 350), "c");
  space.map(range(200, 210, "hole"));
  EXPECT_EQ(at(space, 199), "new");
  EXPECT_EQ(at(space, 205), "hole");
  EXPECT_EQ(at(space, 210), "new");
  EXPECT_EQ(at(space, 399), "c");
  space.map(range(0, 1000, "all"));
  EXPECT_EQ(at(space, 120), "all");
  EXPECT_EQ(at(space, 999), "all");
}

TEST(AddressSpace, FindsJitCodeInMemoryWithoutAFile) {
  AddressSpace space;
  CodeRange code = range(110, 120, "/x/jit-1.dump");
  code.is_jit = true;
  space.map(range(100, 200, "//anon"));
  const uint32_t memory = space.find(115);
  space.map_code(code);
  EXPECT_EQ(at(space, 109), "//anon");
  EXPECT_EQ(at(space, 110), "/x/jit-1.dump");
  EXPECT_EQ(space.ranges()[space.find_mapping(115)].path, "//anon");
  EXPECT_EQ(space.with_code(memory, 115), space.find(115));
  EXPECT_EQ(space.with_code(memory, 120), memory);
  space.map(range(100, 200, "//anon")); // its protection was changed
  EXPECT_EQ(at(space, 119), "/x/jit-1.dump");
  space.map(range(100, 200, "libx.so"));
  EXPECT_EQ(at(space, 115), "libx.so");
  space.reset();
  EXPECT_EQ(at(space, 115), "-");
}

// Compares with a table of single addresses.
TEST(AddressSpace, AgreesWithATableOfAddresses) {
  AddressSpace space;
  std::vector<std::string> plain(256, "-");
  uint32_t state = 12345;
  const auto next = [&](uint32_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % below;
  };
  for (int round = 0; round < 3000; ++round) {
    const uint64_t start = next(250), limit = start + 1 + next(static_cast<uint32_t>(255 - start));
    const std::string path = "m" + std::to_string(next(40));
    if (next(100) == 0) {
      space.reset();
      plain.assign(256, "-");
    }
    space.map(range(start, limit, path));
    for (uint64_t i = start; i < limit; ++i)
      plain[i] = path;
    for (uint64_t i = 0; i < 256; ++i)
      ASSERT_EQ(at(space, i), plain[i]) << "round " << round << " at " << i;
  }
}

// What one space maps after another has inherited from it is not mapped in the other.
TEST(AddressSpace, InheritsWhatIsMappedAtTheTime) {
  const auto ranges = std::make_shared<CodeRanges>();
  std::deque<AddressSpace> spaces;
  for (int i = 0; i < 5; ++i)
    spaces.emplace_back(ranges);
  std::vector<std::vector<std::string>> plain(spaces.size(), std::vector<std::string>(64, "-"));
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const size_t one = random() % spaces.size(), other = random() % spaces.size();
    if (random() % 8 == 0) {
      spaces[one].inherit(spaces[other]);
      plain[one] = plain[other];
    }
    const uint64_t start = random() % 60, limit = start + 1 + random() % (63 - start);
    const std::string path = "m" + std::to_string(random() % 40);
    spaces[one].map(range(start, limit, path));
    std::fill_n(plain[one].begin() + static_cast<ptrdiff_t>(start), limit - start, path);
    for (size_t i = 0; i < spaces.size(); ++i)
      for (uint64_t address = 0; address < 64; ++address)
        ASSERT_EQ(at(spaces[i], address), plain[i][address]) << "round " << round;
  }
}

TEST(AddressSpace, KeepsNumbersAndSharesThoseOfEqualRanges) {
  AddressSpace space;
  space.map(range(100, 200, "a"));
  const uint32_t a = space.find(150);
  const uint64_t generation = space.generation();
  space.map(range(100, 200, "a")); // both /proc and a record may report it
  EXPECT_EQ(space.generation(), generation);
  space.map(range(100, 200, "b"));
  EXPECT_NE(space.find(150), a);
  EXPECT_NE(space.generation(), generation);
  EXPECT_EQ(space.ranges()[a].path, "a");
  space.reset();
  EXPECT_EQ(space.find(150), AddressSpace::nowhere);
  space.map(range(100, 200, "a"));
  EXPECT_EQ(space.find(150), a);
  EXPECT_EQ(space.ranges().size(), 2u);
  space.map(range(200, 200, "empty"));
  EXPECT_EQ(space.ranges().size(), 2u);
}

TEST(AddressSpace, UsesTheFirstFileAsTheProgram) {
  AddressSpace space;
  EXPECT_EQ(space.program(), AddressSpace::nowhere);
  space.map(range(900, 950, "[vdso]"));
  space.map(range(960, 970, "//anon"));
  space.map(range(100, 200, "/bin/x"));
  space.map(range(300, 400, "/lib/y"));
  EXPECT_EQ(space.ranges()[space.program()].path, "/bin/x");
}

TEST(ProcMaps, KeepsOnlyExecutableLines) {
  const auto ranges = parse_maps(
      "55d0c2a00000-55d0c2a02000 r--p 00000000 08:01 1234                       /bin/cat\n"
      "55d0c2a02000-55d0c2a07000 r-xp 00002000 08:01 1234                       /bin/cat\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7f0000002000-7f0000003000 r-xs 00000000 00:05 9                          /a b (deleted)\n"
      "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]\n"
      "garbage\n"
      "7ffd00000000-7ffd00002000 r-xp\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]");
  ASSERT_EQ(ranges.size(), 5u);
  EXPECT_EQ(ranges[0].start, 0x55d0c2a02000u);
  EXPECT_EQ(ranges[0].limit, 0x55d0c2a07000u);
  EXPECT_EQ(ranges[0].file_offset, 0x2000u);
  EXPECT_EQ(ranges[0].inode, 1234u);
  EXPECT_EQ(ranges[0].device, 0x801u);
  EXPECT_EQ(ranges[0].path, "/bin/cat");
  EXPECT_EQ(ranges[1].path, "//anon");
  EXPECT_EQ(ranges[2].path, "/a b (deleted)");
  EXPECT_EQ(ranges[3].path, "[vdso]");
  EXPECT_EQ(ranges[4].path, "[vsyscall]");
}

// Writes a jitdump of this process with 8 bytes of code at 0x1000, which was made at `time`.
void write_dump(const std::string &path, uint64_t flags, uint64_t time) {
  std::string out;
  const auto put = [&](auto number) {
    out.append(reinterpret_cast<const char *>(&number), sizeof number);
  };
  const auto pid = static_cast<uint32_t>(::getpid());
  for (const uint32_t word : {0x4A695444U, 1U, 40U, 62U, 0U, pid})
    put(word);
  for (const uint64_t word : {uint64_t{1}, flags})
    put(word);
  put(uint32_t{0});
  put(uint32_t{16 + 40 + 2 + 8});
  put(time);
  for (const uint32_t word : {pid, pid})
    put(word);
  for (const uint64_t word : {0x1000U, 0x1000U, 8U, 1U})
    put(word);
  out += std::string("f\0", 2) + std::string(8, '\x90');
  std::ofstream(path) << out;
}

// The times of code and of samples may be of different clocks.
TEST(JitDumps, WaitForTheTimeOfCodeOnlyOnTheSameClock) {
  std::string folder = (std::filesystem::temp_directory_path() / "tally-jit-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  for (const uint64_t flags : {uint64_t{0}, uint64_t{1}}) { // 1: times are of the processor
    const std::string path = folder + "/jit-" + std::to_string(flags) + ".dump";
    write_dump(path, flags, 1000);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    JitDumps dumps;
    dumps.open(::getpid(), {0, 4096, 0, status.st_dev, status.st_ino, path});
    AddressSpace space;
    space.map(range(0x1000, 0x2000, "//anon"));
    dumps.advance(999, space);
    EXPECT_EQ(at(space, 0x1000), flags ? path : "//anon");
    dumps.advance(1000, space);
    EXPECT_EQ(at(space, 0x1007), path);
    EXPECT_EQ(at(space, 0x1008), "//anon");
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace tally::stacks_address_space_test
