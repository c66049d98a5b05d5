#include <algorithm>
#include <bit>
#include <map>

#include <gtest/gtest.h>
#include <zstd.h>

#include "../support/read_profile.h"
#include "../support/sanitized.h"
#include "formats/perf_data/perf_data.h"
#include "formats/perf_data/record_order.h"
#include "perf_data_bytes.h"
#include "temporary.h"

namespace tally::formats_perf_data_test {
namespace {

constexpr uint64_t chain_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_PERIOD;

perf_event_attr clock_attr(uint64_t sample_type = chain_type) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof attr;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.freq = 1;
  attr.sample_freq = 1000;
  attr.sample_type = sample_type;
  attr.sample_id_all = 1;
  return attr;
}

// Appends the fields that sample_id_all adds with chain_type.
RecordBytes &with_id(RecordBytes &bytes, int pid, int tid, uint64_t time) {
  return bytes.add(pid).add(tid).add(time);
}

std::vector<std::byte> mmap2(int pid, uint64_t at, uint64_t size, std::string_view path,
                             uint64_t time, uint64_t file_offset = 0) {
  RecordBytes bytes;
  bytes.add(pid).add(pid).add(at).add(size).add(file_offset);
  bytes.add(uint32_t{8}).add(uint32_t{1}).add(uint64_t{77}).add(uint64_t{0});
  bytes.add(uint32_t{5}).add(uint32_t{2}).text(path);
  return with_id(bytes, pid, pid, time).record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
}

std::vector<std::byte> comm(int pid, int tid, std::string_view name, uint64_t time,
                            bool exec = false) {
  RecordBytes bytes;
  bytes.add(pid).add(tid).text(name);
  return with_id(bytes, pid, tid, time)
      .record(PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
}

std::vector<std::byte> task(uint32_t type, int pid, int parent, int tid, int parent_tid,
                            uint64_t time) {
  RecordBytes bytes;
  bytes.add(pid).add(parent).add(tid).add(parent_tid).add(time);
  return with_id(bytes, pid, tid, time).record(type);
}

std::vector<std::byte> sample(int pid, int tid, uint64_t time, std::vector<uint64_t> chain,
                              uint64_t period = 1'000'000, uint16_t misc = PERF_RECORD_MISC_USER) {
  RecordBytes bytes;
  bytes.add(chain.size() > 1 ? chain[1] : uint64_t{0}).add(pid).add(tid).add(time).add(period);
  bytes.add(uint64_t{chain.size()});
  for (const uint64_t word : chain)
    bytes.add(word);
  return bytes.record(PERF_RECORD_SAMPLE, misc);
}

constexpr auto user = static_cast<uint64_t>(PERF_CONTEXT_USER);
constexpr auto kernel = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
const std::vector<std::byte> round_end = RecordBytes().record(68);

// Returns a small recording of one program with two threads.
PerfFileBytes small() {
  PerfFileBytes file;
  file.event(clock_attr(), {11, 12});
  file.record(comm(5, 5, "prog", 0));
  file.record(mmap2(5, 0x1000, 0x1000, "/bin/prog", 10));
  file.record(mmap2(5, 0x8000, 0x2000, "/lib/libx.so", 11, 0x3000));
  file.record(task(PERF_RECORD_FORK, 5, 5, 6, 5, 12));
  file.record(sample(5, 5, 20, {user, 0x1100, 0x8201}));
  file.record(sample(5, 6, 21, {user, 0x1100, 0x8201}));
  file.record(round_end);
  file.record(sample(5, 5, 30, {kernel, 0xffffffff81000000, user, 0x1200, 0x8201}, 1'000'000,
                     PERF_RECORD_MISC_KERNEL));
  file.record(round_end);
  return file;
}

Result<Profile> read(std::string_view bytes, Diagnostics &diagnostics, Unwinder *unwinder = nullptr,
                     size_t piece = size_t{256} << 10) {
  return perf_data::read(*ByteSource::of(bytes, "perf.data", {.piece_bytes = piece}), diagnostics,
                         unwinder);
}

StackProfile stacks(std::string_view bytes) {
  Diagnostics diagnostics;
  auto profile = read(bytes, diagnostics);
  EXPECT_TRUE(profile) << profile.error().text();
  for (const Finding &finding : diagnostics.findings())
    EXPECT_NE(finding.severity, Severity::error) << finding.text();
  return profile ? std::move(std::get<StackProfile>(*profile)) : StackProfile();
}

// Returns the first value for each "thread: path+offset path+offset", outermost frame last.
std::map<std::string, int64_t> chains_of(const StackProfile &profile) {
  std::map<std::string, int64_t> out;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample each = profile.sample(row);
    std::string text(profile.strings[profile.threads()[each.thread].name]);
    text += ':';
    for (StackId at = each.stack; at != none<StackId>; at = profile.stack_caller(at)) {
      const Location location = profile.location(profile.stack_location(at));
      text += ' ';
      if (!location.lines.empty()) {
        text += profile.strings[profile.functions()[location.lines[0].function].name];
      } else if (location.mapping == none<MappingId>) {
        text += '?';
      } else {
        const Mapping &mapping = profile.mappings()[location.mapping];
        text += profile.strings[mapping.path];
        char offset[32];
        std::snprintf(offset, sizeof offset, "+%llx",
                      static_cast<unsigned long long>(location.address - mapping.start +
                                                      mapping.file_offset));
        text += offset;
      }
    }
    out[text] += each.values[0];
  }
  return out;
}

using Chains = std::map<std::string, int64_t>;
const Chains small_chains = {{"prog: /bin/prog+100 /lib/libx.so+3200", 2},
                             {"prog: [kernel] /bin/prog+200 /lib/libx.so+3200", 1}};

std::string first_text(const Diagnostics &diagnostics) {
  return diagnostics.findings().empty() ? "" : diagnostics.findings()[0].text();
}

TEST(PerfData, ReadsChainsThreadsAndValues) {
  const StackProfile profile = stacks(small().file());
  EXPECT_EQ(chains_of(profile), small_chains);
  ASSERT_EQ(profile.value_types().size(), 2U);
  EXPECT_EQ(profile.strings[profile.value_types()[0].type], "ticks");
  EXPECT_EQ(profile.strings[profile.value_types()[1].type], "cpu");
  EXPECT_EQ(profile.strings[profile.value_types()[1].unit], "nanoseconds");
  EXPECT_EQ(profile.totals(), (std::vector<int64_t>{3, 3'000'000}));
  EXPECT_EQ(profile.period_ns, 1'000'000U);
  EXPECT_EQ(profile.threads().size(), 2U);
  EXPECT_EQ(profile.threads()[ThreadId{1}].tid, 6);
}

TEST(PerfData, ReadsPipedOutput) { EXPECT_EQ(chains_of(stacks(small().piped())), small_chains); }

TEST(PerfData, ReadsPiecesOfAnySizeAlike) {
  const std::string bytes = small().file();
  for (size_t piece = 1; piece < 60; ++piece) {
    Diagnostics diagnostics;
    const auto profile = read(bytes, diagnostics, nullptr, piece);
    ASSERT_TRUE(profile);
    ASSERT_EQ(chains_of(std::get<StackProfile>(*profile)), small_chains);
  }
}

TEST(PerfData, OrdersRecordsByTimeWithinRounds) {
  PerfFileBytes file;
  file.event(clock_attr());
  file.record(comm(5, 5, "a", 0));
  // First one processor's ring, then another's.
  file.record(sample(5, 5, 20, {user, 0x1100}));
  file.record(sample(5, 5, 40, {user, 0x1100}));
  file.record(mmap2(5, 0x1000, 0x1000, "/bin/one", 10));
  file.record(round_end);
  // Older than the last record of the previous round, which is held back until this round ends.
  file.record(mmap2(5, 0x1000, 0x1000, "/bin/two", 30));
  file.record(round_end);
  EXPECT_EQ(chains_of(stacks(file.file())),
            (Chains{{"a: /bin/one+100", 1}, {"a: /bin/two+100", 1}}));
}

TEST(PerfData, BoundsMemoryWithoutRounds) {
  perf_data::RecordOrder order(100);
  std::vector<uint64_t> seen;
  const auto handle = [&](std::span<const std::byte>, uint64_t offset) { seen.push_back(offset); };
  const std::vector<std::byte> bytes(40);
  for (const uint64_t time : {5U, 3U, 9U, 7U, 2U, 11U})
    order.add(time, bytes, time, handle);
  order.end(handle);
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(order.late(), 1U); // 2 arrived after 5 had been delivered
  EXPECT_EQ(seen[0], 3U);
}

TEST(PerfData, FollowsForkAndExec) {
  PerfFileBytes file;
  file.event(clock_attr());
  file.record(comm(5, 5, "sh", 0));
  file.record(mmap2(5, 0x1000, 0x1000, "/bin/sh", 10));
  file.record(task(PERF_RECORD_FORK, 7, 5, 7, 5, 11));
  file.record(sample(7, 7, 12, {user, 0x1100}));
  file.record(comm(8, 8, "other", 12));
  file.record(task(PERF_RECORD_FORK, 9, 5, 9, 5, 0)); // has its own mappings
  file.record(comm(9, 9, "old", 0));
  file.record(sample(9, 9, 13, {user, 0x1100}));
  file.record(comm(7, 7, "ls", 14, true));
  file.record(mmap2(7, 0x1000, 0x1000, "/bin/ls", 15));
  file.record(sample(7, 7, 16, {user, 0x1100}));
  file.record(task(PERF_RECORD_EXIT, 7, 5, 7, 5, 17));
  file.record(sample(7, 7, 18, {user, 0x1100}));
  file.record(sample(5, 5, 19, {user, 0x1100}));
  EXPECT_EQ(
      chains_of(stacks(file.file())),
      (Chains{
          {"ls: /bin/sh+100", 1}, {"ls: /bin/ls+100", 2}, {"old: ?", 1}, {"sh: /bin/sh+100", 1}}));
}

TEST(PerfData, KeepsSeveralEventsAsValues) {
  perf_event_attr clock = clock_attr(chain_type | PERF_SAMPLE_IDENTIFIER);
  perf_event_attr faults = clock;
  faults.config = PERF_COUNT_SW_PAGE_FAULTS;
  // Its records have another layout.
  faults.sample_type &= ~uint64_t{PERF_SAMPLE_CALLCHAIN};
  perf_event_attr unused = clock;
  unused.config = PERF_COUNT_SW_DUMMY;
  PerfFileBytes file;
  file.event(unused, {1}).event(clock, {2, 3}).event(faults, {4});
  const auto add = [&](uint64_t id, bool chain, uint64_t period) {
    RecordBytes bytes;
    bytes.add(id).add(uint64_t{0x1100}).add(5).add(5).add(uint64_t{20}).add(period);
    if (chain)
      bytes.add(uint64_t{2}).add(user).add(uint64_t{0x1100});
    file.record(bytes.record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER));
  };
  add(2, true, 100);
  add(3, true, 100);
  add(4, false, 7);
  const StackProfile profile = stacks(file.file());
  ASSERT_EQ(profile.value_types().size(), 3U);
  EXPECT_EQ(profile.strings[profile.value_types()[2].type], "page-faults");
  EXPECT_EQ(profile.totals(), (std::vector<int64_t>{2, 200, 7}));
}

