// The C interface. Catches all exceptions, and converts Result to tally_error*.
#include <tally.h>

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "session/command_help.h"
#include "session/profile_table.h"
#include "session/session.h"
#include "session/sigint_watch.h"

using namespace tally;

// The header's constants must equal the library's, because they are converted by casts.
static_assert(TALLY_ERROR_INVALID_ARGUMENT == int(ErrorCode::invalid_argument) &&
              TALLY_ERROR_INVALID_INPUT == int(ErrorCode::invalid_input) &&
              TALLY_ERROR_UNSUPPORTED == int(ErrorCode::unsupported) &&
              TALLY_ERROR_NOT_FOUND == int(ErrorCode::not_found) &&
              TALLY_ERROR_IO == int(ErrorCode::io) &&
              TALLY_ERROR_PERMISSION == int(ErrorCode::permission) &&
              TALLY_ERROR_LIMIT == int(ErrorCode::limit) &&
              TALLY_ERROR_BAD_STATE == int(ErrorCode::bad_state) &&
              TALLY_ERROR_NO_DATA == int(ErrorCode::no_data) &&
              TALLY_ERROR_OVERFLOW == int(ErrorCode::overflow) &&
              TALLY_ERROR_CANCELLED == int(ErrorCode::cancelled) &&
              TALLY_ERROR_INTERNAL == int(ErrorCode::internal));
static_assert(TALLY_TARGET_NONE == int(TargetKind::none) &&
              TALLY_TARGET_NATIVE == int(TargetKind::native) &&
              TALLY_TARGET_REMOTE == int(TargetKind::remote) &&
              TALLY_TARGET_CORE == int(TargetKind::core));
static_assert(TALLY_EVENT_TARGET == int(EventKind::target) &&
              TALLY_EVENT_RESUMED == int(EventKind::resumed) &&
              TALLY_EVENT_BREAKPOINT == int(EventKind::breakpoint) &&
              TALLY_EVENT_WATCHPOINT == int(EventKind::watchpoint) &&
              TALLY_EVENT_CATCHPOINT == int(EventKind::catchpoint) &&
              TALLY_EVENT_SIGNAL == int(EventKind::signal) &&
              TALLY_EVENT_STEP == int(EventKind::step) &&
              TALLY_EVENT_OTHER == int(EventKind::other) &&
              TALLY_EVENT_EXITED == int(EventKind::exited) &&
              TALLY_EVENT_SIGNALLED == int(EventKind::signalled) &&
              TALLY_EVENT_KILLED == int(EventKind::killed) &&
              TALLY_EVENT_DETACHED == int(EventKind::detached));
static_assert(TALLY_REQUEST_NONE == int(RequestKind::none) &&
              TALLY_REQUEST_PROGRESS == int(RequestKind::progress) &&
              TALLY_REQUEST_SYMBOLS == int(RequestKind::symbols) &&
              TALLY_REQUEST_PRELOAD == int(RequestKind::preload) &&
              TALLY_REQUEST_PRELOAD_END == int(RequestKind::preload_end) &&
              TALLY_REQUEST_LOAD == int(RequestKind::load) &&
              TALLY_REQUEST_INTERRUPT == int(RequestKind::interrupt) &&
              TALLY_REQUEST_INTERRUPT_END == int(RequestKind::interrupt_end) &&
              TALLY_REQUEST_SIGNALS_RESTORE == int(RequestKind::signals_restore) &&
              TALLY_REQUEST_BREAK == int(RequestKind::set_breakpoint) &&
              TALLY_REQUEST_LIST == int(RequestKind::list_source) &&
              TALLY_REQUEST_REGION == int(RequestKind::region) &&
              TALLY_REQUEST_REGION_END == int(RequestKind::region_end) &&
              TALLY_REQUEST_DISASSEMBLE == int(RequestKind::disassemble));
static_assert(TALLY_REGION_UNKNOWN == int(RegionRefusal::unknown) &&
              TALLY_REGION_INLINED == int(RegionRefusal::inlined) &&
              TALLY_REGION_WITHIN == int(RegionRefusal::within));
static_assert(TALLY_HIT_FIRST == int(RegionHit::Kind::first) &&
              TALLY_HIT_SECOND == int(RegionHit::Kind::second) &&
              TALLY_HIT_RETURNED == int(RegionHit::Kind::returned) &&
              TALLY_HIT_CAUGHT == int(RegionHit::Kind::caught) &&
              TALLY_HIT_JUMPED == int(RegionHit::Kind::jumped));
static_assert(TALLY_TICK_OURS == int(InterruptClock::Stop::ours) &&
              TALLY_TICK_STALE == int(InterruptClock::Stop::stale) &&
              TALLY_TICK_THEIRS == int(InterruptClock::Stop::theirs));

