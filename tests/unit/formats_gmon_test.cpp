#include <algorithm>
#include <array>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "formats/gmon/gmon.h"
#include "random_pcs.h"
#include "transform/merge.h"

namespace tally::formats_gmon_test {
namespace {

constexpr std::array<PcLayout, 4> layouts{{{PcFlavour::gnu, 8, false},
                                           {PcFlavour::gnu, 4, false},
                                           {PcFlavour::gnu, 8, true},
                                           {PcFlavour::gnu, 4, true}}};

// Builds a file byte by byte.
class Bytes {
public:
  explicit Bytes(PcLayout layout) : layout_(layout) {}
  Bytes &number(uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i)
      text += static_cast<char>(value >> 8 * (layout_.big_endian ? size - 1 - i : i));
    return *this;
  }
  Bytes &pointer(uint64_t value) { return number(value, layout_.pointer_bytes); }
  Bytes &header(uint32_t version = 1) {
    text += "gmon";
    number(version, 4);
    text.append(12, '\0');
    return *this;
  }
  Bytes &histogram(uint64_t low, uint64_t high, std::vector<uint16_t> counters,
                   uint32_t rate = 100) {
    number(0, 1).pointer(low).pointer(high);
    number(counters.size(), 4).number(rate, 4);
    text += std::string("seconds") + std::string(8, '\0') + 's';
    for (const uint16_t counter : counters)
      number(counter, 2);
    return *this;
  }
  Bytes &arc(uint64_t from, uint64_t self, uint32_t count) {
    return number(1, 1).pointer(from).pointer(self).number(count, 4);
  }
  std::string text;

private:
  PcLayout layout_;
};

Result<PcProfile> read(std::string_view bytes, Diagnostics *findings = nullptr) {
  Diagnostics own;
  return gmon::read(*ByteSource::of(bytes, "input"), findings ? *findings : own);
}

PcProfile sound(std::string_view bytes) {
  auto profile = read(bytes);
  EXPECT_TRUE(profile) << profile.error().text();
  return profile ? std::move(*profile) : PcProfile();
}

std::string written(const PcProfile &profile) {
  const auto out = gmon::write(profile, {});
  EXPECT_TRUE(out) << out.error().text();
  return out ? out->bytes : std::string();
}

void expect_error(std::string_view bytes, std::string_view text) {
  const auto profile = read(bytes);
  ASSERT_FALSE(profile) << text;
  EXPECT_EQ(profile.error().text(), text);
}

TEST(Gmon, ReadsAndWritesEachLayout) {
  for (const PcLayout &layout : layouts) {
    Bytes bytes(layout);
    bytes.header().histogram(0x1000, 0x1008, {1, 2, 65535, 0});
    bytes.arc(0x1002, 0x1004, 7);
    bytes.number(2, 1).number(2, 4).pointer(0x1000).pointer(9).pointer(0x1004).pointer(3);
    const PcProfile profile = sound(bytes.text);
    EXPECT_EQ(profile.layout(), layout);
    ASSERT_EQ(profile.histogram().ranges().size(), 1u);
    EXPECT_EQ(profile.histogram().ranges()[0].counters, (std::vector<uint64_t>{1, 2, 65535, 0}));
    EXPECT_EQ(profile.histogram().rate_hz(), 100u);
    EXPECT_EQ(profile.histogram().dimension(), "seconds");
    ASSERT_EQ(profile.arcs().size(), 1u);
    EXPECT_EQ(profile.arcs()[0], (PcArc{0x1002, 0x1004, 7}));
    ASSERT_EQ(profile.blocks().size(), 2u);
    EXPECT_EQ(profile.blocks()[0], (PcBlockCount{0x1000, 9}));
    EXPECT_EQ(written(profile), bytes.text);
  }
}

TEST(Gmon, ReportsATruncatedFileWithAnOffset) {
  for (const PcLayout &layout : layouts) {
    Bytes bytes(layout);
    std::vector<size_t> whole;
    bytes.header().histogram(0x401000, 0x401010, {1, 2, 3, 4});
    whole.push_back(bytes.text.size());
    bytes.arc(0x401002, 0x401004, 7);
    whole.push_back(bytes.text.size());
    bytes.number(2, 1).number(1, 4).pointer(0x401000).pointer(9);
    for (size_t size = 0; size < bytes.text.size(); ++size) {
      const auto profile = read(std::string_view(bytes.text).substr(0, size));
      if (std::ranges::find(whole, size) != whole.end()) {
        EXPECT_TRUE(profile) << size;
        continue;
      }
      ASSERT_FALSE(profile) << size;
      if (size == gmon::header_bytes) {
        EXPECT_EQ(profile.error().code, ErrorCode::no_data);
        continue;
      }
      EXPECT_EQ(profile.error().code, ErrorCode::invalid_input);
      EXPECT_EQ(profile.error().where.kind, Position::Kind::offset) << profile.error().text();
      EXPECT_LE(profile.error().where.offset, size);
      EXPECT_EQ(profile.error().source, "input");
    }
  }
}

TEST(Gmon, DoesNotAllocateForCountsBeyondTheFile) {
  Bytes bytes(layouts[0]);
  bytes.header().number(0, 1).pointer(0x1000).pointer(uint64_t{1} << 40).number(0x7FFFFFFF, 4);
  bytes.number(100, 4);
  bytes.text.append(16, '\0');
  expect_error(bytes.text,
               "input:0x3d: a histogram of 2147483647 bins needs 4294967294 bytes, but 0 "
               "are left");
  Bytes blocks(layouts[0]);
  blocks.header().number(2, 1).number(0xFFFFFFFF, 4).pointer(1).pointer(2);
  const auto read_blocks = read(blocks.text);
  ASSERT_FALSE(read_blocks);
  EXPECT_EQ(read_blocks.error().code, ErrorCode::invalid_input);
}

TEST(Gmon, AddsUpHistogramsOfOneRange) {
  for (const PcLayout &layout : layouts) {
    Bytes bytes(layout);
    bytes.header();
    for (int i = 0; i < 3; ++i)
      bytes.histogram(0x1000, 0x1004, {65535, 1});
    bytes.histogram(0x1000, 0x1004, {3395, 0}).histogram(0x2000, 0x2004, {5, 6});
    const PcProfile profile = sound(bytes.text);
    ASSERT_EQ(profile.histogram().ranges().size(), 2u);
    EXPECT_EQ(profile.histogram().ranges()[0].counters, (std::vector<uint64_t>{200'000, 3}));
    expect_equal(sound(written(profile)), profile);
  }
}

TEST(Gmon, RefusesInconsistentRecords) {
  const auto file = [](auto... more) {
    Bytes bytes(layouts[0]);
    bytes.header().histogram(0x1000, 0x1010, {1, 2, 3, 4});
    (more(bytes), ...);
    return bytes.text;
  };
  expect_error(
      file([](Bytes &b) {
        b.histogram(0x1008, 0x1018, {1, 2, 3, 4});
      }),
      "input:0x45: the histograms of [0x1000, 0x1010) and [0x1008, 0x1018) overlap in part");
  expect_error(
      file([](Bytes &b) {
        b.histogram(0x800, 0x1004, {1, 2, 3, 4});
      }),
      "input:0x45: the histograms of [0x1000, 0x1010) and [0x800, 0x1004) overlap in part");
  expect_error(file([](Bytes &b) {
                 b.histogram(0x1000, 0x1010, {1, 2});
               }),
               "input:0x45: the histogram of [0x1000, 0x1010) has 2 bins here and 4 there");
  expect_error(
      file([](Bytes &b) {
        b.histogram(0x2000, 0x2010, {1, 2, 3, 4}, 1000);
      }),
      "input:0x45: a histogram has 1000 ticks per unit (seconds), others 100 ticks per unit "
      "(seconds): their bins cannot be added up");
  expect_error(file([](Bytes &b) { b.histogram(0x2000, 0x2000, {1}); }),
               "input:0x45: the histogram of [0x2000, 0x2000) is empty");
  expect_error(file([](Bytes &b) { b.histogram(0x2000, 0x2010, {}); }),
               "input:0x45: a histogram of [0x2000, 0x2010) has 0 bins");
  expect_error(file([](Bytes &b) {
                 b.histogram(0x2000, 0x2001, {1, 2});
               }),
               "input:0x45: a histogram of [0x2000, 0x2001) has 2 bins");
  expect_error(file([](Bytes &b) {
                 b.histogram(0x2000, 0x2010, {1, 2}, 0xFFFFFFFF);
               }),
               "input:0x45: a histogram has a rate of -1");
  expect_error(file([](Bytes &b) { b.number(7, 1); }),
               "input:0x45: a record has the unknown tag 7; the tags are 0, 1 and 2");
  expect_error(Bytes(layouts[0]).header(2).text, "input:0x4: version 2 is not supported; 1 is");
}

TEST(Gmon, RecognizesGlibcsCountOfBasicBlocks) {
  Bytes bytes(layouts[0]);
  bytes.header().number(2, 1).number(2, 8).pointer(0x1000).pointer(9).pointer(0x1004).pointer(3);
  Diagnostics findings;
  const auto profile = read(bytes.text, &findings);
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->blocks().size(), 2u);
  ASSERT_EQ(findings.findings().size(), 1u);
  EXPECT_EQ(findings.findings()[0].severity, Severity::note);
  EXPECT_EQ(written(*profile).size(), bytes.text.size() - 4);
  expect_equal(sound(written(*profile)), *profile);
}

TEST(Gmon, ReadsTheLayoutOf44Bsd) {
  for (const auto &[size, big] : {std::pair(8, false), {4, false}, {8, true}, {4, true}}) {
    const PcLayout layout{PcFlavour::bsd, static_cast<uint8_t>(size), big};
    Bytes bytes(layout);
    const auto header = static_cast<size_t>(2 * size + 24);
    bytes.pointer(0x1000).pointer(0x1008).number(header + 4, 4).number(0x51879, 4).number(250, 4);
    bytes.text.resize(header, '\0');
    bytes.number(3, 2).number(4, 2).pointer(0x1002).pointer(0x1004).pointer(7);
    EXPECT_TRUE(gmon::probe(bytes.text));
    const PcProfile profile = sound(bytes.text);
    EXPECT_EQ(profile.layout(), layout);
    EXPECT_EQ(profile.histogram().rate_hz(), 250u);
    EXPECT_EQ(profile.histogram().ticks(), 7u);
    EXPECT_EQ(profile.arcs()[0], (PcArc{0x1002, 0x1004, 7}));
    EXPECT_EQ(written(profile), bytes.text);
    for (size_t cut = 1; cut < bytes.text.size(); ++cut)
      if (const auto read_part = read(std::string_view(bytes.text).substr(0, cut));
          cut > static_cast<size_t>(2 * size + 8)) {
        ASSERT_EQ(read_part.has_value(), cut == header + 4) << cut;
        if (!read_part) {
          EXPECT_EQ(read_part.error().where.kind, Position::Kind::offset);
        }
      }
    // Counts that this layout cannot hold are written in the GNU layout.
    const PcProfile *const twice[] = {&profile, &profile};
    const auto sum = merge_pcs(twice);
    ASSERT_TRUE(sum);
    EXPECT_EQ(sound(written(*sum)).layout().flavour, PcFlavour::bsd);
    std::vector<const PcProfile *> many(30'000, &profile);
    const auto large = merge_pcs(many);
    ASSERT_TRUE(large);
    EXPECT_EQ(sound(written(*large)).layout().flavour, PcFlavour::gnu);
    EXPECT_EQ(sound(written(*large)).histogram().ticks(), 210'000u);
  }
}

TEST(Gmon, ReadsTheMonOutOfV7) {
  for (const auto &[size, big] : {std::pair(8, false), {4, false}, {8, true}, {4, true}}) {
    const PcLayout layout{PcFlavour::mon, static_cast<uint8_t>(size), big};
    Bytes bytes(layout);
    bytes.pointer(0x1000).pointer(0x1008).number(1, 4);
    bytes.text.resize(gmon::mon_header_bytes(static_cast<size_t>(size)), '\0');
    bytes.pointer(0x1002).pointer(77).number(3, 2).number(4, 2);
    EXPECT_FALSE(gmon::probe(bytes.text));
    const PcProfile profile = sound(bytes.text);
    EXPECT_EQ(profile.layout(), layout);
    EXPECT_EQ(profile.histogram().rate_hz(), 0u);
    EXPECT_EQ(profile.histogram().ticks(), 7u);
    ASSERT_EQ(profile.arcs().size(), 1u);
    EXPECT_EQ(profile.arcs()[0], (PcArc{0, 0x1002, 77}));
    EXPECT_EQ(written(profile), bytes.text);
  }
  expect_error("some text or other",
               "input:0x0: is not a gmon.out: it begins neither with \"gmon\" nor "
               "like those of 4.4BSD, and is not a complete mon.out");
}

TEST(Gmon, ReadsBackWhatItWrites) {
  std::mt19937_64 random(51);
  for (int round = 0; round < 2000; ++round) {
    const PcLayout &layout = layouts[random() % layouts.size()];
    const PcProfile profile = random_pcs(random, layout);
    if (profile.histogram().ranges().empty() && profile.arcs().empty() && profile.blocks().empty())
      continue;
    const std::string bytes = written(profile);
    expect_equal(sound(bytes), profile);
    EXPECT_EQ(written(sound(bytes)), bytes);
  }
}

TEST(Gmon, MergesToTheSum) {
  std::mt19937_64 random(52);
  for (int round = 0; round < 500; ++round) {
    const PcProfile profile = random_pcs(random);
    const PcProfile *const three[] = {&profile, &profile, &profile};
    const auto sum = merge_pcs(three);
    ASSERT_TRUE(sum);
    EXPECT_EQ(sum->histogram().ticks(), 3 * profile.histogram().ticks());
    for (size_t i = 0; i < profile.arcs().size(); ++i)
      EXPECT_EQ(sum->arcs()[i].count, 3 * profile.arcs()[i].count);
    for (size_t i = 0; i < profile.blocks().size(); ++i)
      EXPECT_EQ(sum->blocks()[i].count, 3 * profile.blocks()[i].count);
    const PcProfile *const left[] = {&profile, &*sum}, *const right[] = {&*sum, &profile};
    const auto one = merge_pcs(left), other = merge_pcs(right);
    ASSERT_TRUE(one && other);
    expect_equal(*one, *other);
  }
}

TEST(Gmon, RefusesCountsThatWouldFillADisk) {
  PcProfileBuilder builder;
  ASSERT_TRUE(builder.add_range({0x1000, 0x1002, {.bytes = 2}, {uint64_t{1} << 42}}, 1, "Ir", 'I'));
  const auto profile = builder.finish();
  ASSERT_TRUE(profile);
  const auto large = gmon::write(*profile, {});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::limit);
}

} // namespace
} // namespace tally::formats_gmon_test