// Two clocks measure the same time, so their sum would be twice that time.
TEST(PerfData, DoesNotAddUpEvents) {
  perf_event_attr cpu = clock_attr(chain_type | PERF_SAMPLE_IDENTIFIER);
  perf_event_attr task = cpu;
  task.config = PERF_COUNT_SW_TASK_CLOCK;
  PerfFileBytes file;
  file.event(cpu, {1}).event(task, {2}).event(task, {3});
  for (uint64_t id = 1; id <= 3; ++id) {
    RecordBytes bytes;
    bytes.add(id).add(uint64_t{0x1100}).add(5).add(5).add(uint64_t{20}).add(100 * id);
    bytes.add(uint64_t{2}).add(user).add(uint64_t{0x1100});
    file.record(bytes.record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER));
  }
  const StackProfile profile = stacks(file.file());
  std::vector<std::string> types;
  for (const ValueType &type : profile.value_types())
    types.push_back(std::string(profile.strings[type.type]) + "/" +
                    std::string(profile.strings[type.unit]));
  EXPECT_EQ(types,
            (std::vector<std::string>{"ticks/count", "cpu/nanoseconds", "task-clock/nanoseconds",
                                      "task-clock#2/nanoseconds"}));
  EXPECT_EQ(profile.totals(), (std::vector<int64_t>{1, 100, 200, 300}));
}

