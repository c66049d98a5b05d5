// Tests how code without unwind data goes on to its return. The code is x86-64's, as bytes.
#include <string>
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
  const auto keep = [&out](const CodeStep &step) {
    out.push_back(step.kind);
    return true;
  };
  return ways.follow(start + offset, keep) ? out : std::vector<Kind>{};
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
  EXPECT_EQ(way_from(code).back(), Kind::returns);
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
  EXPECT_EQ(way_from("\x5b\xff\xe0"s), std::vector<Kind>{}) << "a jump by a register";
  EXPECT_EQ(way_from("\x5b\xff\x25\x00\x00\x00\x00"s), (std::vector{Kind::pop, Kind::returns}))
      << "a jump by a word of the linkage table";
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
}

TEST_F(WaysOut, KnowsTheLengthOfWhatTheDecoderDoesNotKnow) {
  const std::pair<std::string, size_t> codes[] = {
      {"\x62\xe1\x7e\x08\x6f\x0c\x4a"s, 7},              // vmovdqu32 (%rdx,%rcx,2),%xmm17
      {"\x62\xb3\x6d\x40\x3a\xd0\x01"s, 7},              // vinserti32x4 …, an immediate
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
  EXPECT_NE(step_of("\xc5\xfb\x93\xc1\x90\x90"s).forgets & 1u, 0u) << "kmovd %k1,%eax";
  EXPECT_EQ(step_of("\x62\xe1\x7e"s).kind, Kind::stops) << "it is cut";
}

} // namespace
} // namespace tally::symbolize_way_out_test
