// Tests how regions of source-based coverage become counts of lines. Whole programs are compared
// with llvm-cov elsewhere.
#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <elf.h>
#include <gtest/gtest.h>

#include "coverage/llvm_counts.h"
#include "coverage/llvm_mcdc.h"
#include "elf_tables.h"
#include "formats/llvm/names.h"
#include "formats/llvm/segments.h"
#include "support/md5.h"
#include "temporary.h"

namespace tally::coverage_llvm_test {
namespace {

using Kind = llvm::MappingRegion::Kind;

llvm::Stretch region(Kind kind, llvm::SourcePlace start, llvm::SourcePlace end, int64_t count) {
  return {start, end, kind, count, count};
}

std::vector<std::pair<uint32_t, int64_t>> lines(std::vector<llvm::Stretch> regions) {
  std::vector<std::pair<uint32_t, int64_t>> out;
  for (const LineCoverage &line : llvm::lines_of(*llvm::segments_of(std::move(regions))))
    out.emplace_back(line.line, line.count);
  return out;
}
using Lines = std::vector<std::pair<uint32_t, int64_t>>;

TEST(LlvmSegments, CountTheInnermostRegion) {
  // int f(int a) {       1
  //   if (a)             2
  //     g();             3
  //   return 1;          4
  // }                    5
  EXPECT_EQ(lines({region(Kind::code, {1, 14}, {5, 2}, 7), region(Kind::code, {2, 7}, {2, 8}, 7),
                   region(Kind::gap, {2, 9}, {3, 5}, 3), region(Kind::code, {3, 5}, {3, 8}, 3)}),
            (Lines{{1, 7}, {2, 7}, {3, 3}, {4, 7}, {5, 7}}));
}

TEST(LlvmSegments, AddUpInstantiations) {
  const auto once = region(Kind::code, {1, 1}, {2, 2}, 3);
  EXPECT_EQ(lines({once, once}), (Lines{{1, 6}, {2, 6}}));
  // Another kind with the same place is left out.
  EXPECT_EQ(lines({region(Kind::expansion, {1, 1}, {2, 2}, 5), once}), (Lines{{1, 3}, {2, 3}}));
}

TEST(LlvmSegments, SkippedLinesAreNoCode) {
  EXPECT_EQ(
      lines({region(Kind::code, {1, 1}, {6, 2}, 2), region(Kind::skipped, {3, 1}, {4, 7}, 0)}),
      (Lines{{1, 2}, {2, 2}, {5, 2}, {6, 2}}));
}

TEST(LlvmSegments, RefuseRegionsThatAreNestedTooDeeply) {
  std::vector<llvm::Stretch> nested;
  for (uint32_t i = 1; i < 40'000; ++i)
    nested.push_back(region(Kind::code, {i, 1}, {100'000 - i, 1}, 1));
  EXPECT_FALSE(llvm::segments_of(std::move(nested)));
}

// Builds a relocatable file's sections around one function, as far as the reader looks at them.
class ObjectBytes {
public:
  // `files` are the names of files, as mappings of a version have them.
  explicit ObjectBytes(std::string mapping,
                       const std::string &files = std::string("\x01\x05\0\x04/a.c", 8),
                       uint32_t version = 5) {
    std::string unit;
    put(unit, uint32_t{0});
    put(unit, static_cast<uint32_t>(files.size()));
    put(unit, uint32_t{0});
    put(unit, version - 1);
    unit += files;
    std::string function;
    put(function, md5_low("f"));
    put(function, static_cast<uint32_t>(mapping.size()));
    put(function, uint64_t{42});
    put(function, md5_low(files));
    function += mapping;
    const std::array<std::pair<std::string, std::string>, 3> sections{
        {{"__llvm_covmap", unit}, {"__llvm_covfun", function}, {".shstrtab", ""}}};
    std::string names(1, '\0'), headers(sizeof(Elf64_Shdr), '\0');
    std::string body(sizeof(Elf64_Ehdr), '\0');
    for (const auto &[name, content] : sections) {
      Elf64_Shdr header{};
      header.sh_name = static_cast<Elf64_Word>(names.size());
      names += name + '\0';
      header.sh_type = name == ".shstrtab" ? SHT_STRTAB : SHT_PROGBITS;
      header.sh_offset = body.size();
      header.sh_size = name == ".shstrtab" ? names.size() : content.size();
      body += name == ".shstrtab" ? names : content;
      body.resize((body.size() + 7) / 8 * 8);
      headers.append(reinterpret_cast<const char *>(&header), sizeof header);
    }
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shoff = body.size();
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = sections.size() + 1;
    header.e_shstrndx = sections.size();
    std::memcpy(body.data(), &header, sizeof header);
    bytes_ = body + headers;
  }

  // Returns the counts of the function's regions; none if it is left out.
  std::vector<uint64_t> counted(std::vector<uint64_t> counts, llvm::CounterRecord::Open open = {},
                                std::vector<uint64_t> *uncertain = nullptr) {
    Diagnostics findings;
    const auto objects = llvm::CoverageObject::read(bytes_, "x.o", findings);
    EXPECT_EQ(objects.size(), 1u);
    llvm::ReadProfile profile;
    llvm::CounterRecord record;
    record.name_hash = md5_low("f");
    record.function_hash = 42;
    record.counts = std::move(counts);
    record.open = open;
    profile.profile.images.emplace_back().records = {record};
    std::vector<uint64_t> out;
    llvm::count_functions(objects, {profile}, llvm::CountedObjects::all, findings,
                          [&](const llvm::CountedFunction &function) {
                            for (const llvm::CountedRegion &each : function.regions) {
                              out.push_back(each.count);
                              if (uncertain)
                                uncertain->push_back(each.uncertain);
                            }
                          });
    return out;
  }

  const std::string &bytes() const { return bytes_; }

private:
  template <class T> static void put(std::string &to, T value) {
    to.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  std::string bytes_;
};

std::string uleb(uint64_t value) {
  std::string out;
  do {
    out += static_cast<char>((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value != 0);
  return out;
}
std::string ulebs(std::initializer_list<uint64_t> values) {
  std::string out;
  for (const uint64_t value : values)
    out += uleb(value);
  return out;
}

constexpr uint64_t minus = 2, plus = 3;
constexpr uint64_t counter(uint64_t index) { return index << 2 | 1; }

TEST(LlvmCounts, EvaluateSumsAndDifferences) {
  // Expressions 0: #0 - #1, 1: 0 + #2; regions: #0 and expression 1.
  ObjectBytes object(ulebs({1, 0, 2, counter(0), counter(1), 0 << 2 | minus, counter(2), 2,
                            counter(0), 1, 1, 3, 2, 1 << 2 | plus, 1, 1, 0, 5}));
  EXPECT_EQ(object.counted({10, 4, 100}), (std::vector<uint64_t>{10, 106}));
  EXPECT_EQ(object.counted({10, 4}), std::vector<uint64_t>{}); // a counter does not exist
}

TEST(LlvmCounts, BoundWhatOpenCallsMayHaveRun) {
  // The regions are #0, #1 and #0 - #1, which has the number 0.
  ObjectBytes object(
      ulebs({1, 0, 1, counter(0), counter(1),     3, counter(0), 1, 1, 3, 2, counter(1),
             1, 1, 0, 5,          0 << 2 | minus, 1, 1,          0, 5}));
  using Counts = std::vector<uint64_t>;
  Counts uncertain;
  EXPECT_EQ(object.counted({10, 4}, {}, &uncertain), (Counts{10, 4, 6}));
  EXPECT_EQ(uncertain, (Counts{0, 0, 0}));
  // Two calls perhaps have not decided yet, and so are counted in the difference.
  uncertain.clear();
  EXPECT_EQ(object.counted({10, 4}, {.frames = 2}, &uncertain), (Counts{10, 4, 4}));
  EXPECT_EQ(uncertain, (Counts{0, 0, 2}));
  // One of them is about to count its decision.
  uncertain.clear();
  EXPECT_EQ(object.counted({10, 4}, {.frames = 2, .next = {1}}, &uncertain), (Counts{10, 4, 3}));
  EXPECT_EQ(uncertain, (Counts{0, 1, 3}));
  // Since a mark, at which a call had not decided.
  uncertain.clear();
  EXPECT_EQ(object.counted({3, 3}, {.frames_before = 1}, &uncertain), (Counts{3, 3, 0}));
  EXPECT_EQ(uncertain, (Counts{0, 0, 1}));
  uncertain.clear();
  EXPECT_EQ(object.counted({10, 4}, {.frames = 1, .at_least = true}, &uncertain),
            (Counts{10, 4, 5}));
  EXPECT_EQ(uncertain, (Counts{UINT64_MAX, UINT64_MAX, UINT64_MAX}));
}

TEST(LlvmCounts, KeepWhatTheyReadOfAFileThatIsTruncated) {
  const TemporaryFolder folder;
  const std::string bytes = ObjectBytes(ulebs({1, 0, 0, 1, counter(0), 1, 1, 3, 2})).bytes();
  const std::string path = folder.put("x.o", bytes);
  Diagnostics findings;
  const auto objects = llvm::CoverageObject::read(path, findings);
  ASSERT_EQ(objects.size(), 1u);
  std::filesystem::resize_file(path, 0);
  llvm::MappedFunction function;
  EXPECT_TRUE(objects[0].decode(objects[0].records()[0], function));
  // A damaged mapping is reported with its place in the file.
  llvm::MappingRecord record = objects[0].records()[0];
  EXPECT_EQ(record.offset, bytes.find(record.mapping));
  record.mapping.remove_suffix(1);
  const auto damaged = objects[0].decode(record, function);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().where, Position::at_offset(record.offset));
}

// The sections of a hostile object overlap.
TEST(LlvmObject, HasNoMoreMappingsThanItsSizeAllows) {
  const auto mappings = [](unsigned sections) {
    std::string bytes = ObjectBytes(std::string(100'000, 'x')).bytes();
    list_section(bytes, 2, sections);
    Diagnostics findings;
    const auto objects = llvm::CoverageObject::read(bytes, "x.o", findings);
    return objects.empty() ? 0 : objects[0].records().size();
  };
  EXPECT_EQ(mappings(32), 32u);
  EXPECT_LT(mappings(1000), 100u);
}

// The compiler's working directory, which all paths of a hostile object begin with, is long.
TEST(LlvmObject, HasNoMorePathsThanItsSizeAllows) {
  const auto sources = [](uint64_t count, Diagnostics &findings) {
    std::string names = uleb(4000) + '/' + std::string(3999, 'd');
    for (uint64_t i = 1; i < count; ++i)
      names += ulebs({3}) + std::to_string(1000 + i).substr(1);
    const std::string files = ulebs({count, names.size(), 0}) + names;
    const std::string bytes = ObjectBytes("", files, 6).bytes();
    const auto objects = llvm::CoverageObject::read(bytes, "x.o", findings);
    return objects.empty() ? 0 : objects[0].sources().size();
  };
  Diagnostics findings;
  EXPECT_EQ(sources(200, findings), 199u);
  EXPECT_TRUE(findings.findings().empty());
  EXPECT_EQ(sources(900, findings), 0u);
  ASSERT_EQ(findings.findings().size(), 1u);
  EXPECT_EQ(findings.findings()[0].text(),
            "x.o: warning: the names of files are damaged: left out");
}

TEST(LlvmCounts, KnowWhereACounterIsIncreased) {
  // A function; the increment of a loop and, behind a gap, its body; and what follows an `if`.
  constexpr uint64_t gap = uint64_t{1} << 31;
  ObjectBytes object(
      ulebs({1, 0,  0, 5,        counter(0), 1, 1,  9, 2, counter(1), 1, 20, 0, 24, counter(1),
             0, 25, 0, gap | 26, counter(1), 0, 26, 2, 4, counter(0), 4, 1,  0, 5}));
  using Counts = std::vector<uint64_t>;
  EXPECT_EQ(object.counted({3, 7}), (Counts{3, 7, 7, 7, 3}));
  EXPECT_EQ(object.counted({3, 7}, {.frames = 1}), (Counts{3, 6, 6, 7, 2}));
}

TEST(LlvmCounts, EvaluateDeepExpressions) {
  // Expression i is the sum of expression i - 1 and #0.
  constexpr uint64_t depth = 300'000; // a recursion would need more than a stack has
  std::string mapping = ulebs({1, 0, depth, counter(0), counter(0)});
  for (uint64_t i = 1; i < depth; ++i)
    mapping += ulebs({(i - 1) << 2 | plus, counter(0)});
  mapping += ulebs({1, (depth - 1) << 2 | plus, 1, 1, 0, 5});
  EXPECT_EQ(ObjectBytes(mapping).counted({2}), std::vector<uint64_t>{2 * (depth + 1)});
}

TEST(LlvmCounts, LeaveOutExpressionsOfThemselves) {
  ObjectBytes object(ulebs({1, 0, 2, 1 << 2 | plus, counter(0), 0 << 2 | plus, counter(0), 1,
                            0 << 2 | plus, 1, 1, 0, 5}));
  EXPECT_EQ(object.counted({1}), std::vector<uint64_t>{});
}

// Each condition belongs to one of the decisions around it: others need not be looked at.
TEST(LlvmDecisions, TakeTimeForTheirOwnConditionsOnly) {
  constexpr uint32_t count = 60'000;
  const auto at = [](Kind kind, uint32_t line, uint32_t file) {
    llvm::CountedRegion out;
    out.region.kind = kind;
    out.region.file = file;
    out.region.start = {line, 1};
    out.region.end = {line, 9};
    return out;
  };
  llvm::CountedFunction function;
  for (uint32_t i = 0; i < count; ++i) {
    function.regions.push_back(at(Kind::decision, i + 1, 0)); // is not complete before the end
    function.regions.back().region.conditions = 2;
    function.regions.back().region.bitmap_index = 3;
    function.regions.push_back(at(Kind::expansion, i + 1, 0));
    function.regions.back().region.expanded = i + 1;
  }
  for (uint32_t i = 0; i < count; ++i)
    for (const int32_t id : {0, 1}) {
      function.regions.push_back(at(Kind::branch, 1, i + 1));
      llvm::MappingRegion &condition = function.regions.back().region;
      condition.is_condition = true;
      condition.id = id;
      condition.next_if_true = id == 0 ? 1 : -1;
    }
  function.bitmap = "\x07";
  const llvm::Decisions found = decisions_of(function);
  EXPECT_EQ(found.decisions.size(), count);
  EXPECT_EQ(found.left_out, 0u);
  function.regions.resize(size_t{2} * count); // no decision has its conditions
  EXPECT_EQ(decisions_of(function).left_out, count);
}

TEST(LlvmNames, AreChunksThatMayBePacked) {
  const auto texts = llvm::read_name_texts(std::string("\x05\0f\x01g\x01h\0\0", 9));
  ASSERT_TRUE(texts);
  ASSERT_EQ(texts->size(), 1u);
  EXPECT_EQ(llvm::names_of_text((*texts)[0]), (std::vector<std::string_view>{"f", "g", "h"}));
  EXPECT_FALSE(llvm::read_name_texts(std::string("\x09\0abc", 5)));
  EXPECT_FALSE(llvm::read_name_texts("\x09\x03xyz")); // no zlib stream
}

} // namespace
} // namespace tally::coverage_llvm_test