// Records the input of each call and the modules that are requested.
class Looker final : public Unwinder {
public:
  ModuleId module(const ModuleKey &key) override {
    keys.push_back(key);
    return {};
  }
  StackEnd unwind(const UnwindInput &input, std::vector<uint64_t> &pcs) override {
    inputs.push_back(input.registers);
    bytes += input.stack.size();
    input.mapping_of_pc(input.registers.pc());
    pcs.push_back(input.registers.pc());
    pcs.push_back(0x8200);
    return end;
  }
  std::vector<ModuleKey> keys;
  std::vector<Registers> inputs;
  size_t bytes = 0;
  StackEnd end = StackEnd::complete;
};

PerfFileBytes unwound(uint64_t abi = PERF_SAMPLE_REGS_ABI_64, uint64_t valid = 48,
                      uint64_t registers = 0xff0fff, std::string_view machine = "x86_64") {
  perf_event_attr attr = clock_attr((chain_type & ~uint64_t{PERF_SAMPLE_CALLCHAIN}) |
                                    PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
  attr.sample_regs_user = registers;
  attr.sample_stack_user = 64;
  PerfFileBytes file;
  file.event(attr);
  file.record(comm(5, 5, "prog", 0));
  file.record(mmap2(5, 0x1000, 0x1000, "/bin/prog", 10));
  file.record(mmap2(5, 0x8000, 0x1000, "/lib/libx.so", 10));
  RecordBytes bytes;
  bytes.add(uint64_t{0x1100}).add(5).add(5).add(uint64_t{20}).add(uint64_t{1'000'000}).add(abi);
  const auto count = static_cast<uint64_t>(std::popcount(registers));
  for (uint64_t number = 0; number < count; ++number) // in the order of asm/perf_regs.h
    bytes.add(number == (count == 20 ? 8 : 0) ? uint64_t{0x1100} : 100 + number);
  bytes.add(uint64_t{64});
  for (int i = 0; i < 8; ++i)
    bytes.add(uint64_t{0});
  bytes.add(valid); // the number of bytes that are valid
  file.record(bytes.record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER));
  file.feature(2, build_id_section("/bin/prog"));
  file.feature(6, string_section({machine}).substr(sizeof(uint32_t))); // a single string
  file.feature(11, string_section({"perf", "record", "prog"}));
  return file;
}

