// Tests how code without unwind data goes on to its return. The code is x86-64's, as bytes.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "symbolize/unwind/way_out.h"

namespace tally::symbolize_way_out_test {
namespace {

using namespace std::string_literals;
using symbolize::CodeStep;
using symbolize::CodeSteps;
using symbolize::WayOut;
using Kind = CodeStep::Kind;

constexpr uint64_t start = 0x1000;

CodeStep step_of(const std::string &code) { return CodeSteps().at(code, start); }

class WaysOut : public ::testing::Test {
protected:
  void SetUp() override {
    if (step_of("\xc3"s).kind != Kind::returns)
      GTEST_SKIP() << "Tally was built without Capstone";
  }
};

// Returns the kinds of the steps from an offset of the code to its return, or none if there is no
// way. A function with unwind data begins behind the code.
std::vector<Kind> way_from(const std::string &code, uint64_t offset = 0) {
  WayOut ways({[&code](uint64_t address, size_t size) {
                 return address - start < code.size() ? code.substr(address - start, size) : "";
               },
               [&code](uint64_t address) { return address == start + code.size(); }});
  std::vector<Kind> out;
  uint32_t budget = 100'000;
  return ways.follow(start + offset, budget,
                     [&out](const CodeStep &step) { out.push_back(step.kind); })
             ? out
             : std::vector<Kind>{};
}

TEST_F(WaysOut, LeavesOutWhatHasNoEffect) {
  // push %rbx; nop; addps %xmm1,%xmm0; pop %rbx; ret
  const std::string code = "\x53\x90\x0f\x58\xc1\x5b\xc3"s;
  EXPECT_EQ(way_from(code), (std::vector{Kind::push, Kind::pop, Kind::returns}));
  EXPECT_EQ(way_from(code, 2), (std::vector{Kind::other, Kind::pop, Kind::returns}))
      << "the first step is there";
}

TEST_F(WaysOut, LeavesALoop) {
  // 1: dec %eax; jnz 1b; jmp 2f; 2: pop %rbp; ret
  const std::string code = "\xff\xc8\x75\xfc\xeb\x00\x5d\xc3"s;
  EXPECT_EQ(way_from(code),
            (std::vector{Kind::other, Kind::branches, Kind::jumps, Kind::pop, Kind::returns}));
  EXPECT_EQ(way_from("\xff\xc8\xeb\xfc"s), std::vector<Kind>{}) << "an endless one";
}

TEST_F(WaysOut, PrefersToFallThrough) {
  // je 1f; pop %rbx; pop %rbp; ret; 1: call 2f; 2: ret
  const std::string code = "\x74\x03\x5b\x5d\xc3\xe8\x00\x00\x00\x00\xc3"s;
  EXPECT_EQ(way_from(code), (std::vector{Kind::branches, Kind::pop, Kind::pop, Kind::returns}));
}

TEST_F(WaysOut, EndsWhereAFunctionWithUnwindDataBegins) {
  EXPECT_EQ(way_from("\xe8\x00\x00\x00\x00"s), std::vector<Kind>{}) << "a call that never returns";
  EXPECT_EQ(way_from("\x5b\xe9\x00\x00\x00\x00"s), (std::vector{Kind::pop, Kind::returns}))
      << "that function returns to the caller";
  EXPECT_EQ(way_from("\x74\x05\xe9\x02\x00\x00\x00\x5b\xc3"s),
            (std::vector{Kind::branches, Kind::returns}))
      << "which is as likely as a return: it is nearer than that of a branch";
  EXPECT_EQ(way_from("\x5b\xff\xe0"s), (std::vector{Kind::pop, Kind::returns}))
      << "a jump by a register, which may be such a call";
  // jmp *%rax, or je to: ret
  EXPECT_EQ(way_from("\x74\x02\xff\xe0\xc3"s), (std::vector{Kind::branches, Kind::returns}))
      << "but a return is likelier";
  EXPECT_EQ(way_from("\x5b\xff\x25\x00\x00\x00\x00"s), (std::vector{Kind::pop, Kind::returns}))
      << "a jump by a word of the linkage table";
}

TEST_F(WaysOut, LeavesAFunctionBeforeItsLastCall) {
  // jne 1f; jne 1f; call 0; nop to the next 16 bytes, where a function returns; 1: pop %rax; ret
  const std::string code =
      "\x75\x10\x75\x0e\xe8\x00\x00\x00\x00\x0f\x1f\x40\x00\x66\x66\x90\xc3\x90\x58\xc3"s;
  EXPECT_EQ(way_from(code).back(), Kind::returns);
  EXPECT_EQ(way_from(code), (std::vector{Kind::branches, Kind::pop, Kind::returns}));
}

TEST_F(WaysOut, DoesNotDependOnWhatIsAskedFirst) {
  const std::string code = std::string(20'000, '\x90') + "\x5b\xc3"; // nops; pop %rbx; ret
  WayOut ways({[&code](uint64_t address, size_t size) {
                 return address - start < code.size() ? code.substr(address - start, size) : "";
               },
               [](uint64_t) { return false; }});
  for (const uint64_t from : {start + 19'990, start, start + 5}) {
    uint32_t budget = 10;
    EXPECT_TRUE(ways.follow(from, budget, [](const CodeStep &) {})) << from;
    EXPECT_EQ(budget, 7u) << "the first one, and those with an effect";
  }
  uint32_t budget = 2;
  EXPECT_FALSE(ways.follow(start, budget, [](const CodeStep &) {}));
  EXPECT_EQ(budget, 0u);
}

TEST_F(WaysOut, TailCallsMayBeConditional) {
  // je 2f; ret; 2: (the start of another function) pop %rax; ret
  const std::string code = "\x75\x01\xf4\x58\xc3"s;
  WayOut ways({[&code](uint64_t address, size_t size) {
                 return address - start < code.size() ? code.substr(address - start, size) : "";
               },
               [](uint64_t address) { return address == start + 3; }});
  uint32_t budget = 100;
  EXPECT_TRUE(ways.follow(start, budget, [](const CodeStep &) {}));
}

TEST_F(WaysOut, KnowsWhatChangesTheStackPointer) {
  const CodeStep add = step_of("\x48\x83\xc4\x18"s); // add $24,%rsp
  EXPECT_TRUE(add.kind == Kind::set && add.to == 7 && add.from == 7 && add.offset == 24);
  const CodeStep load = step_of("\x48\x8b\x64\x24\x40"s); // mov 64(%rsp),%rsp
  EXPECT_TRUE(load.kind == Kind::load && load.to == 7 && load.from == 7 && load.offset == 64);
  const CodeStep lea = step_of("\x48\x8d\x65\xd8"s); // lea -40(%rbp),%rsp
  EXPECT_TRUE(lea.kind == Kind::set && lea.to == 7 && lea.from == 6 && lea.offset == -40);
  const CodeStep align = step_of("\x48\x83\xe4\xe0"s); // and $-32,%rsp
  EXPECT_TRUE(align.kind == Kind::other && align.forgets == 1u << 7);
  const CodeStep half = step_of("\x31\xed"s); // xor %ebp,%ebp
  EXPECT_TRUE(half.kind == Kind::other && half.forgets == 1u << 6);
  const CodeStep push = step_of("\x41\x54"s); // push %r12
  EXPECT_TRUE(push.kind == Kind::push && push.from == 12);
  EXPECT_EQ(step_of("\x6a\x01"s).from, CodeStep::unknown) << "push $1";
  EXPECT_EQ(step_of("\x9c"s).kind, Kind::push) << "pushfq";
  EXPECT_EQ(step_of("\x9d"s).offset, 8) << "popfq";
  EXPECT_EQ(step_of("\x0f\xa1"s).offset, 8) << "pop %fs";
  EXPECT_EQ(step_of("\xc9"s).kind, Kind::leave);
  EXPECT_EQ(step_of("\xc8\x10\x00\x00"s).kind, Kind::stops) << "enter $16,$0";
  EXPECT_EQ(step_of("\xc2\x10\x00"s).offset, 16) << "ret $16";
  EXPECT_EQ(step_of("\xcb"s).kind, Kind::stops) << "a far return";
  EXPECT_EQ(step_of("\x48\xcf"s).kind, Kind::stops) << "iretq";
  EXPECT_EQ(step_of("\xe2\xfe"s).kind, Kind::branches) << "loop";
  EXPECT_EQ(step_of("\xff\xd0"s).forgets, symbolize::lost_by_calls) << "call *%rax";
}

TEST_F(WaysOut, KnowsTheLengthOfWhatTheDecoderDoesNotKnow) {
  const std::pair<std::string, size_t> codes[] = {
      {"\x62\xe1\x7e\x08\x6f\x0c\x4a"s, 7},              // vmovdqu32 (%rdx,%rcx,2),%xmm17
      {"\x62\xb3\x6d\x40\x3a\xd0\x01"s, 7},              // vinserti32x8 …, an immediate
      {"\x62\x62\xfd\x48\x5b\x25\x00\x00\x00\x00"s, 10}, // vbroadcasti64x4 (%rip),%zmm28
      {"\xc5\xfb\x92\xc8"s, 4},                          // kmovd %eax,%k1
      {"\xc4\xe3\x79\x32\xd3\x02"s, 6},                  // kshiftlb $2,%k3,%k2
      {"\xc5\xf5\x4a\xc9"s, 4},                          // kaddb %k1,%k1,%k1
  };
  for (const auto &[code, size] : codes) {
    const CodeStep step = step_of(code + std::string(15, '\x90'));
    EXPECT_EQ(step.kind, Kind::other);
    EXPECT_EQ(step.size, size);
    EXPECT_EQ(step.forgets, 0u);
  }
  // Registers by DWARF's numbers, which differ from those of instructions from 1 to 7.
  EXPECT_EQ(step_of("\xc5\xfb\x93\xc9\x90\x90"s).forgets, 1u << 2) << "kmovd %k1,%ecx";
  EXPECT_EQ(step_of("\xc5\x7b\x93\xc9\x90\x90"s).forgets, 1u << 9) << "kmovd %k1,%r9d";
  // vpextrd $1,%xmm20,%eax, and to memory at the stack pointer
  EXPECT_EQ(step_of("\x62\xe3\x7d\x08\x16\xe0\x01\x90"s).forgets, 1u);
  EXPECT_EQ(step_of("\x62\xe3\x7d\x08\x16\x24\x24\x01"s).forgets, 0u);
  EXPECT_EQ(step_of("\x62\xf1\xfd\x48\x78\xe4\x90\x90"s).forgets, 0u) << "vcvttpd2uqq %zmm4,%zmm4";
  EXPECT_EQ(step_of("\x62\xf4\x7c\x08\x01\xc0\x90\x90"s).kind, Kind::stops) << "an unknown map";
  EXPECT_EQ(step_of("\x62\xe1\x7e"s).kind, Kind::stops) << "it is cut";
}

} // namespace
} // namespace tally::symbolize_way_out_test
