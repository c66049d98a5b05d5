// Tally's C++ interface: tally.h with owners, values and ranges. It needs C++20, tl::expected
// (https://github.com/TartanLlama/expected) and nothing else; tally.h describes what each function
// does. A call that fails returns an Error; nothing here throws but std::bad_alloc.
#ifndef TALLY_HPP
#define TALLY_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include <tally.h>

// How a function of tally.h is called. A program that loads the library itself defines this before
// it includes this header.
#ifndef TALLY_CALL
#define TALLY_CALL(function) ::function
#endif

namespace tally {
// The number is that of TALLY_ABI. No other namespace tally has these names.
inline namespace interface_3 {

struct Error {
  int code = 0;                  // tally_error_code
  std::string text;              // the error as one line for the user
  std::string message;           // without source, position or context
  std::string source;            // the file, option or command at fault; may be empty
  uint64_t line = 0, column = 0; // from 1; 0 if the error has no line
  uint64_t offset = UINT64_MAX;  // in bytes; UINT64_MAX if the error has none
};
template <class T> using Result = tl::expected<T, Error>;

// Takes an error that is not null.
inline Error error_of(tally_error *error) {
  struct Free {
    void operator()(tally_error *each) const { TALLY_CALL(tally_error_free)(each); }
  };
  const std::unique_ptr<tally_error, Free> held(error);
  return {TALLY_CALL(tally_error_get_code)(error), TALLY_CALL(tally_error_text)(error),
          TALLY_CALL(tally_error_message)(error),  TALLY_CALL(tally_error_source)(error),
          TALLY_CALL(tally_error_line)(error),     TALLY_CALL(tally_error_column)(error),
          TALLY_CALL(tally_error_offset)(error)};
}
inline Result<void> result_of(tally_error *error) {
  if (error)
    return tl::unexpected(error_of(error));
  return {};
}

// Returns a structure of tally.h with its size, and all else 0.
template <class Struct> Struct sized() {
  Struct out{};
  out.size = sizeof out;
  return out;
}

// A table of named columns, each of texts or of counts.
class Table {
public:
  explicit Table(tally_table *table) : table_(table) {}

  size_t rows() const { return TALLY_CALL(tally_table_rows)(table_.get()); }
  size_t columns() const { return TALLY_CALL(tally_table_columns)(table_.get()); }
  std::string_view name(size_t column) const {
    return TALLY_CALL(tally_table_column_name)(table_.get(), column);
  }
  // Return the column of this name; empty if there is none, or if it is of the other kind.
  std::span<const char *const> texts(std::string_view name) const {
    const auto *texts = TALLY_CALL(tally_table_texts)(table_.get(), find(name));
    return {texts, texts ? rows() : 0};
  }
  std::span<const uint64_t> counts(std::string_view name) const {
    const auto *counts = TALLY_CALL(tally_table_counts)(table_.get(), find(name));
    return {counts, counts ? rows() : 0};
  }

private:
  size_t find(std::string_view name) const {
    size_t column = 0;
    while (column < columns() && this->name(column) != name)
      ++column;
    return column;
  }
  struct Free {
    void operator()(tally_table *table) const { TALLY_CALL(tally_table_free)(table); }
  };
  std::unique_ptr<tally_table, Free> table_;
};

// Calls a function of tally.h with the address of a table to make.
template <class Make> Result<Table> table_of(Make make) {
  tally_table *table = nullptr;
  if (tally_error *const error = make(&table))
    return tl::unexpected(error_of(error));
  return Table(table);
}

inline Result<Table> commands(const std::string &group) {
  return table_of([&](auto **to) { return TALLY_CALL(tally_commands)(group.c_str(), to); });
}
inline Result<Table> settings(const std::string &group) {
  return table_of([&](auto **to) { return TALLY_CALL(tally_settings)(group.c_str(), to); });
}
inline Result<Table> formats() {
  return table_of([](auto **to) { return TALLY_CALL(tally_formats)(to); });
}
inline Result<Table> region_exits() {
  return table_of([](auto **to) { return TALLY_CALL(tally_region_exits)(to); });
}

// A profile that was read from a file.
class Profile {
public:
  static Result<Profile> read(const std::string &path,
                              tally_read_options options = sized<tally_read_options>()) {
    tally_profile *profile = nullptr;
    if (auto *const error = TALLY_CALL(tally_profile_read)(path.c_str(), &options, &profile))
      return tl::unexpected(error_of(error));
    return Profile(profile);
  }

  std::string_view format() const { return TALLY_CALL(tally_profile_format)(profile_.get()); }
  Result<Table> diagnostics() const {
    return table_of(
        [&](auto **to) { return TALLY_CALL(tally_profile_diagnostics)(profile_.get(), to); });
  }
  Result<Table> events() const {
    return table_of(
        [&](auto **to) { return TALLY_CALL(tally_profile_events)(profile_.get(), to); });
  }
  Result<Table> report(tally_report_options options = sized<tally_report_options>()) const {
    return table_of(
        [&](auto **to) { return TALLY_CALL(tally_profile_report)(profile_.get(), &options, to); });
  }
  // Returns what the format cannot hold, in the column "what".
  Result<Table> write(const std::string &path,
                      tally_write_options options = sized<tally_write_options>()) const {
    return table_of([&](auto **to) {
      return TALLY_CALL(tally_profile_write)(profile_.get(), path.c_str(), &options, to);
    });
  }

private:
  explicit Profile(tally_profile *profile) : profile_(profile) {}
  struct Free {
    void operator()(tally_profile *profile) const { TALLY_CALL(tally_profile_free)(profile); }
  };
  std::unique_ptr<tally_profile, Free> profile_;
};

struct Converted {
  Table diagnostics, lost; // the tables of Profile::diagnostics() and Profile::write()
};
inline Result<Converted> convert(std::span<const std::string> paths, const std::string &output,
                                 tally_read_options reading = sized<tally_read_options>(),
                                 tally_write_options writing = sized<tally_write_options>()) {
  std::vector<const char *> names;
  for (const std::string &path : paths)
    names.push_back(path.c_str());
  tally_table *diagnostics = nullptr, *lost = nullptr;
  if (auto *const error = TALLY_CALL(tally_convert)(names.data(), names.size(), &reading,
                                                    output.c_str(), &writing, &diagnostics, &lost))
    return tl::unexpected(error_of(error));
  return Converted{Table(diagnostics), Table(lost)};
}

// What a function of a Front answers; see tally_sink.
class Answer {
public:
  static Answer done() { return Answer(Kind::done); }
  static Answer cancelled() { return Answer(Kind::cancelled); }
  // `reason` and `number` are those of tally_sink_refuse().
  static Answer refused(std::string text = {}, int32_t reason = 0, int64_t number = 0) {
    Answer out(Kind::refused);
    out.text_ = std::move(text);
    out.reason_ = reason;
    out.number_ = number;
    return out;
  }
  bool is_done() const { return kind_ == Kind::done; }
  void give(tally_sink *to) const {
    if (kind_ == Kind::done)
      TALLY_CALL(tally_sink_done)(to);
    else if (kind_ == Kind::refused)
      TALLY_CALL(tally_sink_refuse)(to, reason_, number_, text_.c_str());
  }

private:
  enum class Kind { done, refused, cancelled };
  explicit Answer(Kind kind) : kind_(kind) {}
  Kind kind_;
  std::string text_;
  int32_t reason_ = 0;
  int64_t number_ = 0;
};

// The functions of tally_front: a debugger derives from this, and overrides what it can do. It has
// many methods, because each is one thing that a debugger does.
class Front {
public:
  using Addresses = std::span<const uint64_t>;
  using Signals = std::span<const int32_t>;

  Front() = default;
  Front(const Front &) = delete;
  virtual ~Front() = default;

  virtual Answer progress(const char *) { return Answer::done(); }
  virtual Answer symbols(Addresses, tally_sink *) { return Answer::refused(); }
  // Two addresses for each range, as in tally_front.
  virtual Answer disassemble(Addresses, tally_sink *) { return Answer::refused(); }
  virtual Answer stacks(tally_sink *) { return Answer::refused(); }
  virtual Answer modules(tally_sink *) { return Answer::refused(); }
  virtual Answer memory(Addresses, tally_sink *) { return Answer::refused(); }
  virtual Answer break_once(Addresses, tally_sink *) { return Answer::refused(); }
  virtual Answer set_breakpoint(const char *, uint64_t) { return Answer::refused(); }
  virtual Answer list_source(const char *, uint64_t) { return Answer::refused(); }
  virtual Answer preload(const char *, const char *, Signals) { return Answer::refused(); }
  virtual Answer end_preload() { return Answer::refused(); }
  virtual Answer load(const char *, const char *, Signals) { return Answer::refused(); }
  virtual Answer interrupt(int32_t, bool) { return Answer::refused(); }
  virtual Answer end_interrupt() { return Answer::refused(); }
  virtual Answer restore_signals() { return Answer::refused(); }
  virtual Answer halt() { return Answer::refused(); }
  virtual Answer watch_region(const char *, const char *) { return Answer::refused(); }
  virtual Answer end_region() { return Answer::refused(); }

  // Returns the structure for tally_session_new(). Its functions call the Front that `current`
  // points to at that time.
  static tally_front functions(Front **current) {
    using To = tally_sink *;
    auto out = sized<tally_front>();
    out.self = current;
    out.progress = [](void *self, const char *text, To to) {
      answer(self, to, [&](Front &by) { return by.progress(text); });
    };
    out.symbols = [](void *self, const uint64_t *addresses, size_t count, To to) {
      answer(self, to, [&](Front &by) { return by.symbols({addresses, count}, to); });
    };
    out.disassemble = [](void *self, const uint64_t *ranges, size_t count, To to) {
      answer(self, to, [&](Front &by) { return by.disassemble({ranges, 2 * count}, to); });
    };
    out.stacks = [](void *self, To to) {
      answer(self, to, [&](Front &by) { return by.stacks(to); });
    };
    out.modules = [](void *self, To to) {
      answer(self, to, [&](Front &by) { return by.modules(to); });
    };
    out.memory = [](void *self, const uint64_t *ranges, size_t count, To to) {
      answer(self, to, [&](Front &by) { return by.memory({ranges, 2 * count}, to); });
    };
    out.break_once = [](void *self, const uint64_t *entries, size_t count, To to) {
      answer(self, to, [&](Front &by) { return by.break_once({entries, count}, to); });
    };
    out.set_breakpoint = [](void *self, const char *file, uint64_t at, To to) {
      answer(self, to, [&](Front &by) { return by.set_breakpoint(file, at); });
    };
    out.list_source = [](void *self, const char *file, uint64_t at, To to) {
      answer(self, to, [&](Front &by) { return by.list_source(file, at); });
    };
    out.preload = [](void *self, const char *library, const char *variable, const int32_t *signals,
                     size_t count, To to) {
      answer(self, to, [&](Front &by) { return by.preload(library, variable, {signals, count}); });
    };
    out.end_preload = [](void *self, To to) {
      answer(self, to, [](Front &by) { return by.end_preload(); });
    };
    out.load = [](void *self, const char *library, const char *argument, const int32_t *signals,
                  size_t count, To to) {
      answer(self, to, [&](Front &by) { return by.load(library, argument, {signals, count}); });
    };
    out.interrupt = [](void *self, int32_t signal, int with_stacks, To to) {
      answer(self, to, [&](Front &by) { return by.interrupt(signal, with_stacks != 0); });
    };
    out.end_interrupt = [](void *self, To to) {
      answer(self, to, [](Front &by) { return by.end_interrupt(); });
    };
    out.restore_signals = [](void *self, To to) {
      answer(self, to, [](Front &by) { return by.restore_signals(); });
    };
    out.halt = [](void *self, To to) { answer(self, to, [](Front &by) { return by.halt(); }); };
    out.watch_region = [](void *self, const char *first, const char *second, To to) {
      answer(self, to, [&](Front &by) { return by.watch_region(first, second); });
    };
    out.end_region = [](void *self, To to) {
      answer(self, to, [](Front &by) { return by.end_region(); });
    };
    return out;
  }

private:
  // No exception may reach the library.
  template <class Ask> static void answer(void *self, tally_sink *to, Ask ask) noexcept {
    try {
      Front *const front = *static_cast<Front **>(self);
      (front ? ask(*front) : Answer::refused()).give(to);
    } catch (const std::exception &error) {
      TALLY_CALL(tally_sink_refuse)(to, 0, 0, error.what());
    } catch (...) { // cancels the command
    }
  }
};

// A session. Each call during which the session may ask the debugger names the Front that answers.
// Functions that this class lacks are called with get(); nothing is asked meanwhile.
class Session {
public:
  static Result<Session> make() {
    auto current = std::make_unique<Front *>(nullptr);
    const tally_front functions = Front::functions(current.get());
    tally_session *session = nullptr;
    if (tally_error *const error = TALLY_CALL(tally_session_new)(&functions, &session))
      return tl::unexpected(error_of(error));
    return Session(session, std::move(current));
  }

  Session(Session &&) = default;
  Session &operator=(Session &&) = delete;

  tally_session *get() const { return session_.get(); }

  Result<std::string> run(const std::string &group, const std::string &line, Front &front) {
    return text_of(front, [&](const char **text) {
      return TALLY_CALL(tally_session_run)(get(), group.c_str(), line.c_str(), text);
    });
  }
  Result<std::string> event(const tally_event &event, Front &front) {
    return text_of(front, [&](const char **text) {
      return TALLY_CALL(tally_session_event)(get(), &event, text);
    });
  }
  Result<std::string> limit_reached(Front &front) {
    return text_of(front, [&](const char **text) {
      return TALLY_CALL(tally_session_limit_reached)(get(), text);
    });
  }
  Result<void> tick(std::span<const tally_stack> stacks, Front &front) {
    const Asking asking(*current_, front);
    return result_of(
        TALLY_CALL(tally_session_tick)(get(), stacks.data(), stacks.size(), sizeof(tally_stack)));
  }
  Result<Table> report(const std::string &by, const std::string &sort, Front &front) {
    const Asking asking(*current_, front);
    return table_of([&](auto **to) {
      return TALLY_CALL(tally_session_report)(get(), by.c_str(), sort.c_str(), to);
    });
  }
  Result<void> set_passed_stops(std::span<const tally_location> locations, bool steps_by_copy) {
    return result_of(TALLY_CALL(tally_session_set_passed_stops)(
        get(), locations.data(), locations.size(), sizeof(tally_location), steps_by_copy ? 1 : 0));
  }
  Result<void> set_display(tally_display display) {
    display.size = sizeof display;
    return result_of(TALLY_CALL(tally_session_set_display)(get(), &display));
  }
  std::string_view setting(const std::string &group, const std::string &name) const {
    return TALLY_CALL(tally_session_setting)(get(), group.c_str(), name.c_str());
  }
  int32_t sampled_pid() const { return TALLY_CALL(tally_session_sampled_pid)(get()); }
  bool is_armed() const { return TALLY_CALL(tally_session_is_armed)(get()) != 0; }
  uint64_t limit_ns() const { return TALLY_CALL(tally_session_limit_ns)(get()); }
  uint64_t region_hit(const tally_hit &hit) {
    return TALLY_CALL(tally_session_region_hit)(get(), &hit);
  }
  bool region_measures() const { return TALLY_CALL(tally_session_region_measures)(get()) != 0; }

  // Any thread may call the first two.
  uint64_t tick_wait_ns() { return TALLY_CALL(tally_session_tick_wait_ns)(get()); }
  size_t tick_interrupt() { return TALLY_CALL(tally_session_tick_interrupt)(get()); }
  int tick_take(int32_t tid) { return TALLY_CALL(tally_session_tick_take)(get(), tid); }
  void tick_withdraw() { TALLY_CALL(tally_session_tick_withdraw)(get()); }

private:
  Session(tally_session *session, std::unique_ptr<Front *> current)
      : current_(std::move(current)), session_(session) {}

  // Makes `front` answer for as long as this exists.
  class Asking {
  public:
    Asking(Front *&current, Front &front)
        : current_(current), before_(std::exchange(current, &front)) {}
    Asking(const Asking &) = delete;
    ~Asking() { current_ = before_; }

  private:
    Front *&current_;
    Front *before_;
  };
  template <class Call> Result<std::string> text_of(Front &front, Call call) {
    const Asking asking(*current_, front);
    const char *text = "";
    if (tally_error *const error = call(&text))
      return tl::unexpected(error_of(error));
    return text;
  }
  struct Free {
    void operator()(tally_session *session) const { TALLY_CALL(tally_session_free)(session); }
  };
  std::unique_ptr<Front *> current_; // the one that answers now
  std::unique_ptr<tally_session, Free> session_;
};

} // namespace interface_3
} // namespace tally

#endif
