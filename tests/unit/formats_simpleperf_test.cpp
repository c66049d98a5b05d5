// Reports of Android's simpleperf.
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "formats/formats.h"
#include "formats/simpleperf/simpleperf.h"
#include "timed_profile.h"

namespace tally::formats_simpleperf_test {
namespace {

using protozero::pbf_writer;

struct Entry {
  uint32_t file = 0;
  int32_t symbol = 0;
};

// Builds a file from the records that a test adds.
class File {
public:
  template <class Fill> File &record(uint32_t number, Fill fill) {
    std::string bytes;
    pbf_writer message(bytes);
    {
      pbf_writer content(message, number);
      fill(content);
    }
    for (size_t i = 0; i < 4; ++i)
      bytes_ += static_cast<char>(bytes.size() >> 8 * i);
    bytes_ += bytes;
    return *this;
  }
  File &sample(uint64_t at_ns, int32_t tid, const std::vector<Entry> &chain, uint64_t count,
               uint32_t event) {
    return record(1, [&](pbf_writer &to) {
      to.add_uint64(1, at_ns);
      to.add_int32(2, tid);
      for (const Entry &each : chain) {
        pbf_writer entry(to, 3);
        entry.add_uint64(1, 0x1000);
        entry.add_uint32(2, each.file);
        entry.add_int32(3, each.symbol);
      }
      to.add_uint64(4, count);
      to.add_uint32(5, event);
    });
  }
  File &file(uint32_t id, const std::string &path, const std::vector<std::string> &symbols) {
    return record(3, [&](pbf_writer &to) {
      to.add_uint32(1, id);
      to.add_string(2, path);
      for (const std::string &symbol : symbols)
        to.add_string(3, symbol);
    });
  }
  File &thread(uint32_t tid, uint32_t pid, const std::string &name) {
    return record(4, [&](pbf_writer &to) {
      to.add_uint32(1, tid);
      to.add_uint32(2, pid);
      to.add_string(3, name);
    });
  }
  File &events(const std::vector<std::string> &names) {
    return record(5, [&](pbf_writer &to) {
      for (const std::string &name : names)
        to.add_string(1, name);
      to.add_string(2, "com.example");
    });
  }
  std::string bytes() const { return bytes_ + std::string(4, '\0'); }
  size_t size() const { return bytes_.size(); }

private:
  std::string bytes_ = std::string("SIMPLEPERF\1\0", 12);
};

Result<StackProfile> parsed(std::string_view bytes, Diagnostics *found = nullptr) {
  Diagnostics diagnostics;
  auto read = simpleperf::read(*ByteSource::of(bytes, "x"), found ? *found : diagnostics);
  if (!read)
    return fail(std::move(read.error()));
  return std::get<StackProfile>(std::move(*read));
}

// What samples refer to may come after them.
File whole() {
  File out;
  out.events({"cpu-clock", "page-faults:u"})
      .sample(5'000, 8, {{1, 0}, {0, 1}, {0, 0}}, 250'000, 0)
      .sample(4'000, 7, {{0, -1}, {0, 0}}, 250'000, 0)
      .sample(9'000, 8, {{0, 1}}, 3, 1)
      .file(0, "/system/lib/libc.so", {"main", "work"})
      .file(1, "[kernel.kallsyms]", {"do_work"})
      .thread(7, 7, "com.example")
      .thread(8, 7, "worker");
  return out;
}

TEST(Simpleperf, ReadsSamplesOfEvents) {
  Diagnostics diagnostics;
  File file = whole();
  file.record(6, [](pbf_writer &to) { to.add_uint64(2, 1); });
  file.record(2, [](pbf_writer &to) {
    to.add_uint64(1, 3);
    to.add_uint64(2, 1);
  });
  const auto profile = parsed(file.bytes(), &diagnostics);
  ASSERT_TRUE(profile) << profile.error().text();
  std::vector<std::string> types;
  for (const ValueType &type : profile->value_types())
    types.push_back(
        std::string(profile->strings[type.type]).append("/").append(profile->strings[type.unit]));
  EXPECT_EQ(types,
            (std::vector<std::string>{"ticks/count", "cpu/nanoseconds", "page-faults:u/count"}));
  EXPECT_EQ(profile->totals(), (std::vector<int64_t>{2, 500'000, 3}));
  EXPECT_EQ(profile->period_ns, 250'000u);
  EXPECT_EQ(profile->strings[profile->command], "com.example");
  const std::string libc = "/system/lib/libc.so", kernel = "[kernel.kallsyms]";
  const ShownFrame main{"main", "", libc, 0, 0}, work{"work", "", libc, 0, 0},
      unknown{"[libc.so]", "", libc, 0, 0}, in_kernel{"do_work", "", kernel, 0, 0};
  EXPECT_EQ(shown_totals(*profile),
            (std::map<ShownSample, int64_t>{{{8, {main, work, in_kernel}, 0}, 1},
                                            {{8, {main, work, in_kernel}, 1}, 250'000},
                                            {{7, {main, unknown}, 0}, 1},
                                            {{7, {main, unknown}, 1}, 250'000},
                                            {{8, {work}, 2}, 3}}));
  EXPECT_EQ(profile->times().size(), 5u);
  for (const Thread &thread : profile->threads()) {
    EXPECT_EQ(profile->strings[thread.process], "com.example");
    EXPECT_EQ(profile->strings[thread.name], thread.tid == 7 ? "com.example" : "worker");
  }
  std::string found;
  for (const Finding &finding : diagnostics.findings())
    found += finding.message + "\n";
  EXPECT_EQ(found, "holds samples of 2 events; ticks count those of cpu-clock\n"
                   "1 sample was lost while the program ran\n"
                   "1 record of context switches is not read\n");
}

TEST(Simpleperf, SaysWhereTheInputIsWrong) {
  const File good = whole();
  const auto after = [&](auto add) {
    File out = whole();
    add(out);
    return out.bytes();
  };
  const size_t in_next = good.size() + 4;
  for (const auto &[bytes, offset, message] :
       std::vector<std::tuple<std::string, size_t, std::string>>{
           {"SIMPLE", 0, "begins with SIMPLEPERF"},
           {"SIMPLEPERF\1", 11, "within the header"},
           {std::string("SIMPLEPERF\2\0", 12), 10, "has version 2"},
           {good.bytes().substr(0, good.size()), good.size(), "without a record of size 0"},
           {good.bytes().substr(0, 40), 12, "bytes, but only 24 are left"},
           {after([](File &to) { to.file(1, "/x", {}); }), in_next, "two files have the id 1"},
           {after([](File &to) { to.sample(1, 7, {}, 1, 2); }), in_next + 8,
            "of event 2, but there"},
           {after([](File &to) {
              to.sample(1, 7, {{2, 0}}, 1, 0);
            }),
            in_next + 6, "file 2 does not"},
           {after([](File &to) {
              to.sample(1, 7, {{0, 2}}, 1, 0);
            }),
            in_next + 6, "symbol 2 does"},
           {after([](File &to) { to.sample(1, 7, {}, UINT64_MAX, 0); }), in_next + 6, "63 bits"},
           {after([](File &to) {
              to.record(1, [](pbf_writer &sample) { sample.add_string(2, "x"); });
            }),
            in_next + 2, "field 2 of a sample has the wire type 2"},
       }) {
    const auto read = parsed(bytes);
    ASSERT_FALSE(read) << message;
    EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().text();
    EXPECT_EQ(read.error().where, Position::at_offset(offset)) << read.error().text();
  }
  EXPECT_EQ(parsed(File().events({"cpu-clock"}).bytes()).error().code, ErrorCode::no_data);
  // Every cut is an error.
  const std::string all = good.bytes();
  for (size_t size = 0; size < all.size(); ++size)
    EXPECT_FALSE(parsed(std::string_view(all).substr(0, size))) << size;
}

TEST(Simpleperf, IsRecognized) {
  const std::string bytes = whole().bytes();
  for (const Format &format : formats())
    EXPECT_EQ(format.probe && format.probe(bytes), format.name == "simpleperf") << format.name;
}

} // namespace
} // namespace tally::formats_simpleperf_test