TEST(PerfData, UnwindsStacksWithTheRecordedFiles) {
  Looker looker;
  Diagnostics diagnostics;
  const auto profile = read(unwound().file(), diagnostics, &looker);
  ASSERT_TRUE(profile);
  const auto &all = std::get<StackProfile>(*profile);
  EXPECT_EQ(chains_of(all), (Chains{{"prog: /bin/prog+100 /lib/libx.so+200", 1}}));
  EXPECT_TRUE(diagnostics.findings().empty()) << first_text(diagnostics);
  ASSERT_EQ(looker.inputs.size(), 1U);
  EXPECT_EQ(looker.bytes, 48U);
  const auto &value = looker.inputs[0].value;
  EXPECT_EQ(value[0], 100U); // rax
  EXPECT_EQ(value[3], 101U); // rbx
  EXPECT_EQ(value[7], 107U); // rsp
  EXPECT_EQ(value[16], 0x1100U);
  EXPECT_EQ(value[8], 112U); // r8, after the flags and two segments
  EXPECT_EQ(value[15], 119U);
  ASSERT_FALSE(looker.keys.empty());
  EXPECT_EQ(looker.keys[0].path, "/bin/prog");
  EXPECT_EQ(looker.keys[0].build_id, "a0a1a2a3a4a5a6a7");
  EXPECT_EQ(looker.keys[0].pid, 0);
  EXPECT_EQ(all.strings[all.command], "perf record prog");
  EXPECT_EQ(all.strings[all.mappings()[MappingId{0}].build_id], "a0a1a2a3a4a5a6a7");
}

