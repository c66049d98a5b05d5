// The C interface of sessions.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "capi/front.h"
#include "capi/handles.h"
#include "session/session.h"
#include "support/sigint_watch.h"

using namespace tally;
using namespace tally::capi;

struct tally_session {
  explicit tally_session(const tally_front &functions) : front(functions) {}

  Front front;
  Session session{front};
  std::string text; // owns the newest text that was returned to the caller
  std::map<std::string, std::string> settings; // own the strings that were returned to callers
  std::string symbol;                          // owns the newest string that was returned
};

namespace {

// The sizes of structures in the first release. They never change: an older caller passes these.
constexpr size_t first_event = offsetof(tally_event, at_ns);
constexpr size_t first_hit = offsetof(tally_hit, reserved);
constexpr size_t first_location = offsetof(tally_location, address) + sizeof(uint64_t);
constexpr size_t first_display = offsetof(tally_display, metadata) + sizeof(const char *);
constexpr size_t first_stack = offsetof(tally_stack, name) + sizeof(const char *);

constexpr size_t first_front = offsetof(tally_front, end_region) + sizeof(tally_front::end_region);

// Runs `step`, which returns a text.
template <class Step> tally_error *with_text(tally_session *session, Step step, const char **text) {
  return guarded(step, [&](std::string all) {
    session->text = std::move(all);
    *text = session->text.c_str();
  });
}

} // namespace