struct tally_error {
  Error error;
  std::string text;
};

struct tally_table {
  struct Texts {
    std::vector<std::string> owned;
    std::vector<const char *> pointers;
  };
  struct TableColumn {
    std::string name;
    int kind = TALLY_COLUMN_TEXT;
    Texts texts;
    std::vector<uint64_t> counts;
  };
  std::vector<TableColumn> columns;
  size_t rows = 0;

  void add(std::string name, std::vector<std::string> texts) {
    TableColumn &column = columns.emplace_back();
    column.name = std::move(name);
    column.texts.owned = std::move(texts);
    for (const std::string &text : column.texts.owned)
      column.texts.pointers.push_back(text.c_str());
    rows = column.texts.owned.size();
  }
  void add(std::string name, std::vector<uint64_t> counts) {
    TableColumn &column = columns.emplace_back();
    column.name = std::move(name);
    column.kind = TALLY_COLUMN_COUNT;
    rows = counts.size();
    column.counts = std::move(counts);
  }
};

struct tally_reply {
  Reply reply;
};

struct tally_session {
  Session session;
  std::map<std::string, std::string> settings; // own the strings that were returned to callers
  std::string symbol;                          // owns the newest string that was returned
};

namespace {

// Returned if there is no memory for another error; never freed.
tally_error out_of_memory{{ErrorCode::limit, "out of memory", {}, {}, {}}, "out of memory"};

tally_error *to_c(Error error) noexcept {
  try {
    std::string text = error.text();
    return new tally_error{std::move(error), std::move(text)};
  } catch (...) {
    return &out_of_memory;
  }
}

tally_error *defect(const char *what) noexcept {
  try {
    return to_c({ErrorCode::internal, what, {}, {}, {}});
  } catch (...) {
    return &out_of_memory;
  }
}

// Runs `body`, which returns a Result, and passes its value to `store`. Returns null or the error.
template <class Body, class Store> tally_error *guarded(Body body, Store store) noexcept {
  try {
    auto result = body();
    if (!result)
      return to_c(std::move(result.error()));
    store(std::move(*result));
    return nullptr;
  } catch (const std::bad_alloc &) {
    return &out_of_memory;
  } catch (const std::exception &e) {
    return defect(e.what());
  } catch (...) {
    return defect("an unknown exception");
  }
}

auto into(tally_reply **out) {
  return [out](Reply reply) { *out = new tally_reply{std::move(reply)}; };
}

auto into(tally_table **out) {
  return [out](std::unique_ptr<tally_table> table) { *out = table.release(); };
}

using TableResult = Result<std::unique_ptr<tally_table>>;

std::string text_of(const char *text) { return text ? text : ""; }

} // namespace