// LoongArch has RISC-V's mask of registers.
TEST(PerfData, TellsLoongArchFromRiscV) {
  for (const auto &[machine, chain] :
       {std::pair{"riscv64", "prog: /bin/prog+100 /lib/libx.so+200"},
        std::pair{"loongarch64", "prog: /bin/prog+100 [truncated: no unwind data]"}}) {
    Looker looker;
    Diagnostics diagnostics;
    const PerfFileBytes file = unwound(PERF_SAMPLE_REGS_ABI_64, 48, 0xffffffff, machine);
    const auto profile = read(file.file(), diagnostics, &looker);
    ASSERT_TRUE(profile);
    EXPECT_EQ(chains_of(std::get<StackProfile>(*profile)), (Chains{{chain, 1}})) << machine;
  }
}

TEST(PerfData, KeepsTheLeafWithoutAnUnwinder) {
  Diagnostics diagnostics;
  const auto profile = read(unwound().file(), diagnostics);
  ASSERT_TRUE(profile);
  EXPECT_EQ(chains_of(std::get<StackProfile>(*profile)), (Chains{{"prog: /bin/prog+100", 1}}));
  EXPECT_NE(first_text(diagnostics).find("not unwound here"), std::string::npos);
}

TEST(PerfData, MarksTruncatedStacks) {
  Looker looker;
  looker.end = StackEnd::dump_too_short;
  Diagnostics diagnostics;
  auto profile = read(unwound(PERF_SAMPLE_REGS_ABI_64, 64).file(), diagnostics, &looker);
  ASSERT_TRUE(profile);
  EXPECT_EQ(chains_of(std::get<StackProfile>(*profile)).begin()->first,
            "prog: /bin/prog+100 /lib/libx.so+200 [truncated: deeper than the stack dump]");
  // The kernel copied less than requested, so a larger stack dump would not help.
  profile = read(unwound().file(), diagnostics, &looker);
  ASSERT_TRUE(profile);
  EXPECT_EQ(
      chains_of(std::get<StackProfile>(*profile)).begin()->first,
      "prog: /bin/prog+100 /lib/libx.so+200 [truncated: the stack could not be read further]");
  EXPECT_NE(first_text(diagnostics).find("1 of 1 stacks are truncated"), std::string::npos);
  // Only the pc of a 32-bit program is known.
  profile = read(unwound(PERF_SAMPLE_REGS_ABI_32).file(), diagnostics, &looker);
  ASSERT_TRUE(profile);
  EXPECT_EQ(chains_of(std::get<StackProfile>(*profile)).begin()->first,
            "prog: /bin/prog+100 [truncated: no unwind data]");
}

TEST(PerfData, ReadsBuildIdsAfterTheRecordsOfAPipe) {
  const StackProfile profile = [] {
    Looker looker;
    Diagnostics diagnostics;
    auto read_one = read(unwound().piped(), diagnostics, &looker);
    EXPECT_TRUE(read_one);
    return std::move(std::get<StackProfile>(*read_one));
  }();
  EXPECT_EQ(profile.strings[profile.mappings()[MappingId{0}].build_id], "a0a1a2a3a4a5a6a7");
}

