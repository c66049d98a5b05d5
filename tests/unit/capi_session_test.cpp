#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tally.h>

#include "capi/refusals.h"
#include "capi_results.h"

namespace tally::capi_session_test {
namespace {

class CSession : public testing::Test {
protected:
  CSession() { EXPECT_EQ(tally_session_new(nullptr, &session), nullptr); }
  ~CSession() override { tally_session_free(session); }

  // Returns the error's text, and checks that the command leaves its output unchanged.
  std::string refusal(const char *line) {
    const char *text = untouched<char>();
    tally_error *error = tally_session_run(session, "profile", line, &text);
    EXPECT_EQ(text, untouched<char>());
    return take(error);
  }
  template <class T> T *untouched() { return reinterpret_cast<T *>(&marker); }

  tally_session *session = nullptr;
  int marker = 0;
};

TEST(CTables, ListCommandsAndSettings) {
  tally_table *table = nullptr;
  ASSERT_EQ(tally_commands("profile", &table), nullptr);
  ASSERT_EQ(tally_table_columns(table), 4u);
  EXPECT_STREQ(tally_table_column_name(table, 0), "name");
  EXPECT_STREQ(tally_table_column_name(table, 4), "");
  EXPECT_EQ(tally_table_column_kind(table, 3), TALLY_COLUMN_TEXT);
  EXPECT_EQ(tally_table_counts(table, 0), nullptr);
  EXPECT_EQ(tally_table_texts(table, 9), nullptr);
  EXPECT_EQ(texts(table, 0).front(), "start");
  tally_table_free(table);
  ASSERT_EQ(tally_settings("profile", &table), nullptr);
  EXPECT_EQ(texts(table, 0), (std::vector<std::string>{"backend", "frequency", "clock", "stacks",
                                                       "stop-times", "debuginfod"}));
  EXPECT_EQ(texts(table, 1)[1], "HZ");
  EXPECT_EQ(texts(table, 2)[1], "1000");
  tally_table_free(table);
  EXPECT_NE(std::strstr(tally_help("profile"), "profile start"), nullptr);
  EXPECT_STREQ(tally_version(), TALLY_VERSION);
  EXPECT_EQ(tally_abi(), static_cast<uint32_t>(TALLY_ABI));
}

TEST(CTables, ListTheExitsOfARegion) {
  tally_table *table = nullptr;
  ASSERT_EQ(tally_region_exits(&table), nullptr);
  EXPECT_STREQ(tally_table_column_name(table, 0), "function");
  EXPECT_STREQ(tally_table_column_name(table, 1), "kind");
  std::map<std::string, uint64_t> kinds;
  for (size_t i = 0; i < tally_table_rows(table); ++i)
    kinds[tally_table_texts(table, 0)[i]] = tally_table_counts(table, 1)[i];
  tally_table_free(table);
  EXPECT_EQ(kinds.size(), 5u);
  EXPECT_EQ(kinds["__cxa_begin_catch"], TALLY_HIT_CAUGHT);
  for (const char *name : {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"})
    EXPECT_EQ(kinds[name], TALLY_HIT_JUMPED) << name;
}

TEST(CTables, FreeFunctionsAcceptNull) {
  tally_table_free(nullptr);
  tally_error_free(nullptr);
  tally_session_free(nullptr);
}

TEST_F(CSession, ErrorsExposeTheirParts) {
  const char *text = nullptr;
  tally_error *error = tally_session_run(session, "profile", "report --limit x", &text);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(tally_error_get_code(error), TALLY_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(tally_error_source(error), "--limit");
  EXPECT_STREQ(tally_error_message(error),
               "expected a whole number from 0 to 4294967295, found 'x'");
  EXPECT_EQ(tally_error_line(error), 0u);
  EXPECT_EQ(tally_error_column(error), 0u);
  EXPECT_EQ(tally_error_offset(error), UINT64_MAX);
  EXPECT_EQ(take(error), "--limit: expected a whole number from 0 to 4294967295, found 'x'");
  EXPECT_NE(refusal(nullptr).find("expected a command"), std::string::npos);
}

TEST_F(CSession, ChecksEvents) {
  tally_event event{};
  const auto push = [&] {
    const char *text = nullptr;
    return tally_session_event(session, &event, &text);
  };
  EXPECT_NE(take(push()).find("not an event"), std::string::npos); // size 0
  event.size = sizeof event;
  EXPECT_EQ(push(), nullptr);
  event.kind = TALLY_EVENT_RAN + 1;
  EXPECT_NE(take(push()), "");
  event.kind = -1;
  EXPECT_NE(take(push()), "");
  event.kind = TALLY_EVENT_BREAKPOINT;
  event.target = TALLY_TARGET_CORE + 1;
  EXPECT_NE(take(push()), "");
  const char *text = nullptr;
  EXPECT_NE(take(tally_session_event(session, nullptr, &text)), "");
  event.target = TALLY_TARGET_NATIVE;
  event.size = sizeof event + 8; // as with a newer header
  EXPECT_EQ(push(), nullptr);
}

TEST_F(CSession, ChecksTheDisplay) {
  const auto status = [&] {
    const char *text = nullptr;
    EXPECT_EQ(tally_session_run(session, "profile", "status", &text), nullptr);
    return std::string(text, std::strcspn(text, "\n"));
  };
  tally_display display{};
  display.variable = "\033[1m";
  const std::string wrong = "not a display of this interface";
  EXPECT_EQ(take(tally_session_set_display(session, &display)), wrong); // size 0
  EXPECT_EQ(take(tally_session_set_display(session, nullptr)), wrong);
  EXPECT_EQ(status(), "state idle");
  display.size = sizeof display + 8; // as with a newer header
  EXPECT_EQ(tally_session_set_display(session, &display), nullptr);
  EXPECT_EQ(status(), "\033[1mstate\033[m idle");
  for (const char *tally_display::*style :
       {&tally_display::function, &tally_display::filename, &tally_display::address,
        &tally_display::title, &tally_display::highlight, &tally_display::metadata}) {
    tally_display bad = display;
    bad.variable = nullptr;
    bad.*style = "\033[2J";
    EXPECT_NE(take(tally_session_set_display(session, &bad)).find("expects ESC [ numbers m"),
              std::string::npos);
    EXPECT_EQ(status(), "\033[1mstate\033[m idle"); // as before
    bad.*style = "\033[2m";
    EXPECT_EQ(tally_session_set_display(session, &bad), nullptr);
    EXPECT_EQ(status(), "state idle");
    EXPECT_EQ(tally_session_set_display(session, &display), nullptr);
  }
}

TEST_F(CSession, KeepsASettingsTextUntilItIsSetAgain) {
  const char *frequency = tally_session_setting(session, "profile", "frequency");
  const char *clock = tally_session_setting(session, "profile", "clock");
  EXPECT_STREQ(frequency, "1000");
  EXPECT_STREQ(clock, "cpu");
  EXPECT_EQ(tally_session_setting(session, "profile", "frequency"), frequency);
  EXPECT_STREQ(tally_session_setting(session, "profile", "nonsense"), "");
  EXPECT_STREQ(tally_session_setting(session, "profile", nullptr), "");
  EXPECT_EQ(tally_session_set(session, "profile", "frequency", "50"), nullptr);
  EXPECT_STREQ(tally_session_setting(session, "profile", "frequency"), "50");
  EXPECT_NE(take(tally_session_set(session, "profile", "frequency", nullptr)), "");
  EXPECT_NE(take(tally_session_set(session, "profile", nullptr, "1")), "");
}

TEST_F(CSession, Completes) {
  tally_table *table = nullptr;
  ASSERT_EQ(tally_session_complete(session, "profile", "report --s", &table), nullptr);
  EXPECT_EQ(texts(table, 0), std::vector<std::string>{"--sort"});
  tally_table_free(table);
  ASSERT_EQ(tally_session_complete(session, "profile", "nonsense x", &table), nullptr);
  EXPECT_EQ(tally_table_rows(table), 0u);
  tally_table_free(table);
}

TEST_F(CSession, CompletesSymbolsOfTheDebugger) {
  EXPECT_STREQ(tally_session_symbol_to_complete(session, "annotate ns::P"), "ns::P");
  EXPECT_STREQ(tally_session_symbol_to_complete(session, "annotate --as"), "");
  EXPECT_STREQ(tally_session_symbol_to_complete(session, "report ns::P"), "");
  EXPECT_STREQ(tally_session_symbol_to_complete(session, nullptr), "");
  const char *const functions[] = {"ns::Parser::parse(int)", "ns::print()", nullptr};
  const char *const files[] = {"src/parse.cpp"};
  tally_table *table = nullptr;
  ASSERT_EQ(tally_session_complete_symbol(session, "annotate pa", functions, 3, files, 1, &table),
            nullptr);
  EXPECT_EQ(texts(table, 0), (std::vector<std::string>{"parse", "parse.cpp"}));
  tally_table_free(table);
  ASSERT_EQ(tally_session_complete_symbol(session, "tree pa", functions, 3, nullptr, 0, &table),
            nullptr);
  EXPECT_EQ(texts(table, 0), std::vector<std::string>{"parse"});
  tally_table_free(table);
}

TEST_F(CSession, ReportChecksItsArguments) {
  tally_table *table = untouched<tally_table>();
  EXPECT_EQ(take(tally_session_report(session, "shape", "self", &table)),
            "by: expected one of function, line, object, thread, part, namespace, "
            "directory, process, found 'shape'");
  EXPECT_EQ(take(tally_session_report(session, "line", "size", &table)),
            "sort: expected one of self, inclusive, found 'size'");
  tally_error *error = tally_session_report(session, "line", "self", &table);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(tally_error_get_code(error), TALLY_ERROR_NO_DATA);
  tally_error_free(error);
  EXPECT_EQ(table, untouched<tally_table>());
}

// A front for a remote process, of which `modules` is the only function.
class CFront : public testing::Test {
protected:
  CFront() {
    front.size = sizeof front;
    front.self = this;
    front.modules = [](void *self, tally_sink *to) {
      auto &test = *static_cast<CFront *>(self);
      ++test.calls;
      test.modules(to);
    };
    EXPECT_EQ(tally_session_new(&front, &session), nullptr);
    report(TALLY_EVENT_TARGET, TALLY_TARGET_REMOTE);
  }
  ~CFront() override { tally_session_free(session); }
  void report(int32_t kind, int32_t target) const {
    tally_event event{};
    event.size = sizeof event;
    event.kind = kind;
    event.target = target;
    event.pid = 42;
    const char *text = nullptr;
    EXPECT_EQ(tally_session_event(session, &event, &text), nullptr);
    EXPECT_STREQ(text, "");
  }
  std::string refusal() {
    const char *text = nullptr;
    tally_error *error = tally_session_run(session, "coverage", "report", &text);
    code = error ? tally_error_get_code(error) : 0;
    return take(error);
  }

  const std::string unknown = "coverage report: the modules of the program are not known: ";
  tally_front front{};
  tally_session *session = nullptr;
  std::function<void(tally_sink *)> modules;
  int calls = 0, code = 0;
};

TEST_F(CFront, SaysWhyItRefuses) {
  modules = [](tally_sink *to) { tally_sink_refuse(to, 0, 0, "the stub is silent"); };
  EXPECT_EQ(refusal(), unknown + "the stub is silent");
  modules = [](tally_sink *to) { tally_sink_refuse(to, 0, 0, nullptr); };
  EXPECT_EQ(refusal(), unknown + "the debugger cannot do this");
  EXPECT_EQ(calls, 2);
}

TEST_F(CFront, CancelsTheCommandAlone) {
  modules = [](tally_sink *) {};
  EXPECT_EQ(refusal(), "interrupted");
  EXPECT_EQ(code, TALLY_ERROR_CANCELLED);
  modules = [](tally_sink *to) {
    tally_sink_core(to, "/nonexistent/core");
    tally_sink_done(to);
  };
  EXPECT_NE(refusal().find("/nonexistent/core"), std::string::npos);
  EXPECT_EQ(calls, 2);
}

// The debugger reports that it has killed the process while it is asked for something.
TEST_F(CFront, MayReportAnEventMeanwhile) {
  modules = [this](tally_sink *to) {
    report(TALLY_EVENT_KILLED, TALLY_TARGET_NONE);
    tally_sink_refuse(to, 0, 0, "");
  };
  EXPECT_EQ(refusal(), unknown + "the debugger cannot do this");
  EXPECT_EQ(refusal(), "coverage report: no process: run the program, or open a core file");
  EXPECT_EQ(calls, 1);
}

TEST(CRefusals, SayWhyARegionIsNotWatched) {
  EXPECT_EQ(capi::region_refusal(TALLY_REGION_UNKNOWN, "parse"),
            "there is no function or location 'parse'");
  EXPECT_EQ(capi::region_refusal(TALLY_REGION_INLINED, "parse"),
            "all copies of parse are inlined and do not return: name two locations");
  EXPECT_EQ(capi::region_refusal(TALLY_REGION_WITHIN, "*0x10"),
            "*0x10 is not the entry of a function: name a function or two locations");
  EXPECT_EQ(capi::region_refusal(TALLY_REGION_FAILED, "1 parse"), "1 parse");
  EXPECT_EQ(capi::region_refusal(0, "its own words"), "its own words");
}

TEST(CRefusals, SayWhyTheAgentIsNotLoaded) {
  const auto words = [](int32_t reason, int64_t number, std::string_view text) {
    return capi::load_refusal(reason, number, text, "agent.so");
  };
  EXPECT_EQ(words(TALLY_LOAD_RUNNING, 0, ""), "the process is running: stop it first");
  EXPECT_EQ(words(TALLY_LOAD_NO_DLOPEN, 0, ""),
            "the program has no dlopen: it is static, or its libraries are not loaded yet");
  EXPECT_EQ(words(TALLY_LOAD_UNSAFE, 7, "the dynamic loader"),
            "thread 7 is stopped inside the dynamic loader: a call from there could hang; let it "
            "run to another location first");
  EXPECT_EQ(words(TALLY_LOAD_FAILED, 0, "no memory"), "cannot be loaded: no memory");
  EXPECT_EQ(words(TALLY_LOAD_NO_START, 0, ""),
            "cannot be loaded: agent.so has no tally_agent_start");
  EXPECT_EQ(words(TALLY_LOAD_REFUSED, -3, ""), "the agent refused to start (-3)");
  EXPECT_EQ(words(0, 0, "its own words"), "cannot be loaded: its own words");
  EXPECT_EQ(words(7, 0, "is unknown"), "is unknown");
}

TEST(CFronts, AreCheckedWhenTheSessionIsMade) {
  tally_front front{};
  tally_session *session = nullptr;
  EXPECT_EQ(take(tally_session_new(&front, &session)), "not a front of this interface");
  front.size = sizeof front;
  ASSERT_EQ(tally_session_new(&front, &session), nullptr); // a debugger that can do nothing
  tally_session_free(session);
}

} // namespace
} // namespace tally::capi_session_test