extern "C" {

tally_error *tally_session_new(const tally_front *front, tally_session **session) {
  return guarded(
      [&]() -> Result<std::unique_ptr<tally_session>> {
        const auto functions = front ? received_by_size(front, first_front) : tally_front{};
        if (!functions)
          return fail(ErrorCode::invalid_argument, "not a front of this interface");
        return std::make_unique<tally_session>(*functions);
      },
      [session](std::unique_ptr<tally_session> made) { *session = made.release(); });
}

void tally_session_free(tally_session *session) { delete session; }

tally_error *tally_session_run(tally_session *session, const char *group, const char *line,
                               const char **text) {
  return with_text(
      session,
      [&]() -> Result<std::string> {
        TALLY_TRY(id, group_of(group));
        return session->session.command(text_of(line), id);
      },
      text);
}

tally_error *tally_session_event(tally_session *session, const tally_event *event,
                                 const char **text) {
  return with_text(
      session,
      [&]() -> Result<std::string> {
        const auto copy = received_by_size(event, first_event);
        if (!copy || copy->kind < TALLY_EVENT_TARGET || copy->kind > TALLY_EVENT_RAN ||
            copy->target < TALLY_TARGET_NONE || copy->target > TALLY_TARGET_CORE)
          return fail(ErrorCode::invalid_argument, "not an event of this interface");
        const bool unseen = copy->kind == TALLY_EVENT_RAN;
        return session->session.event(
            {unseen ? EventKind::resumed : static_cast<EventKind>(copy->kind),
             static_cast<TargetKind>(copy->target), copy->pid, copy->number, text_of(copy->text),
             text_of(copy->file), copy->line, text_of(copy->command), text_of(copy->program),
             copy->at_ns, copy->beside != 0, unseen});
      },
      text);
}

uint64_t tally_session_tick_wait_ns(tally_session *session) {
  constexpr uint64_t after_an_exception = 1'000'000'000;
  return unless_thrown(after_an_exception, [&] { return session->session.tick_wait_ns(); });
}

size_t tally_session_tick_interrupt(tally_session *session) {
  return unless_thrown(0, [&] { return session->session.tick_interrupt(); });
}

int tally_session_tick_take(tally_session *session, int32_t tid) {
  return unless_thrown(TALLY_TICK_THEIRS,
                       [&] { return static_cast<int>(session->session.tick_take(tid)); });
}

void tally_session_tick_withdraw(tally_session *session) {
  unless_thrown(false, [&] {
    session->session.tick_withdraw();
    return true;
  });
}

tally_error *tally_session_tick(tally_session *session, const tally_stack *stacks, size_t count,
                                size_t stack_size) {
  return guarded(
      [&]() -> Result<bool> {
        TALLY_TRY(all, received_array<tally_stack>(stacks, count, stack_size, first_stack));
        std::vector<ThreadStack> seen;
        for (const tally_stack &stack : all)
          seen.push_back({stack.tid, stack.name ? stack.name : "", {stack.pcs, stack.count}});
        TALLY_CHECK(session->session.tick(seen));
        return true;
      },
      [](bool) {});
}

const char *tally_unsafe_frame(const char *module, const char *function, int innermost,
                               const void *before, size_t size) {
  // The result is a string literal, and so ends with a null character.
  return why_call_is_unsafe(view_of(module), view_of(function), innermost != 0,
                            {static_cast<const std::byte *>(before), before ? size : 0})
      .data();
}

int tally_leads_on(const char *instruction) { return leads_on(view_of(instruction)) ? 1 : 0; }

void tally_sigint_watch(int on) { watch_sigint(on != 0); }
int tally_sigint_seen(void) { return take_sigint() ? 1 : 0; }

int32_t tally_session_sampled_pid(const tally_session *session) {
  return session->session.sampled_pid();
}

int tally_session_is_armed(const tally_session *session) {
  return session->session.is_armed() ? 1 : 0;
}

tally_error *tally_region_exits(tally_table **table) {
  return guarded(
      []() -> TableResult {
        std::vector<std::string> functions;
        std::vector<uint64_t> kinds;
        for (const RegionExit &each : region_exits()) {
          functions.emplace_back(each.function);
          kinds.push_back(static_cast<uint64_t>(each.kind));
        }
        auto out = std::make_unique<tally_table>();
        out->add("function", std::move(functions));
        out->add("kind", std::move(kinds));
        return out;
      },
      into(table));
}

uint64_t tally_session_region_hit(tally_session *session, const tally_hit *hit) {
  try {
    const auto copy = received_by_size(hit, first_hit);
    if (!copy || copy->kind < TALLY_HIT_FIRST || copy->kind > TALLY_HIT_MEASURED)
      return 0;
    return session->session.region_hit({static_cast<RegionHit::Kind>(copy->kind), copy->tid,
                                        copy->at_entry != 0, copy->caller_sp, copy->return_address,
                                        copy->jump_buffer, copy->holds_all != 0});
  } catch (...) {
    return 0;
  }
}

int tally_session_region_measures(const tally_session *session) {
  return session->session.region_measures() ? 1 : 0;
}

uint64_t tally_session_limit_ns(const tally_session *session) {
  return session->session.limit_left_ns();
}

tally_error *tally_session_limit_reached(tally_session *session, const char **text) {
  return with_text(
      session, [&] { return session->session.limit_reached(); }, text);
}

tally_error *tally_session_set_passed_stops(tally_session *session, const tally_location *locations,
                                            size_t count, size_t location_size, int steps_by_copy) {
  return guarded(
      [&]() -> Result<bool> {
        std::vector<BreakpointLocation> out;
        TALLY_TRY(all,
                  received_array<tally_location>(locations, count, location_size, first_location));
        for (const tally_location &location : all)
          out.push_back({std::string(text_of(location.file)), location.address});
        session->session.set_passed_stops(out, steps_by_copy != 0);
        return true;
      },
      [](bool) {});
}

tally_error *tally_session_complete(tally_session *session, const char *group, const char *line,
                                    tally_table **table) {
  return guarded(
      [&]() -> TableResult {
        TALLY_TRY(id, group_of(group));
        auto out = std::make_unique<tally_table>();
        out->add("word", session->session.complete(text_of(line), id));
        return out;
      },
      into(table));
}

const char *tally_session_symbol_to_complete(tally_session *session, const char *line) {
  try {
    session->symbol = session->session.symbol_to_complete(text_of(line));
    return session->symbol.c_str();
  } catch (...) {
    return "";
  }
}

tally_error *tally_session_complete_symbol(tally_session *session, const char *line,
                                           const char *const *functions, size_t function_count,
                                           const char *const *files, size_t file_count,
                                           tally_table **table) {
  return guarded(
      [&]() -> TableResult {
        const auto texts = [](const char *const *names, size_t count) {
          std::vector<std::string> out;
          for (size_t i = 0; i < count; ++i)
            out.emplace_back(text_of(names[i]));
          return out;
        };
        auto out = std::make_unique<tally_table>();
        out->add("word", session->session.complete(text_of(line), texts(functions, function_count),
                                                   texts(files, file_count)));
        return out;
      },
      into(table));
}

tally_error *tally_session_set(tally_session *session, const char *group, const char *name,
                               const char *value) {
  return guarded(
      [&]() -> Result<bool> {
        TALLY_TRY(id, group_of(group));
        TALLY_CHECK(session->session.set(text_of(name), text_of(value), id));
        return true;
      },
      [](bool) {});
}

const char *tally_session_setting(tally_session *session, const char *group, const char *name) {
  try {
    const auto id = group_of(group);
    const std::string_view value =
        id ? session->session.setting(text_of(name), *id) : std::string_view();
    if (value.empty())
      return "";
    std::string &kept = session->settings[fmt::format("{} {}", group, name)];
    if (kept != value)
      kept = value;
    return kept.c_str();
  } catch (...) {
    return "";
  }
}

tally_error *tally_session_set_display(tally_session *session, const tally_display *display) {
  return guarded(
      [&]() -> Result<bool> {
        const auto shown = received_by_size(display, first_display);
        if (!shown)
          return fail(ErrorCode::invalid_argument, "not a display of this interface");
        const std::pair<std::string_view, std::string_view> styles[] = {
            {"function", view_of(shown->function)}, {"filename", view_of(shown->filename)},
            {"address", view_of(shown->address)},   {"variable", view_of(shown->variable)},
            {"title", view_of(shown->title)},       {"highlight", view_of(shown->highlight)},
            {"metadata", view_of(shown->metadata)},
        };
        TALLY_CHECK(session->session.set_display({shown->width, view_of(shown->flavor), styles}));
        return true;
      },
      [](bool) {});
}

tally_error *tally_session_status(tally_session *session, tally_table **table) {
  return guarded(
      [&]() -> TableResult {
        std::vector<std::string> names, values;
        for (auto &[name, value] : session->session.status()) {
          names.push_back(std::move(name));
          values.push_back(std::move(value));
        }
        auto out = std::make_unique<tally_table>();
        out->add("name", std::move(names));
        out->add("value", std::move(values));
        return out;
      },
      into(table));
}

int tally_session_last_run(const tally_session *session, uint64_t *run, uint64_t *cpu) {
  const auto &last = session->session.last_run();
  if (!last)
    return 0;
  *run = last->elapsed_ns;
  *cpu = last->cpu_ns.value_or(UINT64_MAX);
  return 1;
}

tally_error *tally_session_report(tally_session *session, const char *by, const char *sort,
                                  tally_table **table) {
  return guarded(
      [&]() -> TableResult {
        TALLY_TRY(key, by_of(text_of(by)));
        TALLY_TRY(order, sort_by_of(text_of(sort)));
        TALLY_TRY(flat, session->session.table(key, order));
        return table_of(flat);
      },
      into(table));
}

} // extern "C"
