// Tests names of code that a JIT compiler made, from perf maps and jitdumps.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <unistd.h>

#include "model/symbolizer.h"
#include "support/jit_dump.h"

namespace tally::symbolize_jit_test {
namespace {

class Jit : public testing::Test {
protected:
  Jit() {
    std::string path = (std::filesystem::temp_directory_path() / "tally-jit-XXXXXX").string();
    folder_ = ::mkdtemp(path.data()) ? path : "";
  }
  ~Jit() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string &name, const std::string &bytes, bool append = false) const {
    std::ofstream(folder_ + "/" + name, append ? std::ios::app : std::ios::trunc) << bytes;
    return folder_ + "/" + name;
  }

  ModuleId module(const std::string &path) {
    return symbolizer_->module({.path = path, .build_id = {}, .device = 0, .inode = 0, .pid = 0},
                               diagnostics_);
  }
  // Returns the function, file and line at an address.
  std::string name_at(ModuleId of, uint64_t address) {
    std::vector<SourceFrame> frames;
    symbolizer_->frames(of, address, frames);
    if (frames.size() != 1)
      return frames.empty() ? "-" : "several";
    return std::string(frames[0].function) +
           (frames[0].line
                ? " " + std::string(frames[0].file) + ":" + std::to_string(frames[0].line)
                : "");
  }

  std::string folder_;
  Diagnostics diagnostics_;
  std::unique_ptr<Symbolizer> symbolizer_ = make_symbolizer({{}, false});
};

TEST_F(Jit, ReadsAPerfMapThatGrows) {
  const std::string path = write("perf-1.map", "1000 100 old code\n"
                                               "0x1000 10 _ZN2ns1fEi\n"
                                               "no hexadecimal number\n"
                                               "2000 0 empty\n"
                                               "ffffffffffffff00 200 too long\n"
                                               "3000 10 incompl");
  const ModuleId map = module(path);
  EXPECT_EQ(symbolizer_->kind(map), ModuleKind::perf_map);
  EXPECT_EQ(name_at(map, 0xfff), "-");
  EXPECT_EQ(name_at(map, 0x1000), "ns::f(int)"); // the later line is about newer code
  EXPECT_EQ(name_at(map, 0x1010), "old code");
  EXPECT_EQ(name_at(map, 0x10ff), "old code");
  EXPECT_EQ(name_at(map, 0x1100), "-");
  EXPECT_EQ(name_at(map, 0x2000), "-");
  EXPECT_EQ(name_at(map, 0x3000), "-");
  write("perf-1.map", "ete\n1008 8 newest\n", true);
  EXPECT_EQ(module(path), map);
  EXPECT_EQ(name_at(map, 0x3000), "incomplete");
  EXPECT_EQ(name_at(map, 0x1008), "newest");
  write("perf-1.map", "5000 10 another program\n");
  EXPECT_EQ(module(path), map);
  EXPECT_EQ(name_at(map, 0x5000), "another program");
  EXPECT_EQ(name_at(map, 0x1000), "-");
}

// A program may make a map of gigabytes without a line.
TEST_F(Jit, EndsAPerfMapAtALineThatIsTooLong) {
  const std::string path = write("perf-2.map", "1000 10 before\n" + std::string(3 << 20, 'x'));
  const ModuleId map = module(path);
  EXPECT_EQ(name_at(map, 0x1000), "before");
  write("perf-2.map", "\n2000 10 behind\n", true);
  EXPECT_EQ(module(path), map);
  EXPECT_EQ(name_at(map, 0x2000), "-");
}

template <class Number> std::string bytes_of(Number number) {
  return {reinterpret_cast<const char *>(&number), sizeof number};
}

std::string record(uint32_t type, const std::string &body, uint64_t time = 1) {
  return bytes_of(type) + bytes_of(static_cast<uint32_t>(16 + body.size())) + bytes_of(time) + body;
}

std::string load(uint64_t address, uint64_t index, const std::string &name, size_t size) {
  return record(0, bytes_of(uint32_t{7}) + bytes_of(uint32_t{7}) + bytes_of(address) +
                       bytes_of(address) + bytes_of(uint64_t{size}) + bytes_of(index) + name +
                       '\0' + std::string(size, '\x90'));
}

std::string header() {
  return bytes_of(uint32_t{0x4A695444}) + bytes_of(uint32_t{1}) + bytes_of(uint32_t{40}) +
         bytes_of(uint32_t{62}) + bytes_of(uint32_t{0}) + bytes_of(uint32_t{7}) +
         bytes_of(uint64_t{1}) + bytes_of(uint64_t{0});
}

std::string lines(uint64_t code, uint64_t first) {
  const auto entry = [](uint64_t address, uint32_t line, const std::string &file) {
    return bytes_of(address) + bytes_of(line) + bytes_of(uint32_t{0}) + file + '\0';
  };
  return record(2, bytes_of(code) + bytes_of(uint64_t{2}) + entry(first, 3, "a.js") +
                       entry(first + 4, 5, "\xff"));
}

TEST_F(Jit, ReadsAJitDump) {
  const std::string path =
      write("jit-7.dump",
            header() + lines(0x1000, 0x1000) + load(0x1000, 1, "f", 8) + lines(0x2000, 0x2040) +
                load(0x2000, 2, "by V8", 8) +
                record(1, bytes_of(uint32_t{7}) + bytes_of(uint32_t{7}) + bytes_of(uint64_t{0}) +
                              bytes_of(uint64_t{0x1000}) + bytes_of(uint64_t{0x9000}) +
                              bytes_of(uint64_t{8}) + bytes_of(uint64_t{1})) +
                record(3, ""));
  auto dump = JitDump::open(path, JitDump::Names::read);
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->pid(), 7);
  EXPECT_TRUE(dump->is_monotonic());
  std::vector<JitCode> codes;
  dump->read([&](JitCode code) { codes.push_back(std::move(code)); });
  ASSERT_EQ(codes.size(), 3U);
  EXPECT_EQ(codes[2].address, 0x9000U);
  EXPECT_EQ(codes[2].file_offset, codes[0].file_offset);

