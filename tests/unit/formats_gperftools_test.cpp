#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/gperftools/gperftools.h"

namespace tally::formats_gperftools_test {
namespace {

Result<StackProfile> parsed(std::string_view text, Diagnostics *found = nullptr) {
  Diagnostics diagnostics;
  auto read = gperftools::read(*ByteSource::of(text, "x"), found ? *found : diagnostics, nullptr);
  if (!read)
    return fail(std::move(read.error()));
  return std::get<StackProfile>(std::move(*read));
}

using Stack = std::vector<std::pair<uint64_t, std::string>>; // address and file, leaf first
using Rows = std::map<Stack, std::vector<int64_t>>;

Rows rows_of(const StackProfile &profile) {
  Rows out;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    Stack stack;
    for (StackId at = sample.stack; at != none<StackId>; at = profile.stack_caller(at)) {
      const Location location = profile.location(profile.stack_location(at));
      stack.emplace_back(location.address,
                         location.mapping == none<MappingId>
                             ? ""
                             : profile.strings[profile.mappings()[location.mapping].path]);
    }
    out[stack].assign(sample.values.begin(), sample.values.end());
  }
  return out;
}

constexpr std::string_view maps = "00001000-00003000 r--p 00000000 08:01 12 /bin/a\n"
                                  "00003000-00005000 r-xp 00002000 08:01 12 /bin/a\n"
                                  "00007000-00008000 r-xp 00000000 00:00 13 /l/libprofiler.so.0\n"
                                  "00009000-0000a000 r-xp 00000000 00:00 14 /l/libjemalloc.so.2\n";

struct WordForm {
  bool is_wide = false, big_endian = false;
};

std::string words(const WordForm &form, const std::vector<uint64_t> &values) {
  std::string out;
  for (const uint64_t value : values) {
    const int size = form.is_wide ? 8 : 4;
    for (int i = 0; i < size; ++i)
      out += static_cast<char>(value >> (8 * (form.big_endian ? size - 1 - i : i)) & 0xFF);
  }
  return out;
}

TEST(Gperftools, ReadsCpuProfilesOfAllMachines) {
  for (const bool is_wide : {false, true})
    for (const bool big_endian : {false, true}) {
      const WordForm form{is_wide, big_endian};
      const std::string file = words(form, {0, 3, 0, 2000, 0, 5, 2, 0x3010, 0x4020, 1, 1, 0x6000, 2,
                                            2, 0x3010, 0x4020, 0, 1, 0}) +
                               std::string(maps);
      EXPECT_TRUE(gperftools::probe(file.substr(0, is_wide ? 40 : 20)));
      EXPECT_FALSE(gperftools::probe(file.substr(0, 19)));
      const auto profile = parsed(file);
      ASSERT_TRUE(profile) << profile.error().text();
      EXPECT_EQ(profile->period_ns, 2'000'000u);
      EXPECT_EQ(rows_of(*profile),
                (Rows{{{{0x3010, "/bin/a"}, {0x401f, "/bin/a"}}, {7}}, {{{0x6000, ""}}, {1}}}));
      EXPECT_EQ(profile->mappings()[MappingId{0}].file_offset, 0x2000u);
    }
}

TEST(Gperftools, DropsTheFramesOfTheProfiler) {
  // The leaf again, and the handler; a recursion further out stays.
  const std::string file = words({true}, {0, 3, 0, 1, 0, 1, 5, 0x3010, 0x3010, 0x7008, 0x4020,
                                          0x3010, 1, 2, 0x3010, 0x3010, 0, 1, 0}) +
                           std::string(maps);
  const auto profile = parsed(file);
  ASSERT_TRUE(profile);
  EXPECT_EQ(rows_of(*profile),
            (Rows{{{{0x3010, "/bin/a"}, {0x401f, "/bin/a"}, {0x300f, "/bin/a"}}, {1}},
                  {{{0x3010, "/bin/a"}}, {1}}}));
}

TEST(Gperftools, RefusesWrongCpuProfiles) {
  const std::vector<uint64_t> head{0, 3, 0, 1000, 0};
  const auto refuses = [&](const std::vector<uint64_t> &samples, uint64_t word,
                           std::string_view what) {
    std::vector<uint64_t> all = head;
    all.insert(all.end(), samples.begin(), samples.end());
    const auto read = parsed(words({true}, all));
    ASSERT_FALSE(read) << what;
    EXPECT_NE(read.error().message.find(what), std::string::npos) << read.error().text();
    EXPECT_EQ(read.error().where, Position::at_offset(word * 8));
  };
  refuses({}, 5, "ends before its samples");
  refuses({1, 1, 0x10}, 8, "ends before its samples");
  refuses({1, 0}, 5, "without an address");
  refuses({1, 3, 0x10, 0x20}, 5, "3 addresses is longer than");
  refuses({1, UINT64_MAX, 0x10}, 5, "is longer than");
  refuses({UINT64_MAX, 1, 0x10}, 5, "does not fit in 63 bits");
  refuses({0, 1, 0x10}, 5, "counted 0 times");
  EXPECT_EQ(parsed(words({true}, {0, 3, 0, 1, 0, INT64_MAX, 1, 1, 1, 1, 1, 0, 1, 0})).error().code,
            ErrorCode::overflow);
  EXPECT_EQ(parsed(words({true}, {0, 3, 1, 1000, 0})).error().code, ErrorCode::unsupported);
  EXPECT_FALSE(gperftools::probe(words({true}, {0, 3, 2, 1000, 0})));
  EXPECT_FALSE(gperftools::probe(words({true}, {0, 3, 0, 0, 0})));
  EXPECT_FALSE(gperftools::probe(std::string(100, '\0')));
}

std::vector<std::string> value_names(const StackProfile &profile) {
  std::vector<std::string> out;
  for (const ValueType &type : profile.value_types())
    out.push_back(std::string(profile.strings[type.type]) + '/' +
                  std::string(profile.strings[type.unit]));
  return out;
}

TEST(Gperftools, ReadsHeapProfiles) {
  const auto profile = parsed("heap profile:   3:  300 [ 4: 500] @ heapprofile\n"
                              "  1:  100 [  2:  300] @ 0x00003011 0x4021\n"
                              "# a comment\n\n"
                              "     2: 200 [2: 200] @ 0x3011\n"
                              "  0:  0 [  0:  0] @\n"
                              "\nMAPPED_LIBRARIES:\n" +
                              std::string(maps));
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(value_names(*profile),
            (std::vector<std::string>{"inuse_space/bytes", "inuse_objects/count",
                                      "alloc_space/bytes", "alloc_objects/count"}));
  EXPECT_EQ(rows_of(*profile), (Rows{{{{0x3010, "/bin/a"}, {0x4020, "/bin/a"}}, {100, 1, 300, 2}},
                                     {{{0x3010, "/bin/a"}}, {200, 2, 200, 2}},
                                     {{}, {0, 0, 0, 0}}}));
}

TEST(Gperftools, ScalesSampledHeaps) {
  const auto scale = [](int64_t amount, double size, double rate) {
    return static_cast<int64_t>(static_cast<double>(amount) / (1 - std::exp(-size / rate)));
  };
  for (const auto &[kind, rate] : std::map<std::string, double>{{"heap_v2/524288", 524288},
                                                                {"heapz_v2/524288", 524288},
                                                                {"heap/524288", 262144},
                                                                {"heap_v2/1", 0},
                                                                {"heapprofile", 0}}) {
    Diagnostics diagnostics;
    const auto profile = parsed("heap profile: 10: 1000 [10: 1000] @ " + kind +
                                    "\n10: 1000 [10: 1000] @ 0x11\n 3: 0 [3: 0] @ 0x12\n",
                                &diagnostics);
    ASSERT_TRUE(profile) << profile.error().text();
    EXPECT_EQ(diagnostics.findings().size(), 1u); // it has no mapped files
    // What was allocated is the same.
    EXPECT_EQ(value_names(*profile),
              (std::vector<std::string>{"inuse_space/bytes", "inuse_objects/count"}));
    const Rows expected = rate == 0
                              ? Rows{{{{0x10, ""}}, {1000, 10}}, {{{0x11, ""}}, {0, 3}}}
                              : Rows{{{{0x10, ""}}, {scale(1000, 100, rate), scale(10, 100, rate)}},
                                     {{{0x11, ""}}, {0, 0}}};
    EXPECT_EQ(rows_of(*profile), expected) << kind;
  }
}

TEST(Gperftools, ReadsHeapProfilesOfJemalloc) {
  const auto profile = parsed("heap_v2/1\n"
                              "  t*: 3: 300 [0: 0]\n"
                              "  t0: 3: 300 [0: 0]\n"
                              "@ 0x9011 0x3011 0x4021\n"
                              "  t*: 1: 100 [0: 0]\n"
                              "  t0: 1: 100 [0: 0]\n"
                              "@ 0x9011\n"
                              "  t*: 2: 200 [0: 0]\n"
                              "  t3: 2: 200 [0: 0]\n"
                              "\nMAPPED_LIBRARIES:\n" +
                              std::string(maps));
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(value_names(*profile),
            (std::vector<std::string>{"inuse_space/bytes", "inuse_objects/count"}));
  EXPECT_EQ(rows_of(*profile), (Rows{{{{0x3010, "/bin/a"}, {0x4020, "/bin/a"}}, {100, 1}},
                                     {{{0x9010, "/l/libjemalloc.so.2"}}, {200, 2}}}));
}

TEST(Gperftools, RefusesWrongHeapProfiles) {
  const std::string head = "heap profile: 1: 1 [1: 1] @ heapprofile\n";
  for (const auto &[text, message] : std::vector<std::pair<std::string, std::string>>{
           {"heap profile: x", "x:1:15: expected counts"},
           {"heap profile: 1: 1 [1: 1] @ ", "x:1:29: expected counts"},
           {"heap profile: 1: 1 [1: 1] @ pile\n", "x:1:29: unknown kind of heap profile 'pile'"},
           {"heap profile: 1: 1 [1: 1] @ heap_v2\n", "x:1:36: expected the sampling rate"},
           {"heap profile: 1: 1 [1: 1] @ heap_v2/1x\n", "x:1:38: expected the sampling rate"},
           {head + "1: 2 [3: 4 @ 0x1\n", "x:2:12: expected the counts"},
           {head + "1: 2 [3: 4] 0x1\n", "x:2:13: expected @"},
           {head + "1: 2 [3: 4] @ 0x1 z\n", "x:2:19: expected an address"},
           {head + "1: 2 [3: 4] @ 0x10000000000000000\n", "x:2:17: expected an address"},
           {head + "99999999999999999999: 2 [3: 4] @ 1\n", "x:2:1: expected the counts"},
           {"heap profile: 1: 1 [1: 1] @ heap_v2/9223372036854775807\n1: 4611686018427387904 [1: "
            "1] @ 1\n",
            "x:2:1: the sampled numbers"},
           {"heap_v2/\n", "x:1:9: expected the sampling rate"},
           {"heap_v2/1\n@ 1\n t*: 1: 2 [0: 0]\n t*: 1: 2 [0: 0]\n",
            "x:4:1: counts without a stack"},
           {"heap_v2/1\n@ 1\n t*: 1: 2\n", "x:3:10: expected counts"},
           {"heap_v2/1\n@ 1\n t: 1: 2\n", "x:3:4: expected the counts of a thread"},
           {"heap_v2/1\n@ y\n", "x:2:3: expected an address"},
           {head + "1: 2 [3:  -4] @ 0x1\n", "x:2:11: a count is negative"},
           {"heap_v2/1\n@ 1\n t*: -1: 2 [0: 0]\n", "x:3:6: a count is negative"},
       }) {
    const auto read = parsed(text);
    ASSERT_FALSE(read) << text;
    EXPECT_TRUE(read.error().text().starts_with(message)) << read.error().text();
  }
  EXPECT_NE(parsed("x").error().message.find("neither"), std::string::npos);
}

TEST(Gperftools, TakesMappedFilesInAnyOrder) {
  std::string text = "heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x2001\n"
                     "--- Memory map: ---\n";
  for (int i = 9; i > 0; --i)
    text += std::to_string(i) + "000-" + std::to_string(i) + "fff r-xp 00000000 00:00 0 /f" +
            std::to_string(i) + '\n';
  const auto profile = parsed(text);
  ASSERT_TRUE(profile);
  EXPECT_EQ(rows_of(*profile), (Rows{{{{0x2000, "/f2"}}, {1, 1}}}));
}

} // namespace
} // namespace tally::formats_gperftools_test