extern "C" {

const char *tally_version(void) { return TALLY_VERSION; }
uint32_t tally_abi(void) { return TALLY_ABI; }

void tally_error_free(tally_error *error) {
  if (error != &out_of_memory)
    delete error;
}
int tally_error_get_code(const tally_error *error) { return static_cast<int>(error->error.code); }
const char *tally_error_text(const tally_error *error) { return error->text.c_str(); }
const char *tally_error_message(const tally_error *error) { return error->error.message.c_str(); }
const char *tally_error_source(const tally_error *error) { return error->error.source.c_str(); }
uint64_t tally_error_line(const tally_error *error) { return error->error.where.line; }
uint64_t tally_error_column(const tally_error *error) { return error->error.where.column; }
uint64_t tally_error_offset(const tally_error *error) {
  return error->error.where.kind == Position::Kind::offset ? error->error.where.offset : UINT64_MAX;
}

void tally_table_free(tally_table *table) { delete table; }
size_t tally_table_rows(const tally_table *table) { return table->rows; }
size_t tally_table_columns(const tally_table *table) { return table->columns.size(); }
const char *tally_table_column_name(const tally_table *table, size_t column) {
  return column < table->columns.size() ? table->columns[column].name.c_str() : "";
}
int tally_table_column_kind(const tally_table *table, size_t column) {
  return column < table->columns.size() ? table->columns[column].kind : TALLY_COLUMN_TEXT;
}
const char *const *tally_table_texts(const tally_table *table, size_t column) {
  if (column >= table->columns.size() || table->columns[column].kind != TALLY_COLUMN_TEXT)
    return nullptr;
  return table->columns[column].texts.pointers.data();
}
const uint64_t *tally_table_counts(const tally_table *table, size_t column) {
  if (column >= table->columns.size() || table->columns[column].kind != TALLY_COLUMN_COUNT)
    return nullptr;
  return table->columns[column].counts.data();
}

tally_error *tally_commands(tally_table **table) {
  return guarded(
      []() -> TableResult {
        std::vector<std::string> names, summaries, usages, helps;
        for (const CommandSpec &command : profile_table().commands) {
          names.emplace_back(command.name);
          summaries.emplace_back(command.summary);
          usages.push_back(command_usage(profile_table(), command));
          helps.push_back(command_help(profile_table(), command));
        }
        auto out = std::make_unique<tally_table>();
        out->add("name", std::move(names));
        out->add("summary", std::move(summaries));
        out->add("usage", std::move(usages));
        out->add("help", std::move(helps));
        return out;
      },
      into(table));
}

tally_error *tally_settings(tally_table **table) {
  return guarded(
      []() -> TableResult {
        std::vector<std::string> names, values, fallbacks, summaries;
        for (const OptionSpec &setting : profile_table().settings) {
          names.emplace_back(setting.name);
          values.emplace_back(setting.values);
          fallbacks.emplace_back(setting.fallback);
          summaries.push_back(one_line(setting.summary));
        }
        auto out = std::make_unique<tally_table>();
        out->add("name", std::move(names));
        out->add("values", std::move(values));
        out->add("fallback", std::move(fallbacks));
        out->add("summary", std::move(summaries));
        return out;
      },
      into(table));
}

const char *tally_profile_help(void) {
  try {
    static const std::string help = profile_help();
    return help.c_str();
  } catch (...) {
    return "";
  }
}

tally_error *tally_session_new(tally_session **session) {
  return guarded(
      []() -> Result<std::unique_ptr<tally_session>> { return std::make_unique<tally_session>(); },
      [session](std::unique_ptr<tally_session> made) { *session = made.release(); });
}

void tally_session_free(tally_session *session) { delete session; }

tally_error *tally_session_command(tally_session *session, const char *line, tally_reply **reply) {
  return guarded([&] { return session->session.command(text_of(line)); }, into(reply));
}

tally_error *tally_session_event(tally_session *session, const tally_event *event,
                                 tally_reply **reply) {
  return guarded(
      [&]() -> Result<Reply> {
        if (!event || event->size < offsetof(tally_event, at_ns) ||
            event->kind < TALLY_EVENT_TARGET || event->kind > TALLY_EVENT_DETACHED ||
            event->target < TALLY_TARGET_NONE || event->target > TALLY_TARGET_CORE)
          return fail(ErrorCode::invalid_argument, "not an event of this interface");
        return session->session.event(
            {static_cast<EventKind>(event->kind), static_cast<TargetKind>(event->target),
             event->pid, event->number, text_of(event->text), text_of(event->file), event->line,
             text_of(event->command), text_of(event->program),
             event->size < sizeof(tally_event) ? 0 : event->at_ns});
      },
      into(reply));
}

tally_error *tally_session_answer(tally_session *session, const char *const *answers, size_t count,
                                  tally_reply **reply) {
  return guarded(
      [&] {
        std::vector<std::string> texts;
        for (size_t i = 0; i < count; ++i)
          texts.push_back(text_of(answers[i]));
        return session->session.answer(texts);
      },
      into(reply));
}

tally_error *tally_session_cancel(tally_session *session) {
  return guarded([&] { return session->session.cancel(); }, [](const Reply &) {});
}

uint64_t tally_session_tick_wait_ns(tally_session *session) {
  return session->session.tick_wait_ns();
}

size_t tally_session_tick_interrupt(tally_session *session) {
  return session->session.tick_interrupt();
}

int tally_session_tick_take(tally_session *session, int32_t tid) {
  return static_cast<int>(session->session.tick_take(tid));
}

void tally_session_tick_withdraw(tally_session *session) { session->session.tick_withdraw(); }

tally_error *tally_session_tick(tally_session *session, const tally_stack *stacks, size_t count,
                                tally_reply **reply) {
  return guarded(
      [&] {
        std::vector<ThreadStack> seen;
        for (size_t i = 0; i < count; ++i)
          seen.push_back({stacks[i].tid,
                          stacks[i].name ? stacks[i].name : "",
                          {stacks[i].pcs, stacks[i].count}});
        return session->session.tick(seen);
      },
      into(reply));
}

const char *tally_unsafe_frame(const char *module, const char *function, int innermost,
                               const void *before, size_t size) {
  // The result is a string literal, and so ends with a null character.
  return why_call_is_unsafe(text_of(module), text_of(function), innermost != 0,
                            {static_cast<const std::byte *>(before), before ? size : 0})
      .data();
}

void tally_sigint_watch(int on) { watch_sigint(on != 0); }
int tally_sigint_seen(void) { return take_sigint() ? 1 : 0; }

int32_t tally_session_sampled_pid(const tally_session *session) {
  return session->session.sampled_pid();
}

int tally_session_is_armed(const tally_session *session) {
  return session->session.is_armed() ? 1 : 0;
}

uint64_t tally_session_region_hit(tally_session *session, const tally_hit *hit) {
  try {
    if (!hit || hit->size < sizeof(tally_hit) || hit->kind < TALLY_HIT_FIRST ||
        hit->kind > TALLY_HIT_JUMPED)
      return 0;
    return session->session.region_hit({static_cast<RegionHit::Kind>(hit->kind), hit->tid,
                                        hit->at_entry != 0, hit->caller_sp, hit->return_address,
                                        hit->jump_buffer, hit->holds_all != 0});
  } catch (...) {
    return 0;
  }
}

tally_error *tally_session_set_passed_stops(tally_session *session, const tally_location *places,
                                            size_t count, int steps_by_copy) {
  return guarded(
      [&]() -> Result<bool> {
        std::vector<BreakpointLocation> out;
        for (const tally_location &place : std::span(places, count))
          out.push_back({std::string(text_of(place.file)), place.address});
        session->session.set_passed_stops(out, steps_by_copy != 0);
        return true;
      },
      [](bool) {});
}

tally_error *tally_session_complete(tally_session *session, const char *line, tally_table **table) {
  return guarded(
      [&]() -> TableResult {
        auto out = std::make_unique<tally_table>();
        out->add("word", session->session.complete(text_of(line)));
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

tally_error *tally_session_set(tally_session *session, const char *name, const char *value) {
  return guarded(
      [&]() -> Result<bool> {
        TALLY_CHECK(session->session.set(text_of(name), text_of(value)));
        return true;
      },
      [](bool) {});
}

const char *tally_session_setting(tally_session *session, const char *name) {
  try {
    const std::string_view value = session->session.setting(text_of(name));
    if (value.empty())
      return "";
    std::string &kept = session->settings[name];
    if (kept != value)
      kept = value;
    return kept.c_str();
  } catch (...) {
    return "";
  }
}

void tally_session_set_disassembly_flavor(tally_session *session, const char *flavor) {
  session->session.set_disassembly_flavor(flavor ? std::string_view(flavor) : std::string_view());
}

void tally_session_set_width(tally_session *session, uint32_t columns) {
  session->session.set_width(columns);
}

tally_error *tally_session_set_style(tally_session *session, const char *role, const char *sgr) {
  return guarded(
      [&]() -> Result<bool> {
        TALLY_CHECK(session->session.set_style(text_of(role), text_of(sgr)));
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

tally_error *tally_session_report(tally_session *session, const char *by, const char *sort,
                                  tally_table **table) {
  return guarded(
      [&]() -> TableResult {
        TALLY_TRY(key, by_of(text_of(by)));
        TALLY_TRY(order, sort_by_of(text_of(sort)));
        TALLY_TRY(flat, session->session.table(key, order));
        std::vector<std::string> names, files, objects;
        std::vector<uint64_t> lines, ids, self, inclusive;
        for (const FlatRow &row : flat.rows) {
          names.push_back(row.name);
          files.push_back(row.file);
          objects.push_back(row.object);
          lines.push_back(row.line);
          ids.push_back(row.id);
          self.push_back(row.self.front());
          inclusive.push_back(row.inclusive.front());
        }
        auto out = std::make_unique<tally_table>();
        out->add("name", std::move(names));
        out->add("file", std::move(files));
        out->add("object", std::move(objects));
        out->add("line", std::move(lines));
        out->add("id", std::move(ids));
        out->add("self", std::move(self));
        out->add("inclusive", std::move(inclusive));
        return out;
      },
      into(table));
}

void tally_reply_free(tally_reply *reply) { delete reply; }
const char *tally_reply_text(const tally_reply *reply) { return reply->reply.text.c_str(); }
int tally_reply_request(const tally_reply *reply) {
  return static_cast<int>(reply->reply.request.kind);
}
const char *tally_reply_progress(const tally_reply *reply) {
  return reply->reply.request.text.c_str();
}
const uint64_t *tally_reply_addresses(const tally_reply *reply, size_t *count) {
  *count = reply->reply.request.addresses.size();
  return reply->reply.request.addresses.data();
}
const char *tally_reply_word(const tally_reply *reply, size_t index) {
  const auto &words = reply->reply.request.words;
  return index < words.size() ? words[index].c_str() : "";
}
const int32_t *tally_reply_signals(const tally_reply *reply, size_t *count) {
  *count = reply->reply.request.signals.size();
  return reply->reply.request.signals.data();
}

} // extern "C"