  const ModuleId module_id = module(path);
  EXPECT_EQ(symbolizer_->kind(module_id), ModuleKind::jit_dump);
  const uint64_t f = codes[0].file_offset, g = codes[1].file_offset;
  EXPECT_EQ(symbolizer_->link_address(module_id, f), f);
  EXPECT_EQ(name_at(module_id, f), "f a.js:3");
  EXPECT_EQ(name_at(module_id, f + 7), "f a.js:5");
  EXPECT_EQ(name_at(module_id, f + 8), "-");
  EXPECT_EQ(name_at(module_id, g + 4), "by V8 a.js:5");
}

TEST_F(Jit, SharesTheNamesOfFilesAndSkipsThoseOfCode) {
  std::string entries;
  for (uint32_t i = 0; i < 1000; ++i)
    entries += bytes_of(uint64_t{0x1000} + i) + bytes_of(i) + bytes_of(uint32_t{0}) +
               (i == 0 ? std::string(4000, 'f') : "\xff") + '\0';
  const std::string path =
      write("jit-7.dump",
            header() + record(2, bytes_of(uint64_t{0x1000}) + bytes_of(uint64_t{1000}) + entries) +
                load(0x1000, 1, "f", 8));
  auto dump = JitDump::open(path, JitDump::Names::skipped);
  ASSERT_TRUE(dump);
  JitLines lines;
  std::vector<JitCode> codes;
  dump->read([&](JitCode code) { codes.push_back(std::move(code)); },
             [&](JitLines found) { lines = std::move(found); });
  EXPECT_EQ(lines.lines.size(), 1000U);
  EXPECT_EQ(lines.files.size(), 1U);
  ASSERT_EQ(codes.size(), 1U);
  EXPECT_EQ(codes[0].name, "");
}

TEST_F(Jit, KeepsLinesUntilTheirCodeIsThere) {
  const std::string with_lines = header() + lines(0x1000, 0x1000);
  const std::string path = write("jit-7.dump", with_lines);
  const ModuleId module_id = module(path);
  EXPECT_EQ(name_at(module_id, with_lines.size() + 60), "-");
  const std::string code = load(0x1000, 1, "f", 8);
  write("jit-7.dump", code, true);
  module(path); // reads what was added
  EXPECT_EQ(name_at(module_id, with_lines.size() + code.size() - 8), "f a.js:3");
}

TEST_F(Jit, WaitsForRecordsThatAreBeingWritten) {
  const std::string whole = header() + load(0x1000, 1, "f", 8) + load(0x2000, 2, "g", 8);
  const std::string path = write("jit-7.dump", whole.substr(0, whole.size() - 60));
  auto dump = JitDump::open(path, JitDump::Names::read);
  ASSERT_TRUE(dump);
  std::string names;
  const auto read = [&] { dump->read([&](const JitCode &code) { names += code.name; }); };
  read();
  EXPECT_EQ(names, "f");
  for (size_t left = 60; left > 0; --left) {
    read();
    EXPECT_EQ(names, "f");
    write("jit-7.dump", whole.substr(whole.size() - left, 1), true);
  }
  read();
  EXPECT_EQ(names, "fg");
}

TEST_F(Jit, SurvivesDamagedFiles) {
  const std::string whole = header() + lines(0x1000, 0x1000) + load(0x1000, 1, "f", 8) +
                            lines(0x2000, 0x2000) + load(0x2000, 2, "g", 8);
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    for (int change = 0; change < 3; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(bytes.size() - random() % 3 * (random() % bytes.size() / 2));
    const ModuleId damaged = module(write("jit-" + std::to_string(i) + ".dump", bytes));
    for (uint64_t at = 0; at < bytes.size(); ++at)
      name_at(damaged, at);
  }
  EXPECT_FALSE(JitDump::open(folder_, JitDump::Names::read));
  EXPECT_FALSE(JitDump::open("/dev/zero", JitDump::Names::read));
  EXPECT_FALSE(JitDump::open(write("jit-x.dump", ""), JitDump::Names::read));
}

} // namespace
} // namespace tally::symbolize_jit_test
