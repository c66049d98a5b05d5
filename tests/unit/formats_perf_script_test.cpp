// Tests the text of `perf script`; test_text in tests/oracle/perf_script_test.py reads perf's own.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/perf_script/lines.h"
#include "formats/perf_script/perf_script.h"

namespace tally::formats_perf_script_test {
namespace {

Result<Profile> read(std::string_view text, Diagnostics &diagnostics,
                     size_t piece = size_t{256} << 10) {
  return perf_script::read(*ByteSource::of(text, "s", {.piece_bytes = piece}), diagnostics);
}

struct Text {
  std::map<std::string, std::vector<int64_t>> stacks; // "THREAD: caller;callee", inlined with ^
  std::vector<std::string> types, findings;
  uint64_t period_ns = 0;
};

Text text_of(std::string_view text, size_t piece = size_t{256} << 10) {
  Diagnostics diagnostics;
  const auto read_profile = read(text, diagnostics, piece);
  EXPECT_TRUE(read_profile) << read_profile.error().text();
  Text out;
  for (const Finding &finding : diagnostics.findings())
    out.findings.push_back(finding.text());
  if (!read_profile)
    return out;
  const auto &profile = std::get<StackProfile>(*read_profile);
  const auto word = [&](StringId id) { return std::string(profile.strings[id]); };
  out.period_ns = profile.period_ns;
  for (const ValueType &type : profile.value_types())
    out.types.push_back(word(type.type) + "/" + word(type.unit));
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    std::vector<std::string> frames;
    for (StackId at = sample.stack; at != none<StackId>; at = profile.stack_caller(at)) {
      const auto lines = profile.location(profile.stack_location(at)).lines;
      for (const SourceLine &line : lines) {
        const SourceFunction &function = profile.functions()[line.function];
        std::string frame = &line == &lines.back() ? "" : "^";
        frame += word(function.name) + "@" + word(function.object);
        if (line.line != 0)
          frame += "=" + word(line.file) + ":" + std::to_string(line.line);
        frames.push_back(frame);
      }
    }
    std::string key;
    if (sample.thread != none<ThreadId>) {
      const Thread &thread = profile.threads()[sample.thread];
      key = word(thread.name) + " " + std::to_string(thread.pid) + "/" +
            std::to_string(thread.tid) + ":";
    }
    for (size_t i = frames.size(); i-- > 0;)
      key += (key.empty() || key.ends_with(':') ? "" : ";") + frames[i];
    auto &sum = out.stacks.try_emplace(key, sample.values.size(), 0).first->second;
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += sample.values[i];
  }
  return out;
}

using Stacks = std::map<std::string, std::vector<int64_t>>;
using Words = std::vector<std::string>;

TEST(PerfScript, ReadsTheDefaultFields) {
  const std::string text =
      "# ========\n# captured on    : Mon\n# cmdline : /usr/bin/perf record -g ./a\n#\n"
      "a 7  1.000001:    1001001 cpu-clock: \n"
      "\t            113a leaf+0x11 (/bin/a)\n"
      "\t            1183 main+0x18 (/bin/a)\n"
      "\n"
      "a 7  1.000002:    1001001 cpu-clock: \n"
      "\t            113b leaf+0x12 (/bin/a)\n"
      "\t            1183 main+0x18 (/bin/a)\n"
      "\n"
      "V8 Worker 12 8 [003]  1.000003:    1001001 cpu-clock: \n"
      "\tffffffff8103d0ca native_write_msr_safe ([kernel.kallsyms])\n"
      "\t            2000 [unknown] (/lib/libx.so)\n"
      "\t            3000 std::map<int, (anonymous namespace)::k>::at(int) (/bin/a b (deleted))\n"
      "\t               0 [unknown] ([unknown])\n"
      "\n";
  for (const size_t piece : {1U, 7U, 100000U}) {
    const Text read = text_of(text, piece);
    EXPECT_EQ(read.types, (Words{"ticks/count", "cpu/nanoseconds"}));
    EXPECT_EQ(read.period_ns, 1001001U);
    EXPECT_EQ(read.findings, Words{});
    EXPECT_EQ(read.stacks,
              (Stacks{{"a 0/7:main@/bin/a;leaf@/bin/a", {2, 2002002}},
                      {"V8 Worker 12 0/8:[unknown]@;std::map<int, (anonymous "
                       "namespace)::k>::at(int)@/bin/a b "
                       "(deleted);[libx.so]@/lib/libx.so;native_write_msr_safe@[kernel.kallsyms]",
                       {1, 1001001}}}));
  }
  EXPECT_TRUE(perf_script::probe(text));
}

TEST(PerfScript, ReadsThreadNamesThatEndInNumbers) {
  const Text read = text_of("pool 12 3456  1.000001:    1001001 cpu-clock: \n"
                            "\t            113a leaf+0x11 (/bin/a)\n\n");
  EXPECT_EQ(read.types, (Words{"ticks/count", "cpu/nanoseconds"}));
  EXPECT_EQ(read.stacks, (Stacks{{"pool 12 0/3456:leaf@/bin/a", {1, 1001001}}}));
}

TEST(PerfScript, ReadsOtherFields) {
  // -F comm,pid,tid,time,event,ip,sym,dso
  EXPECT_EQ(text_of("a 7/8  1.5: cpu-clock: \n\t 113a leaf (/bin/a)\n\n").stacks,
            (Stacks{{"a 7/8:leaf@/bin/a", {1}}}));
  // The old format: no time, a stack without a tab, and the event after the PID.
  EXPECT_EQ(text_of("java 19983 cycles:\nffffffff8103d0ca f ([kernel.kallsyms])\n\n").stacks,
            (Stacks{{"java 0/19983:f@[kernel.kallsyms]", {1}}}));
  // With -G, and in recordings without stacks, the frame follows the event. A command may look like
  // a number.
  EXPECT_EQ(text_of("            dd 9  1.5:   10 cycles:u:      55dc1bd6f13a leaf+0x11 (/bin/a)\n"
                    "            dd 9  1.6:   20 cycles:u:      55dc1bd6f13b leaf+0x12 (/bin/a)\n")
                .stacks,
            (Stacks{{"dd 0/9:leaf@/bin/a", {2, 30}}}));
  // -F ip,sym
  EXPECT_EQ(text_of("\t 113a leaf\n\t 1183 main\n\n\t 113a leaf\n\t 1183 main\n\n").stacks,
            (Stacks{{"main@;leaf@", {2}}}));
  // -F comm,tid,time,event
  EXPECT_EQ(text_of("a 7  1.5: cycles: \na 7  1.6: cycles: \n").stacks,
            (Stacks{{"a 0/7:[unknown]@", {2}}}));
  // -F comm,tid,ip,sym
  EXPECT_EQ(text_of("a 7 \n\t 113a leaf\n\n").stacks, (Stacks{{"a 0/7:leaf@", {1}}}));
  // -F +addr: a data address precedes the frame.
  EXPECT_EQ(
      text_of("a 7  1.5:  1 faults:     7fff10001000     55dc1bd6f13a leaf (/bin/a)\n").stacks,
      (Stacks{{"a 0/7:leaf@/bin/a", {1, 1}}}));
}

TEST(PerfScript, ReadsSourceLinesAndInlinedFrames) {
  EXPECT_EQ(
      text_of("a 7  1.5:  1 cycles: \n"
              "\t 113a twice (inlined)\n  a.h:3\n"
              "\t 113a leaf+0x11 (/bin/a)\n  a.c:10 (discriminator 2)\n"
              "\t 1183 main+0x18 (/bin/a)\n  ??:0\n"
              "\t 1190 run+0x18 (/bin/a)\n  :0\n"
              "\t 2000 start+0x18 (/bin/a)\n  a[2000]\n\n")
          .stacks,
      (Stacks{{"a 0/7:start@/bin/a;run@/bin/a;main@/bin/a;leaf@/bin/a=a.c:10;^twice@/bin/a=a.h:3",
               {1, 1}}}));
  // perf does not name the function that the code was inlined into.
  EXPECT_EQ(
      text_of("a 7  1.5:  1 cycles: \n\t 113a twice (inlined)\n\t 1183 main (/bin/a)\n\n").stacks,
      (Stacks{{"a 0/7:main@/bin/a;twice@", {1, 1}}}));
}

// Without stacks, the frame follows the event, and perf prints its source line below.
TEST(PerfScript, ReadsSourceLinesOfFramesAfterTheEvent) {
  const Text read =
      text_of("               a 7  1.5:   10 cycles:      55dc1bd6f13a leaf (/bin/a)\n"
              "  a.c:10\n"
              "               a 7  1.6:   10 cycles:      55dc1bd6f13b leaf (/bin/a)\n"
              "  a[2000]\n");
  EXPECT_EQ(read.stacks,
            (Stacks{{"a 0/7:leaf@/bin/a=a.c:10", {1, 10}}, {"a 0/7:leaf@/bin/a", {1, 10}}}));
  EXPECT_EQ(read.findings, Words{});
}

TEST(PerfScript, DoesNotReadDamagedLinesAsSourceLines) {
  const std::string sample = "            prog     7  1.5:   10 cycles:      55dc1bd6f13a f (/a)\n";
  const std::string stack = "prog 7  1.5:   10 cycles: \n\t  1 f (/a)\n";
  const auto finding = [](int line) {
    return Words{"s:" + std::to_string(line) +
                 ":1: error: expected COMMAND PID … EVENT: of a sample, or ADDRESS SYMBOL (FILE) "
                 "of a frame"};
  };
  const Stacks expected{{"prog 0/7:f@/a", {1, 10}}};
  for (const std::string line :
       {"            prog     7 [0\n", "            prog     7  garbage:99\n",
        "              dd     7 [0\n", "  fourteen_chars     7  garbage:99\n",
        "  fourteen_chars     7 [000]\n"}) {
    const Text read = text_of(sample + line);
    EXPECT_EQ(read.stacks, expected) << line;
    EXPECT_EQ(read.findings, finding(2)) << line;
  }
  // Below a frame on its own line, and below another source line.
  for (const std::string line : {"  what is this\n", "  a.c:\n", "   a.c:10\n", "  [10]\n"}) {
    const Text read = text_of(stack + line);
    EXPECT_EQ(read.stacks, expected) << line;
    EXPECT_EQ(read.findings, finding(3)) << line;
  }
  const Text twice = text_of(stack + "  my b.c:10\n  a.c:11\n");
  EXPECT_EQ(twice.stacks, (Stacks{{"prog 0/7:f@/a=my b.c:10", {1, 10}}}));
  EXPECT_EQ(twice.findings, finding(4));
}

TEST(PerfScript, KeepsSeveralEventsAsValues) {
  const Text read = text_of("a 7  1.5: 100 cpu-clock: \n\t 1 f (/a)\n\n"
                            "a 7  1.5: 200 task-clock:u: \n\t 1 f (/a)\n\n"
                            "a 7  1.5: 3 cycles:ppp: \n\t 1 f (/a)\n\n"
                            "a 7  1.5: 150 cpu-clock: \n\t 1 f (/a)\n\n"
                            "a 7  1.5: sched:sched_switch: prev_comm=a prev_pid=7 ==> next_comm=b\n"
                            "\t 1 f (/a)\n\n");
  EXPECT_EQ(read.types, (Words{"ticks/count", "cpu/nanoseconds", "task-clock:u/nanoseconds",
                               "cycles/count", "sched:sched_switch/count"}));
  EXPECT_EQ(read.stacks, (Stacks{{"a 0/7:f@/a", {2, 250, 200, 3, 1}}}));
  EXPECT_EQ(read.period_ns, 0U); // the period changes
  EXPECT_EQ(read.findings,
            Words{"s: note: holds samples of 4 events; ticks count those of cpu-clock"});
}

TEST(PerfScript, LimitsTheNumberOfEvents) {
  std::string text;
  for (int event = 1; event <= 1024; ++event)
    text += "a 7  1.5: 1 e" + std::to_string(event) + ": \n\t 1 f (/a)\n\n";
  EXPECT_EQ(text_of(text).types.size(), 1025U);
  Diagnostics diagnostics;
  const auto refused = read(text + "a 7  1.5: 1 e0: \n\t 1 f (/a)\n\n", diagnostics);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
  EXPECT_EQ(refused.error().text(),
            "s: holds samples of 1025 events, but no more than 1024 are read");
}

TEST(PerfScript, ReportsDamagedLinesAndContinues) {
  const Text read = text_of("a 7  1.0: PERF_RECORD_COMM exec: a:7/7\n"
                            "a 7  1.5: 1 cycles: \n\t 1 f (/a)\nwhat is this\n\n"
                            "\t 1 f (/a)\n\n"
                            "a 7  1.5: 1 cycles: \n\t 1 g (/a)");
  EXPECT_EQ(read.stacks, (Stacks{{"a 0/7:f@/a", {1, 1}}, {"a 0/7:g@/a", {1, 1}}}));
  EXPECT_EQ(
      read.findings,
      (Words{"s:4:1: error: expected COMMAND PID … EVENT: of a sample, or ADDRESS SYMBOL (FILE) "
             "of a frame (2 times)",
             "s:9:1: warning: the last line has no end: the last stack may be truncated"}));
}

TEST(PerfScript, ReportsErrors) {
  const auto error = [](std::string_view text) {
    Diagnostics diagnostics;
    const auto profile = read(text, diagnostics);
    EXPECT_FALSE(profile);
    return profile ? std::string() : profile.error().text();
  };
  EXPECT_EQ(error("# nothing\n\n"), "s: holds no samples");
  EXPECT_EQ(error("\nno sample\n"), "s:2:1: expected COMMAND PID … EVENT: of a sample, or ADDRESS "
                                    "SYMBOL (FILE) of a frame");
}

TEST(PerfScript, IsRecognizedByContent) {
  EXPECT_TRUE(perf_script::probe("a 7  1.5:  1 cycles: \n\t 1 f (/a)\n"));
  EXPECT_TRUE(perf_script::probe("# c\n\na 7 cycles:\n1 f (/a)\n"));
  EXPECT_TRUE(perf_script::probe("# ========\n# captured on    : Mon\n# hostname : x\n"));
  EXPECT_FALSE(perf_script::probe(""));
  EXPECT_FALSE(perf_script::probe("# c\n"));
  EXPECT_FALSE(perf_script::probe("a;b 1\n"));
  EXPECT_FALSE(perf_script::probe("Chapter 1 Introduction:\n\nOf all things\n"));
  EXPECT_FALSE(perf_script::probe("events: Ir\nfl=a\nfn=f\n1 2\n"));
  const auto format = format_by_name("perf-script");
  ASSERT_TRUE(format);
  EXPECT_FALSE((*format)->writes_profiles());
}

} // namespace
} // namespace tally::formats_perf_script_test
