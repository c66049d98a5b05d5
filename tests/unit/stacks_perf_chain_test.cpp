// Tests registers and chains of samples as the kernel writes them.
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "stacks/perf_chain.h"

namespace tally::stacks_perf_chain_test {
namespace {

// The order of asm/perf_regs.h: ax bx cx dx si di bp sp ip flags cs ss ds es fs gs r8 … r15.
constexpr uint64_t general = 0xff01ff;
constexpr uint64_t with_flags = 0xff0fff; // perf's own mask

struct Sampled {
  std::vector<uint64_t> words;
  PerfLayout layout;
  PerfSample sample;

  Sampled(uint64_t mask, uint64_t abi) {
    layout.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER;
    layout.regs_user = mask;
    for (unsigned number = 0; number < 64; ++number)
      if ((mask >> number & 1) != 0)
        words.push_back(1000 + number);
    sample.regs_abi = abi;
    sample.regs = PerfWords(std::as_bytes(std::span(words)));
    sample.ip = 77;
  }
};

TEST(PerfChain, NumbersRegistersAsDwarfDoes) {
  for (const uint64_t mask : {general, with_flags}) {
    Sampled at(mask, PERF_SAMPLE_REGS_ABI_64);
    Registers registers;
    ASSERT_TRUE(read_registers(at.layout, at.sample, registers));
    // psABI, figure 3.36: rax rdx rcx rbx rsi rdi rbp rsp r8 … r15, return address.
    const std::array<uint64_t, 33> expected{1000, 1003, 1002, 1001, 1004, 1005, 1006, 1007, 1016,
                                            1017, 1018, 1019, 1020, 1021, 1022, 1023, 1008};
    EXPECT_EQ(registers.value, expected);
    EXPECT_EQ(registers.pc(), 1008u);
    EXPECT_EQ(registers.sp(), 1007u);
    EXPECT_EQ(registers.fp(), 1006u);
  }
}

TEST(PerfChain, ReadsRegistersOfAArch64) {
  constexpr uint64_t all = 0x1ffffffff;
  for (const uint64_t mask : {all, all | uint64_t{1} << 46}) { // with the length of vectors
    Sampled at(mask, PERF_SAMPLE_REGS_ABI_64);
    Registers registers;
    ASSERT_TRUE(read_registers(at.layout, at.sample, registers));
    EXPECT_EQ(registers.processor, Processor::aarch64);
    EXPECT_EQ(registers.fp(), 1029u);
    EXPECT_EQ(registers.value[30], 1030u);
    EXPECT_EQ(registers.sp(), 1031u);
    EXPECT_EQ(registers.pc(), 1032u);
    at.sample.in_kernel = true;
    EXPECT_EQ(user_pc(at.layout, at.sample), 1032u);
    EXPECT_FALSE(is_in_system_call(at.layout, at.sample));
  }
}

TEST(PerfChain, ReadsRegistersOfRiscV) {
  Sampled at(0xffffffff, PERF_SAMPLE_REGS_ABI_64);
  Registers registers;
  ASSERT_TRUE(read_registers(at.layout, at.sample, registers));
  EXPECT_EQ(registers.processor, Processor::riscv64);
  EXPECT_EQ(registers.pc(), 1000u);
  EXPECT_EQ(registers.value[1], 1001u);
  EXPECT_EQ(registers.sp(), 1002u);
  EXPECT_EQ(registers.fp(), 1008u);
  at.sample.in_kernel = true;
  EXPECT_EQ(user_pc(at.layout, at.sample), 1000u);
}

TEST(PerfChain, RefusesUnusableRegisters) {
  Registers registers;
  Sampled of_kernel(general, PERF_SAMPLE_REGS_ABI_NONE);
  EXPECT_FALSE(read_registers(of_kernel.layout, of_kernel.sample, registers));
  Sampled of_32_bits(general, PERF_SAMPLE_REGS_ABI_32);
  EXPECT_FALSE(read_registers(of_32_bits.layout, of_32_bits.sample, registers));
  Sampled few(general & ~uint64_t{0x10}, PERF_SAMPLE_REGS_ABI_64);
  EXPECT_FALSE(read_registers(few.layout, few.sample, registers));
  Sampled powerpc((uint64_t{1} << 43) - 1, PERF_SAMPLE_REGS_ABI_64);
  EXPECT_FALSE(read_registers(powerpc.layout, powerpc.sample, registers));
  Sampled short_arm(0x1ffffffff, PERF_SAMPLE_REGS_ABI_64);
  short_arm.sample.regs = PerfWords(std::as_bytes(std::span(short_arm.words).first(32)));
  EXPECT_FALSE(read_registers(short_arm.layout, short_arm.sample, registers));
  Sampled short_record(general, PERF_SAMPLE_REGS_ABI_64);
  short_record.sample.regs = PerfWords(std::as_bytes(std::span(short_record.words).first(3)));
  EXPECT_FALSE(read_registers(short_record.layout, short_record.sample, registers));
}

TEST(PerfChain, FindsTheProgramsPc) {
  Sampled at(general, PERF_SAMPLE_REGS_ABI_64);
  EXPECT_EQ(user_pc(at.layout, at.sample), 77u);
  at.sample.in_kernel = true;
  EXPECT_EQ(user_pc(at.layout, at.sample), 1008u);
  Sampled only_pc(0x100, PERF_SAMPLE_REGS_ABI_32);
  only_pc.sample.in_kernel = true;
  EXPECT_EQ(user_pc(only_pc.layout, only_pc.sample), 1008u);
  Sampled arms_pc(uint64_t{1} << 32, PERF_SAMPLE_REGS_ABI_64);
  arms_pc.sample.in_kernel = true;
  EXPECT_EQ(user_pc(arms_pc.layout, arms_pc.sample), 1032u);
  Sampled nothing(0, PERF_SAMPLE_REGS_ABI_NONE);
  nothing.sample.in_kernel = true;
  EXPECT_EQ(user_pc(nothing.layout, nothing.sample), 0u);
}

TEST(PerfChain, FollowsOnlyTheUserModePart) {
  AddressSpace space;
  space.map({0x1000, 0x2000, 0, 1, 1, "program"});
  CallChain chain(0, nullptr, space);
  const std::vector<uint64_t> words{static_cast<uint64_t>(PERF_CONTEXT_KERNEL),
                                    0xffffffff81000000,
                                    static_cast<uint64_t>(PERF_CONTEXT_USER),
                                    0x1800,
                                    0x1101,
                                    static_cast<uint64_t>(PERF_CONTEXT_GUEST),
                                    0x1900,
                                    static_cast<uint64_t>(PERF_CONTEXT_USER),
                                    0x1201,
                                    0x5001, // not code: the chain is wrong from here on
                                    0x1301};
  PerfSample sample;
  sample.chain = PerfWords(std::as_bytes(std::span(words)));
  follow(sample, chain);
  const std::vector<uint64_t> expected{0x1800, 0x1100, 0x1200};
  EXPECT_EQ(std::vector<uint64_t>(chain.pcs().begin(), chain.pcs().end()), expected);
}

class Cuts : public Unwinder {
public:
  std::vector<uint64_t> chain;
  StackEnd end = StackEnd::dump_too_short;
  ModuleId module(const ModuleKey &) override { return {}; }
  StackEnd unwind(const UnwindInput &, std::vector<uint64_t> &pcs) override {
    pcs = chain;
    return end;
  }
};

class Splice : public ::testing::Test {
protected:
  Splice() { space.map({0x1000, 0x9000, 0, 0, 0, "program", {}}); }
  // Returns the chain spliced from ours and the kernel's, without the truncation marker.
  std::vector<uint64_t> spliced(std::vector<uint64_t> ours, std::vector<uint64_t> theirs,
                                size_t asked = 0) {
    unwinder.chain = std::move(ours);
    chain.clear();
    chain.unwind({}, {}, asked, 1);
    theirs.insert(theirs.begin(), static_cast<uint64_t>(PERF_CONTEXT_USER));
    PerfSample sample;
    sample.chain = PerfWords(std::as_bytes(std::span(theirs)));
    const size_t came = splice(sample, chain);
    std::vector<uint64_t> out(chain.pcs().begin(), chain.pcs().end());
    if (unwinder.end != StackEnd::complete) {
      // If the stack dump is smaller than requested, nothing indicates that the stack is deeper.
      EXPECT_EQ(out.back(), truncation_mark(asked > 0 ? StackEnd::unreadable : unwinder.end));
      out.pop_back();
    }
    EXPECT_EQ(out.size(), unwinder.chain.size() + came);
    return out;
  }
  Cuts unwinder;
  AddressSpace space;
  CallChain chain{0, &unwinder, space};
};

using Pcs = std::vector<uint64_t>;

TEST_F(Splice, ContinuesWhereBothAgree) {
  EXPECT_EQ(spliced({0x1000, 0x2000, 0x3000}, {0x1000, 0x2001, 0x3001, 0x4001, 0x5001}),
            (Pcs{0x1000, 0x2000, 0x3000, 0x4000, 0x5000}));
}

TEST_F(Splice, DoesNotCallAShortenedDumpTooSmall) {
  EXPECT_EQ(spliced({0x1000, 0x2000, 0x3000}, {0x1000, 0x2001, 0x3001, 0x4001}, 8192),
            (Pcs{0x1000, 0x2000, 0x3000, 0x4000}));
}

TEST_F(Splice, KeepsTheCallerOfALeafWithoutAFrame) {
  EXPECT_EQ(spliced({0x1000, 0x2000, 0x3000, 0x4000}, {0x1000, 0x3001, 0x4001, 0x5001}),
            (Pcs{0x1000, 0x2000, 0x3000, 0x4000, 0x5000}));
}

TEST_F(Splice, IgnoresASingleMatchingFrame) {
  const Pcs ours{0x1000, 0x2000, 0x3000};
  EXPECT_EQ(spliced(ours, {0x1000, 0x3001, 0x4001}), ours);
  EXPECT_EQ(spliced(ours, {0x1000}), ours);
  EXPECT_EQ(spliced(ours, {}), ours);
}

TEST_F(Splice, EndsAtAnAddressThatIsNotCode) {
  EXPECT_EQ(spliced({0x1000, 0x2000}, {0x1000, 0x2001, 0x3001, 0x100000, 0x4001}),
            (Pcs{0x1000, 0x2000, 0x3000}));
}

TEST_F(Splice, MatchesTheDeepestFrameOfRecursion) {
  EXPECT_EQ(
      spliced({0x1000, 0x2000, 0x2000, 0x2000}, {0x1000, 0x2001, 0x2001, 0x2001, 0x2001, 0x3001}),
      (Pcs{0x1000, 0x2000, 0x2000, 0x2000, 0x2000, 0x3000}));
}

TEST_F(Splice, LeavesOtherChainsUnchanged) {
  unwinder.end = StackEnd::complete;
  EXPECT_EQ(spliced({0x1000, 0x2000}, {0x1000, 0x2001, 0x3001}), (Pcs{0x1000, 0x2000}));
  unwinder.end = StackEnd::no_rule;
  EXPECT_EQ(spliced({0x1000, 0x2000}, {0x1000, 0x2001, 0x3001}), (Pcs{0x1000, 0x2000}));
}

// A sample is whole if its dump, or another sample's, reaches the address 0x2000.
class UpTo0x2000 : public Unwinder {
public:
  ModuleId module(const ModuleKey &) override { return {}; }
  StackEnd unwind(const UnwindInput &input, std::vector<uint64_t> &pcs) override {
    pcs.push_back(input.registers.pc());
    const uint64_t end = input.registers.sp() + input.stack.size();
    const uint64_t others_end = input.other_at + input.other.size();
    if (end < 0x2000 && (input.other_at > end || others_end < 0x2000))
      return StackEnd::dump_too_short;
    pcs.push_back(0x5000);
    return end < 0x2000 ? StackEnd::joined : StackEnd::complete;
  }
};

class Held : public ::testing::Test {
protected:
  // The dump has fewer bytes than were requested if `lacks_pages`.
  StackEnd sample(uint64_t pc, uint64_t sp, size_t bytes, pid_t tid = 1, bool lacks_pages = false) {
    Registers registers;
    registers.value[register_numbers(registers.processor).pc] = pc;
    registers.value[register_numbers(registers.processor).sp] = sp;
    const std::vector<std::byte> dump(bytes);
    chain.clear();
    const StackEnd end = chain.unwind(registers, dump, bytes + (lacks_pages ? 1 : 0), tid);
    if (chain.can_be_joined(end))
      chain.hold(registers, dump, end, tid, [this](StackEnd how) {
        ends.push_back(how);
        chains.emplace_back(chain.pcs().begin(), chain.pcs().end());
      });
    return end;
  }
  UpTo0x2000 unwinder;
  AddressSpace space;
  CallChain chain{0, &unwinder, space};
  std::vector<StackEnd> ends;
  std::vector<Pcs> chains;
};

TEST_F(Held, AreContinuedByALaterSampleOfTheThread) {
  EXPECT_EQ(sample(0x1001, 0x1000, 0x100), StackEnd::dump_too_short);
  EXPECT_EQ(sample(0x1002, 0x1080, 0x100), StackEnd::dump_too_short);
  EXPECT_EQ(sample(0x1003, 0x1100, 0xf00, 2), StackEnd::complete);
  EXPECT_TRUE(ends.empty()) << "the whole one is another thread's";
  EXPECT_EQ(sample(0x1004, 0x1180, 0xe80), StackEnd::complete);
  EXPECT_EQ(ends, (std::vector{StackEnd::joined, StackEnd::joined}));
  EXPECT_EQ(chains, (std::vector{Pcs{0x1001, 0x5000}, Pcs{0x1002, 0x5000}}));
  EXPECT_EQ(Pcs(chain.pcs().begin(), chain.pcs().end()), (Pcs{0x1004, 0x5000}));
  // The newest one is now the earlier sample.
  EXPECT_EQ(sample(0x1005, 0x1100, 0x100), StackEnd::joined);
  chain.give_up_held();
  EXPECT_EQ(ends.size(), 2u);
}

TEST_F(Held, AreContinuedIfAPageWasNotInMemory) {
  EXPECT_EQ(sample(0x1001, 0x1000, 0x100, 1, true), StackEnd::unreadable);
  EXPECT_EQ(sample(0x1002, 0x1080, 0xf80), StackEnd::complete);
  EXPECT_EQ(ends, std::vector{StackEnd::joined});
  EXPECT_EQ(chains.back(), (Pcs{0x1001, 0x5000}));
  EXPECT_EQ(sample(0x1003, 0x1000, 0x40, 2, true), StackEnd::unreadable);
  chain.give_up_held();
  EXPECT_EQ(ends, (std::vector{StackEnd::joined, StackEnd::unreadable}));
}

TEST_F(Held, StayTruncatedIfNoSampleShowsTheRest) {
  EXPECT_EQ(sample(0x1001, 0x1000, 0x100), StackEnd::dump_too_short);
  for (int i = 0; i < 15; ++i)
    EXPECT_EQ(sample(0x1002, 0x1800, 0x800), StackEnd::complete);
  EXPECT_TRUE(ends.empty()) << "the next one may show it";
  EXPECT_EQ(sample(0x1002, 0x1800, 0x800), StackEnd::complete);
  EXPECT_EQ(ends, std::vector{StackEnd::dump_too_short});
  EXPECT_EQ(sample(0x1003, 0x1000, 0x100, 2), StackEnd::dump_too_short);
  EXPECT_EQ(sample(0x1004, 0x1000, 0x100, 3), StackEnd::dump_too_short);
  chain.give_up_held(2);
  chain.give_up_held();
  const uint64_t mark = truncation_mark(StackEnd::dump_too_short);
  EXPECT_EQ(chains, (std::vector{Pcs{0x1001, mark}, Pcs{0x1003, mark}, Pcs{0x1004, mark}}));
}

TEST_F(Held, AreNotMoreThan16MiB) {
  for (int i = 0; i < 300; ++i)
    EXPECT_EQ(sample(0x1001, 0, 0x1000 - 8), StackEnd::dump_too_short);
  EXPECT_TRUE(ends.empty());
  for (int i = 0; i < 4000; ++i)
    EXPECT_EQ(sample(0x1001, 0, 0x1000 - 8), StackEnd::dump_too_short);
  EXPECT_GT(ends.size(), 3500u); // each takes more than its dump
}

TEST(StackMemory, KeepsWhatADeeperDumpDoesNotReach) {
  StackMemory memory;
  const auto filled = [](size_t size, int with) {
    return std::vector<std::byte>(size, static_cast<std::byte>(with));
  };
  memory.show(0x1000, filled(0x100, 1), false);
  memory.show(0xf80, filled(0x100, 2), true);
  EXPECT_EQ(memory.low(), 0xf80u);
  ASSERT_EQ(memory.bytes().size(), 0x180u);
  EXPECT_EQ(memory.bytes()[0xff], std::byte{2});
  EXPECT_EQ(memory.bytes()[0x100], std::byte{1});
  memory.show(0x10c0, filled(0x20, 3), true); // the frames below have returned
  EXPECT_EQ(memory.low(), 0x10c0u);
  ASSERT_EQ(memory.bytes().size(), 0x40u);
  EXPECT_EQ(memory.bytes()[0x1f], std::byte{3});
  EXPECT_EQ(memory.bytes()[0x20], std::byte{1});
  memory.show(0x800, filled(0x10, 4), true); // does not reach it
  EXPECT_EQ(memory.bytes().size(), 0x10u);
  memory.show(0x800 - StackMemory::most_bytes, filled(StackMemory::most_bytes, 5), true);
  EXPECT_TRUE(memory.bytes().empty());
}

} // namespace
} // namespace tally::stacks_perf_chain_test
