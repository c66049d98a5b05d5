#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "collect/perf_ring.h"

namespace tally::collect_ring_test {
namespace {

const PerfLayout layout{.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
                        .sample_id_all = true};

// Plays the kernel's part: writes records into a ring.
class FakeRing {
public:
  explicit FakeRing(size_t bytes) : data_(bytes) {}

  // Writes a sample whose body is `extra` bytes longer than necessary.
  void write_sample(uint64_t time, uint64_t ip, size_t extra = 0) {
    std::vector<std::byte> record(8 + 24 + extra);
    const perf_event_header header{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER,
                                   static_cast<uint16_t>(record.size())};
    std::memcpy(record.data(), &header, sizeof header);
    std::memcpy(record.data() + 8, &ip, 8);
    std::memcpy(record.data() + 24, &time, 8);
    write(record);
  }
  void write(const std::vector<std::byte> &record) {
    ASSERT_LE(page_.data_head + record.size() - page_.data_tail, data_.size())
        << "the ring is full";
    for (const std::byte byte : record)
      data_[page_.data_head++ % data_.size()] = byte;
  }
  uint64_t unread() const { return page_.data_head - page_.data_tail; }
  PerfRing ring(PerfRing::Writer writer = PerfRing::Writer::kernel) {
    return {&page_, data_, writer};
  }
  // Plays a program that overwrites the kernel's numbers.
  void set_head(uint64_t head) { page_.data_head = head; }
  void set_tail(uint64_t tail) { page_.data_tail = tail; }
  std::vector<std::byte> &data() { return data_; }

private:
  perf_event_mmap_page page_{};
  std::vector<std::byte> data_;
};

struct Seen {
  uint64_t time;
  uint64_t ip;
  friend bool operator==(const Seen &, const Seen &) = default;
};

std::vector<Seen> drain(PerfMerge &merge, std::span<PerfRing> rings,
                        uint64_t newest = PerfMerge::everything) {
  std::vector<Seen> seen;
  merge.run(rings, layout, newest, [&](const PerfRecord &record) {
    PerfSample sample;
    ASSERT_TRUE(decode(layout, record, sample));
    seen.push_back({sample.time, sample.ip});
  });
  return seen;
}

TEST(PerfMerge, DeliversOldestFirstAcrossRings) {
  FakeRing a(4096), b(4096), c(4096);
  a.write_sample(10, 1);
  a.write_sample(40, 2);
  b.write_sample(20, 3);
  b.write_sample(30, 4);
  c.write_sample(5, 5);
  PerfRing rings[] = {a.ring(), b.ring(), c.ring()};
  PerfMerge merge;
  EXPECT_EQ(drain(merge, rings), (std::vector<Seen>{{5, 5}, {10, 1}, {20, 3}, {30, 4}, {40, 2}}));
  EXPECT_FALSE(merge.held_back());
  EXPECT_EQ(a.unread() + b.unread() + c.unread(), 0u);
  EXPECT_TRUE(drain(merge, rings).empty());
}

TEST(PerfMerge, HoldsBackRecordsThatAreTooNew) {
  FakeRing a(4096), b(4096);
  a.write_sample(10, 1);
  a.write_sample(90, 2);
  PerfRing rings[] = {a.ring(), b.ring()};
  PerfMerge merge;
  EXPECT_EQ(drain(merge, rings, 50), (std::vector<Seen>{{10, 1}}));
  EXPECT_TRUE(merge.held_back());
  EXPECT_EQ(a.unread(), 32u);
  b.write_sample(60, 3); // arrives late, but is older
  EXPECT_EQ(drain(merge, rings, 100), (std::vector<Seen>{{60, 3}, {90, 2}}));
  EXPECT_FALSE(merge.held_back());
}

TEST(PerfMerge, ReadsRecordsThatWrap) {
  for (const size_t extra : {size_t{0}, size_t{8}, size_t{40}, size_t{56}}) {
    FakeRing a(256), b(256);
    PerfRing rings[] = {a.ring(), b.ring()};
    PerfMerge merge;
    for (uint64_t i = 0; i < 500; ++i) {
      a.write_sample(2 * i, i, extra);
      a.write_sample(2 * i + 1, i + 1000, extra);
      if (i % 3 == 0)
        b.write_sample(2 * i, i + 5000, extra);
      const auto seen = drain(merge, rings);
      ASSERT_EQ(seen.size(), i % 3 == 0 ? 3u : 2u);
      EXPECT_EQ(seen.front().time, 2 * i);
      EXPECT_EQ(seen.back(), (Seen{2 * i + 1, i + 1000}));
    }
  }
}

TEST(PerfMerge, OrdersManyRings) {
  std::vector<FakeRing> fakes;
  fakes.reserve(37);
  std::vector<PerfRing> rings;
  for (int i = 0; i < 37; ++i)
    fakes.emplace_back(size_t{65536});
  uint64_t state = 1;
  for (uint64_t time = 1; time <= 20000; ++time) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    fakes[(state >> 33) % 37].write_sample(time, time);
  }
  for (FakeRing &fake : fakes)
    rings.push_back(fake.ring());
  PerfMerge merge;
  uint64_t expected = 1;
  for (const uint64_t newest : {uint64_t{1000}, uint64_t{1001}, uint64_t{19000}, ~uint64_t{0}})
    for (const Seen &seen : drain(merge, rings, newest))
      ASSERT_EQ(seen.time, expected++);
  EXPECT_EQ(expected, 20001u);
}

TEST(PerfMerge, InvalidSizeEndsOnlyTheRoundOfItsRing) {
  FakeRing a(4096), b(4096);
  a.write_sample(10, 1);
  a.write(std::vector<std::byte>(24)); // a record of size 0
  b.write_sample(20, 2);
  PerfRing rings[] = {a.ring(), b.ring()};
  PerfMerge merge;
  EXPECT_EQ(drain(merge, rings), (std::vector<Seen>{{10, 1}, {20, 2}}));
  a.write_sample(30, 3);
  EXPECT_EQ(drain(merge, rings), (std::vector<Seen>{{30, 3}}));
}

// The reader believes neither that a program's own ring holds more than its size, nor another place
// to read from, nor a record that changes while it is read.
TEST(PerfRing, IsGivenUpIfItSaysMoreThanItHolds) {
  FakeRing a(4096);
  a.write_sample(10, 1);
  PerfRing rings[] = {a.ring(PerfRing::Writer::kernel_and_program)};
  PerfMerge merge;
  EXPECT_EQ(drain(merge, rings), (std::vector<Seen>{{10, 1}}));
  a.set_tail(4000); // this side knows where it is
  a.set_head(64);
  EXPECT_FALSE(rings[0].is_overwritten());
  drain(merge, rings);
  for (const uint64_t head : {uint64_t{1} << 62, uint64_t{0}, uint64_t{4096 + 64 + 8}}) {
    FakeRing b(4096);
    PerfRing other[] = {b.ring(PerfRing::Writer::kernel_and_program)};
    b.write_sample(10, 1);
    b.write_sample(20, 2);
    EXPECT_EQ(drain(merge, other).size(), 2u);
    b.set_head(head);
    EXPECT_TRUE(drain(merge, other).empty());
    EXPECT_TRUE(other[0].is_overwritten()) << head;
    b.set_head(64);
    EXPECT_TRUE(drain(merge, other).empty()) << "it stays so";
  }
}

TEST(PerfRing, CopiesWhatAProgramMayChange) {
  FakeRing a(4096);
  a.write_sample(10, 1, 64);
  PerfRing ring = a.ring(PerfRing::Writer::kernel_and_program);
  ring.begin_round();
  PerfBounce bounce;
  PerfRecord record;
  ASSERT_TRUE(ring.peek(bounce, record));
  std::ranges::fill(a.data(), std::byte{0xff});
  PerfSample sample;
  ASSERT_TRUE(decode(layout, record, sample));
  EXPECT_EQ(sample.time, 10u);
  EXPECT_EQ(sample.ip, 1u);
  EXPECT_EQ(record.body.size(), 24u + 64u);
}

} // namespace
} // namespace tally::collect_ring_test