TEST(PerfData, ReadsCompressedRecords) {
  const PerfFileBytes plain = small();
  for (const size_t step : {size_t{1} << 20, size_t{37}, size_t{9}}) {
    // One zstd stream, flushed now and then without regard to the boundaries of records.
    ZSTD_CCtx *packer = ZSTD_createCCtx();
    PerfFileBytes file;
    file.event(clock_attr());
    for (size_t at = 0; at < plain.records.size(); at += step) {
      const std::string piece = plain.records.substr(at, step);
      std::string packed(ZSTD_compressBound(piece.size()) + 64, '\0');
      ZSTD_inBuffer in{piece.data(), piece.size(), 0};
      ZSTD_outBuffer out{packed.data(), packed.size(), 0};
      while (ZSTD_compressStream2(packer, &out, &in, ZSTD_e_flush) != 0)
        ;
      packed.resize(out.pos);
      RecordBytes bytes;
      const bool second = step == 37;
      if (second)
        bytes.add(uint64_t{packed.size()});
      for (const char c : packed)
        bytes.add(c);
      if (second)
        bytes.text("pad");
      file.record(bytes.record(second ? 83 : 81));
    }
    ZSTD_freeCCtx(packer);
    EXPECT_EQ(chains_of(stacks(file.file())), small_chains) << step;
  }
}

TEST(PerfData, SkipsUnknownRecordsAndTrailingData) {
  PerfFileBytes file;
  file.event(clock_attr());
  file.record(comm(5, 5, "prog", 0));
  file.record(RecordBytes().add(uint64_t{1}).record(4711));
  file.record(RecordBytes().add(uint64_t{1}).record(82));
  RecordBytes trace;
  trace.add(uint64_t{24}); // the number of bytes that follow
  for (int i = 0; i < 4; ++i)
    trace.add(uint64_t{0});
  file.record(trace.record(71));
  file.records += std::string(24, '\0');
  file.record(sample(5, 5, 20, {user, 0x1100}));
  EXPECT_EQ(chains_of(stacks(file.file())), (Chains{{"prog: ?", 1}}));
}

TEST(PerfData, ReportsLosses) {
  PerfFileBytes file = small();
  RecordBytes lost;
  file.record(with_id(lost.add(uint64_t{11}).add(uint64_t{42}), 5, 5, 40).record(PERF_RECORD_LOST));
  RecordBytes lost_samples;
  file.record(with_id(lost_samples.add(uint64_t{8}), 5, 5, 41).record(PERF_RECORD_LOST_SAMPLES));
  Diagnostics diagnostics;
  ASSERT_TRUE(read(file.file(), diagnostics));
  EXPECT_NE(first_text(diagnostics).find("50 records were lost"), std::string::npos);
}

// Reverses the byte order of the words of a file.
class Swapper {
public:
  explicit Swapper(std::string bytes) : bytes_(std::move(bytes)) {}
  Swapper &words(size_t size, size_t count) {
    for (size_t i = 0; i < count; ++i, at_ += size)
      std::reverse(bytes_.begin() + static_cast<std::ptrdiff_t>(at_),
                   bytes_.begin() + static_cast<std::ptrdiff_t>(at_ + size));
    return *this;
  }
  Swapper &header() { return words(4, 1).words(2, 2); }
  Swapper &skip(size_t size) {
    at_ += size;
    return *this;
  }
  Swapper &bit_fields() {
    for (size_t i = 0; i < 8; ++i, ++at_) {
      auto byte = static_cast<unsigned char>(bytes_[at_]), turned = static_cast<unsigned char>(0);
      for (int bit = 0; bit < 8; ++bit)
        turned = static_cast<unsigned char>(turned << 1 | (byte >> bit & 1));
      bytes_[at_] = static_cast<char>(turned);
    }
    return *this;
  }
  std::string done() const {
    EXPECT_EQ(at_, bytes_.size());
    return bytes_;
  }

private:
  std::string bytes_;
  size_t at_ = 0;
};

TEST(PerfData, ReadsTheOtherByteOrder) {
  PerfFileBytes file;
  file.event(clock_attr(), {1});
  file.record(comm(5, 5, "prog", 1));
  file.record(mmap2(5, 0x1000, 0x1000, "/bin/prog", 10));
  file.record(sample(5, 5, 20, {user, 0x1100}));
  Swapper other(file.file());
  other.words(8, 9).words(8, 4);              // header, features
  other.words(8, 1);                          // id
  other.words(4, 2).words(8, 4).bit_fields(); // attr
  other.words(4, 2).words(8, 4).words(4, 2);  // … to sample_stack_user and clockid
  other.skip(sizeof(perf_event_attr) - 96).words(8, 2);
  other.header().words(4, 2).skip(8).words(4, 2).words(8, 1);
  other.header().words(4, 2).words(8, 3).words(4, 2).words(8, 2).words(4, 2).skip(16);
  other.words(4, 2).words(8, 1);
  other.header().words(8, 1).words(4, 2).words(8, 2).words(8, 3);
  EXPECT_EQ(chains_of(stacks(other.done())), (Chains{{"prog: /bin/prog+100", 1}}));
}

