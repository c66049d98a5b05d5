#include <cstring>
#include <string>
#include <vector>

#include <sys/sysmacros.h>

#include <gtest/gtest.h>

#include "perf_record_bytes.h"
#include "support/perf_records.h"

namespace tally::support_perf_records_test {
namespace {

using Bytes = RecordBytes;

PerfRecord whole(const std::vector<std::byte> &bytes) {
  PerfRecord record;
  EXPECT_TRUE(first_perf_record(bytes, record));
  return record;
}

// Decodes the record with only the first `size` bytes of its body, in separate memory, so that a
// sanitizer detects any access beyond it, and passes the result to `look`.
template <class Out, class Look = void (*)(const Out &)>
bool decodes_when_cut(
    const PerfLayout &layout, const PerfRecord &record, size_t size,
    Look look = [](const Out &) {}) {
  const std::vector<std::byte> copy(record.body.begin(),
                                    record.body.begin() + static_cast<std::ptrdiff_t>(size));
  Out out;
  if (!decode(layout, PerfRecord{record.type, record.misc, copy}, out))
    return false;
  look(out);
  return true;
}

const PerfLayout plain{.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
                       .sample_id_all = true};

Bytes with_trailer(Bytes bytes) { return bytes.add(int32_t{7}).add(int32_t{8}).add(uint64_t{99}); }

TEST(PerfRecords, ChecksTheHeader) {
  PerfRecord record;
  auto bytes = Bytes().add(uint64_t{1}).record(PERF_RECORD_SAMPLE, 2);
  ASSERT_TRUE(first_perf_record(bytes, record));
  EXPECT_EQ(record.body.size(), 8u);
  EXPECT_EQ(record.misc, 2u);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(first_perf_record(std::span(bytes).first(size), record)) << size;
  bytes[6] = std::byte{7}; // shorter than the header
  EXPECT_FALSE(first_perf_record(bytes, record));
}

TEST(PerfRecords, DecodesASampleWithAllFields) {
  PerfLayout layout;
  layout.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
                       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                       PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
                       PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  layout.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
  layout.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
  layout.regs_user = 0b101;
  Bytes b;
  b.add(uint64_t{1}).add(uint64_t{0x1000}).add(int32_t{10}).add(int32_t{11}).add(uint64_t{12});
  b.add(uint64_t{13}).add(uint64_t{14}).add(uint64_t{15}).add(uint32_t{3}).add(uint32_t{0});
  b.add(uint64_t{16});
  b.add(uint64_t{2}).add(uint64_t{0}); // a group of two, and the time enabled
  b.add(uint64_t{1}).add(uint64_t{2}).add(uint64_t{3}).add(uint64_t{4});
  b.add(uint64_t{2}).add(uint64_t{PERF_CONTEXT_USER}).add(uint64_t{0x1000});
  b.add(uint32_t{4}).add(uint32_t{0xabcd});
  b.add(uint64_t{1}).add(uint64_t{0}).add(uint64_t{5}).add(uint64_t{6}).add(uint64_t{7});
  b.add(uint64_t{PERF_SAMPLE_REGS_ABI_64}).add(uint64_t{20}).add(uint64_t{21});
  b.add(uint64_t{16}).add(uint64_t{30}).add(uint64_t{31}).add(uint64_t{8});
  const auto bytes = b.record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
  const PerfRecord record = whole(bytes);
  PerfSample s;
  ASSERT_TRUE(decode(layout, record, s));
  EXPECT_EQ(s.identifier, 1u);
  EXPECT_EQ(s.ip, 0x1000u);
  EXPECT_EQ(s.pid, 10);
  EXPECT_EQ(s.tid, 11);
  EXPECT_EQ(s.time, 12u);
  EXPECT_EQ(s.address, 13u);
  EXPECT_EQ(s.id, 14u);
  EXPECT_EQ(s.stream_id, 15u);
  EXPECT_EQ(s.cpu, 3u);
  EXPECT_EQ(s.period, 16u);
  EXPECT_FALSE(s.in_kernel);
  ASSERT_EQ(s.chain.size(), 2u);
  EXPECT_EQ(s.chain[0], static_cast<uint64_t>(PERF_CONTEXT_USER));
  ASSERT_EQ(s.regs.size(), 2u);
  EXPECT_EQ(s.regs[1], 21u);
  EXPECT_EQ(s.stack.size(), 8u); // dyn_size, not size
  uint64_t time = 0;
  EXPECT_TRUE(perf_time(layout, record, time));
  EXPECT_EQ(time, 12u);
  for (size_t size = 0; size < record.body.size(); ++size)
    EXPECT_FALSE(decodes_when_cut<PerfSample>(layout, record, size)) << size;
}

TEST(PerfRecords, RefusesImpossibleCounts) {
  PerfSample s;
  for (const uint64_t count : {uint64_t{2}, uint64_t{1} << 61, ~uint64_t{0}}) {
    const auto chain = Bytes().add(count).add(uint64_t{1}).record(PERF_RECORD_SAMPLE);
    EXPECT_FALSE(decode({.sample_type = PERF_SAMPLE_CALLCHAIN}, whole(chain), s));
    const auto branches = Bytes().add(count).add(uint64_t{1}).record(PERF_RECORD_SAMPLE);
    EXPECT_FALSE(decode({.sample_type = PERF_SAMPLE_BRANCH_STACK}, whole(branches), s));
    const auto group = Bytes().add(count).add(uint64_t{1}).record(PERF_RECORD_SAMPLE);
    EXPECT_FALSE(decode({.sample_type = PERF_SAMPLE_READ, .read_format = PERF_FORMAT_GROUP},
                        whole(group), s));
  }
  // More bytes of the stack are valid than the record has.
  const auto stack =
      Bytes().add(uint64_t{8}).add(uint64_t{1}).add(uint64_t{9}).record(PERF_RECORD_SAMPLE);
  EXPECT_FALSE(decode({.sample_type = PERF_SAMPLE_STACK_USER}, whole(stack), s));
  // An empty stack dump has no second size.
  const auto none = Bytes().add(uint64_t{0}).record(PERF_RECORD_SAMPLE);
  EXPECT_TRUE(decode({.sample_type = PERF_SAMPLE_STACK_USER}, whole(none), s));
}

TEST(PerfRecords, AllowsAbsentRegistersOfAKernelThread) {
  const auto bytes = Bytes()
                         .add(uint64_t{PERF_SAMPLE_REGS_ABI_NONE})
                         .record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
  PerfSample s;
  ASSERT_TRUE(decode({.sample_type = PERF_SAMPLE_REGS_USER, .regs_user = 0xff}, whole(bytes), s));
  EXPECT_TRUE(s.regs.empty());
  EXPECT_TRUE(s.in_kernel);
}

TEST(PerfRecords, DecodesMmap2) {
  Bytes b;
  b.add(int32_t{7}).add(int32_t{8}).add(uint64_t{0x400000}).add(uint64_t{0x1000});
  b.add(uint64_t{0x2000}).add(uint32_t{8}).add(uint32_t{1}).add(uint64_t{77}).add(uint64_t{1});
  b.add(uint32_t{5}).add(uint32_t{2}).text("/bin/a program");
  const auto bytes = with_trailer(b).record(PERF_RECORD_MMAP2);
  const PerfRecord record = whole(bytes);
  PerfMmap m;
  ASSERT_TRUE(decode(plain, record, m));
  EXPECT_EQ(m.pid, 7);
  EXPECT_EQ(m.address, 0x400000u);
  EXPECT_EQ(m.length, 0x1000u);
  EXPECT_EQ(m.file_offset, 0x2000u);
  EXPECT_EQ(m.device, makedev(8, 1));
  EXPECT_EQ(m.inode, 77u);
  EXPECT_TRUE(m.executable);
  EXPECT_EQ(m.path, "/bin/a program");
  uint64_t time = 0;
  EXPECT_TRUE(perf_time(plain, record, time));
  EXPECT_EQ(time, 99u);
  PerfSampleId id;
  ASSERT_TRUE(decode(plain, record, id));
  EXPECT_EQ(id.tid, 8);
  EXPECT_EQ(id.time, 99u);
  // A truncated record is refused, or, if only padding is missing, decoded as before; no byte
  // beyond the end is read.
  for (size_t size = 0; size < record.body.size(); ++size)
    decodes_when_cut<PerfMmap>(plain, record, size, [&](const PerfMmap &cut) {
      EXPECT_EQ(cut.path, "/bin/a program") << size;
    });
}

TEST(PerfRecords, DecodesBuildIdsAndRefusesInvalidMmap) {
  Bytes b;
  b.add(int32_t{7}).add(int32_t{8}).add(uint64_t{0x400000}).add(uint64_t{0x1000}).add(uint64_t{0});
  b.add(uint8_t{4}).add(uint8_t{0}).add(uint16_t{0});
  for (uint8_t i = 0; i < 20; ++i)
    b.add(i);
  b.add(uint32_t{1}).add(uint32_t{2}).text("x");
  auto bytes = with_trailer(b).record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
  PerfMmap m;
  ASSERT_TRUE(decode(plain, whole(bytes), m));
  EXPECT_EQ(m.build_id.size(), 4u);
  EXPECT_EQ(m.inode, 0u);
  EXPECT_FALSE(m.executable);
  bytes[8 + 32] = std::byte{21}; // longer than its field
  EXPECT_FALSE(decode(plain, whole(bytes), m));

  Bytes far;
  far.add(int32_t{7}).add(int32_t{8}).add(~uint64_t{0} - 4).add(uint64_t{0x1000}).add(uint64_t{0});
  EXPECT_FALSE(decode(plain, whole(with_trailer(far.text("x")).record(PERF_RECORD_MMAP)), m));
}

TEST(PerfRecords, RefusesTextWithoutAnEnd) {
  Bytes b;
  b.add(int32_t{7}).add(int32_t{8}).add(uint64_t{0x6161616161616161});
  PerfComm c;
  const auto bytes = with_trailer(b).record(PERF_RECORD_COMM);
  EXPECT_FALSE(decode(plain, whole(bytes), c)); // the trailer's zeros do not end the text
}

TEST(PerfRecords, DecodesCommForkExitAndLost) {
  Bytes b;
  const auto comm_bytes = with_trailer(b.add(int32_t{7}).add(int32_t{8}).text("cc1plus"))
                              .record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  PerfComm c;
  ASSERT_TRUE(decode(plain, whole(comm_bytes), c));
  EXPECT_TRUE(c.is_exec);
  EXPECT_EQ(c.name, "cc1plus");
  for (size_t size = 0; size < whole(comm_bytes).body.size(); ++size)
    decodes_when_cut<PerfComm>(plain, whole(comm_bytes), size, [&](const PerfComm &cut) {
      EXPECT_EQ(cut.name, "cc1plus") << size;
    });

  Bytes f;
  f.add(int32_t{1}).add(int32_t{2}).add(int32_t{3}).add(int32_t{4}).add(uint64_t{5});
  const auto fork_bytes = with_trailer(f).record(PERF_RECORD_FORK);
  PerfTask t;
  ASSERT_TRUE(decode(plain, whole(fork_bytes), t));
  EXPECT_EQ(t.pid, 1);
  EXPECT_EQ(t.parent_pid, 2);
  EXPECT_EQ(t.tid, 3);
  EXPECT_EQ(t.parent_tid, 4);
  EXPECT_EQ(t.time, 5u);
  for (size_t size = 0; size < whole(fork_bytes).body.size(); ++size)
    EXPECT_FALSE(decodes_when_cut<PerfTask>(plain, whole(fork_bytes), size)) << size;

  PerfLost lost;
  const auto lost_bytes =
      with_trailer(Bytes().add(uint64_t{1}).add(uint64_t{42})).record(PERF_RECORD_LOST);
  EXPECT_TRUE(decode(whole(lost_bytes), lost));
  EXPECT_EQ(lost.count, 42u);
  EXPECT_EQ(lost.event_id, 1u);
  const auto samples_bytes =
      with_trailer(Bytes().add(uint64_t{43})).record(PERF_RECORD_LOST_SAMPLES);
  EXPECT_TRUE(decode(whole(samples_bytes), lost));
  EXPECT_EQ(lost.count, 43u);
  EXPECT_EQ(lost.event_id, 0u);
  EXPECT_FALSE(decode(PerfRecord{PERF_RECORD_LOST, 0, {}}, lost));
}

TEST(PerfRecords, HasNoTimeWithoutTheField) {
  uint64_t time = 0;
  const auto bytes = Bytes().add(uint64_t{1}).add(uint64_t{2}).record(PERF_RECORD_LOST);
  EXPECT_FALSE(
      perf_time({.sample_type = PERF_SAMPLE_IP, .sample_id_all = true}, whole(bytes), time));
  EXPECT_FALSE(perf_time({.sample_type = PERF_SAMPLE_TIME}, whole(bytes), time));
  EXPECT_FALSE(perf_time(plain, PerfRecord{PERF_RECORD_EXIT, 0, {}}, time));
  EXPECT_EQ(perf_sample_id_size(plain), 16u);
}

} // namespace
} // namespace tally::support_perf_records_test