TEST(PerfData, ReadsAFileThatACrashLeft) {
  Diagnostics diagnostics;
  const std::string whole = small().file(false);
  auto profile = read(whole, diagnostics);
  ASSERT_TRUE(profile);
  EXPECT_EQ(chains_of(std::get<StackProfile>(*profile)), small_chains);
  EXPECT_NE(first_text(diagnostics).find("ended before it had finished"), std::string::npos);
  profile = read(whole.substr(0, whole.size() - 20), diagnostics);
  ASSERT_TRUE(profile);
  EXPECT_EQ(std::get<StackProfile>(*profile).totals()[0], 2);
  EXPECT_FALSE(diagnostics.has_errors());
}

// A truncated file is never read without a diagnostic.
TEST(PerfData, ReportsEveryTruncation) {
  for (const std::string &whole : {small().file(), small().piped(), unwound().file()}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      Diagnostics diagnostics;
      Looker looker;
      const auto profile = read(std::string_view(whole).substr(0, size), diagnostics, &looker);
      if (!profile) {
        EXPECT_NE(profile.error().code, ErrorCode::internal);
        EXPECT_FALSE(profile.error().message.empty());
        continue;
      }
      // A pipe may end after any record.
      if (whole[8] != 16) {
        EXPECT_TRUE(diagnostics.has_errors()) << size;
      }
    }
  }
}

TEST(PerfData, SurvivesFlippedBits) {
  for (const std::string &whole : {small().file(), small().piped(), unwound().file()})
    for (size_t at = 0; at < whole.size(); ++at)
      for (const int mask : {0x01, 0x80, 0xff}) {
        if (TALLY_SANITIZED && (at + static_cast<size_t>(mask)) % 3 != 0)
          continue;
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ mask);
        Diagnostics diagnostics;
        Looker looker;
        const auto profile = read(bytes, diagnostics, &looker);
        if (!profile)
          EXPECT_NE(profile.error().code, ErrorCode::internal) << at;
        else
          EXPECT_TRUE(validate(std::get<StackProfile>(*profile))) << at;
      }
}

TEST(PerfData, ErrorsStateTheOffset) {
  const auto refusal = [](const std::string &bytes) {
    Diagnostics diagnostics;
    const auto profile = read(bytes, diagnostics);
    return profile ? std::string("read") : profile.error().text();
  };
  EXPECT_EQ(refusal("PERFFILE" + std::string(100, '\0')),
            "perf.data: was written by perf before Linux 3.0, whose format is not supported");
  EXPECT_EQ(refusal("PERFILE2"), "perf.data:0x8: the file ends within its header");
  PerfFileBytes none;
  EXPECT_EQ(refusal(none.file()), "perf.data:0x18: describes no event");
  none.event(clock_attr());
  EXPECT_EQ(refusal(none.file()), "perf.data: holds no samples");
  PerfFileBytes bad;
  bad.event(clock_attr()).records = std::string(64, '\0');
  EXPECT_EQ(refusal(bad.file()), "perf.data:0xf8: a record has the invalid size 0");
}

TEST(PerfData, IsARegisteredFormat) {
  EXPECT_TRUE(perf_data::probe(small().file()));
  EXPECT_TRUE(perf_data::probe("2ELIFREP"));
  EXPECT_FALSE(perf_data::probe("PERF"));
  const TemporaryFolder folder;
  Diagnostics diagnostics;
  const auto file = read_profile(folder.put("x", small().file()), diagnostics);
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->format->name, "perf-data");
  EXPECT_EQ(format_by_file_name("perf.data.old")->name, "perf-data");
}

} // namespace
} // namespace tally::formats_perf_data_test
