#include "session.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>

namespace tally_lldb {

namespace {

std::vector<Range> ranges_of(const uint64_t *pairs, size_t count) {
  std::vector<Range> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back({pairs[2 * i], pairs[2 * i + 1]});
  return out;
}

using Table = std::unique_ptr<tally_table, decltype(Library::tally_table_free)>;

// `list` is called with the address of a table to make, and returns an error or null.
template <class List> Table table_of(const Library &library, List list) {
  tally_table *table = nullptr;
  if (tally_error *error = list(&table)) {
    const std::string text = library.tally_error_text(error);
    library.tally_error_free(error);
    throw std::runtime_error(text);
  }
  return {table, library.tally_table_free};
}

// Runs `ask` with the performer of the newest call. Cancels the command if the user interrupts it
// meanwhile; an act is done nevertheless. No exception may reach the library.
template <class Ask> void ask(void *self, tally_sink *to, Ask ask, bool is_act = false) noexcept {
  auto &session = *static_cast<Session *>(self);
  const auto refuse = [&](const Refusal &why) {
    session.library().tally_sink_refuse(to, why.reason, why.number, why.text.c_str());
  };
  try {
    if (const Refused refused = ask(session.performer(), Sink{session.library(), to}))
      refuse(*refused);
    else if (is_act || !session.performer().is_interrupted())
      session.library().tally_sink_done(to);
  } catch (const std::exception &error) {
    refuse({error.what()});
  }
}

tally_front front_of(Session *self) {
  using Numbers = std::vector<int32_t>;
  static constexpr auto act = [](void *of, tally_sink *to, Act what, const Words &words = {},
                                 const Numbers &signals = {}) {
    ask(
        of, to, [&](Performer &by, const Sink &) { return by.act(what, words, signals); }, true);
  };
  static constexpr auto place = [](const char *file, uint64_t at) {
    char text[2 + 16 + 1];
    std::snprintf(text, sizeof text, *file ? "%" PRIu64 : "0x%" PRIx64, at);
    return Words{file, text};
  };
  tally_front out{};
  out.size = sizeof out;
  out.self = self;
  out.progress = [](void *of, const char *text, tally_sink *to) {
    ask(of, to, [&](Performer &by, const Sink &) {
      by.progress(text);
      return Refused();
    });
  };
  out.symbols = [](void *of, const uint64_t *addresses, size_t count, tally_sink *to) {
    ask(of, to, [&](Performer &by, const Sink &sink) {
      for (size_t i = 0; i < count; ++i)
        for (const Frame &frame : by.symbol(addresses[i]))
          sink.library.tally_sink_frame(to, i, frame.function.c_str(), frame.file.c_str(),
                                        frame.line);
      return Refused();
    });
  };
  out.disassemble = [](void *of, const uint64_t *ranges, size_t count, tally_sink *to) {
    ask(of, to, [&](Performer &by, const Sink &sink) {
      return by.disassemble(ranges_of(ranges, count), sink);
    });
  };
  out.stacks = [](void *of, tally_sink *to) {
    ask(of, to, [](Performer &by, const Sink &sink) { return by.stacks(sink); });
  };
  out.modules = [](void *of, tally_sink *to) {
    ask(of, to, [](Performer &by, const Sink &sink) { return by.modules(sink); });
  };
  out.memory = [](void *of, const uint64_t *ranges, size_t count, tally_sink *to) {
    ask(of, to, [&](Performer &by, const Sink &sink) {
      const Contents contents = by.memory(ranges_of(ranges, count));
      for (size_t i = 0; i < contents.size(); ++i)
        if (contents[i])
          sink.library.tally_sink_memory(to, i, contents[i]->data(), contents[i]->size());
      return Refused();
    });
  };
  out.break_once = [](void *of, const uint64_t *entries, size_t count, tally_sink *to) {
    ask(of, to, [&](Performer &by, const Sink &sink) {
      return by.break_once({entries, count}, sink);
    });
  };
  out.set_breakpoint = [](void *of, const char *file, uint64_t at, tally_sink *to) {
    act(of, to, Act::set_breakpoint, place(file, at));
  };
  out.list_source = [](void *of, const char *file, uint64_t at, tally_sink *to) {
    act(of, to, Act::list_source, place(file, at));
  };
  out.preload = [](void *of, const char *library, const char *variable, const int32_t *signals,
                   size_t count, tally_sink *to) {
    act(of, to, Act::preload, {library, variable}, Numbers(signals, signals + count));
  };
  out.end_preload = [](void *of, tally_sink *to) { act(of, to, Act::end_preload); };
  out.load = [](void *of, const char *library, const char *argument, const int32_t *signals,
                size_t count, tally_sink *to) {
    act(of, to, Act::load, {library, argument}, Numbers(signals, signals + count));
  };
  out.interrupt = [](void *of, int32_t signal, int with_stacks, tally_sink *to) {
    act(of, to, Act::interrupt, {with_stacks ? "stacks" : "pcs"},
        signal ? Numbers{signal} : Numbers{});
  };
  out.end_interrupt = [](void *of, tally_sink *to) { act(of, to, Act::end_interrupt); };
  out.restore_signals = [](void *of, tally_sink *to) { act(of, to, Act::restore_signals); };
  out.halt = [](void *of, tally_sink *to) { act(of, to, Act::halt); };
  out.watch_region = [](void *of, const char *first, const char *second, tally_sink *to) {
    act(of, to, Act::watch_region, {first, second});
  };
  out.end_region = [](void *of, tally_sink *to) { act(of, to, Act::end_region); };
  return out;
}

} // namespace

Session::Session(const Library &library) : library_(library) {
  const tally_front front = front_of(this);
  if (tally_error *error = library_.tally_session_new(&front, &handle_))
    throw std::runtime_error(refusal(error).error);
}

Session::~Session() { close(); }

void Session::close() {
  const std::lock_guard lock(mutex_);
  tally_session *const handle = std::exchange(handle_, nullptr);
  if (calls_ == 0)
    library_.tally_session_free(handle);
  else if (handle)
    closing_ = handle;
}

Outcome Session::refusal(tally_error *error) {
  Outcome out{{}, library_.tally_error_text(error)};
  library_.tally_error_free(error);
  return out;
}

// Calls a function of the library that performs what the session asks for, and returns its text.
template <class Call> Outcome Session::performed(Performer &performer, Call call) {
  const std::lock_guard lock(mutex_);
  if (!handle_)
    return {};
  struct Handled {
    explicit Handled(Session &of, Performer &by)
        : session(of), before(std::exchange(of.performer_, &by)) {
      ++of.calls_;
    }
    ~Handled() {
      session.performer_ = before;
      if (--session.calls_ == 0)
        session.library_.tally_session_free(std::exchange(session.closing_, nullptr));
    }
    Session &session;
    Performer *before;
  };
  const Handled handled(*this, performer);
  const char *text = "";
  if (tally_error *const error = call(handle_, &text))
    return refusal(error);
  return {text, {}};
}

Outcome Session::command(const std::string &group, const std::string &line, Performer &performer) {
  return performed(performer, [&](tally_session *session, const char **text) {
    return library_.tally_session_run(session, group.c_str(), line.c_str(), text);
  });
}

Outcome Session::event(const Event &event, Performer &performer) {
  tally_event raw{};
  raw.size = sizeof raw;
  raw.kind = event.kind;
  raw.target = event.target;
  raw.pid = event.pid;
  raw.number = event.number;
  raw.line = event.line;
  raw.text = event.text.c_str();
  raw.file = event.file.c_str();
  raw.command = event.command.c_str();
  raw.program = event.program.c_str();
  raw.at_ns = event.at_ns;
  return performed(performer, [&](tally_session *session, const char **text) {
    return library_.tally_session_event(session, &raw, text);
  });
}

bool Session::is_past_limit() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock && handle_ && library_.tally_session_limit_ns(handle_) == 0;
}

Outcome Session::limit_reached(Performer &performer) {
  return performed(performer, library_.tally_session_limit_reached);
}

void Session::set_passed_stops(const std::vector<BreakpointLocation> &locations) {
  const std::lock_guard lock(mutex_);
  if (!handle_)
    return;
  std::vector<tally_location> raw;
  raw.reserve(locations.size());
  for (const BreakpointLocation &location : locations)
    raw.push_back({location.file.c_str(), location.address});
  if (tally_error *const error = library_.tally_session_set_passed_stops(
          handle_, raw.data(), raw.size(), sizeof(tally_location), 0))
    refusal(error); // out of memory: the ticks at these breakpoints are counted
}

Outcome Session::tick(const std::vector<SeenThread> &seen, Performer &performer) {
  std::vector<tally_stack> stacks;
  stacks.reserve(seen.size());
  for (const SeenThread &each : seen)
    stacks.push_back(
        {each.tid, static_cast<uint32_t>(each.pcs.size()), each.pcs.data(), each.name.c_str()});
  return performed(performer, [&](tally_session *session, const char **) {
    return library_.tally_session_tick(session, stacks.data(), stacks.size(), sizeof(tally_stack));
  });
}

std::optional<uint64_t> Session::region_hit(int32_t pid, const tally_hit &hit) {
  const std::unique_lock lock(mutex_, std::chrono::milliseconds(100));
  if (!lock || !handle_ || library_.tally_session_sampled_pid(handle_) != pid)
    return std::nullopt;
  return library_.tally_session_region_hit(handle_, &hit);
}

bool Session::region_measures() {
  const std::unique_lock lock(mutex_, std::chrono::milliseconds(100));
  return lock && handle_ && library_.tally_session_region_measures(handle_) != 0;
}

int32_t Session::sampled_pid() {
  const std::lock_guard lock(mutex_);
  const int32_t pid = handle_ ? library_.tally_session_sampled_pid(handle_) : 0;
  if (pid != 0)
    last_sampled_ = pid;
  return pid;
}

int32_t Session::last_sampled_pid() {
  const std::lock_guard lock(mutex_);
  return sampled_pid() != 0 ? sampled_pid() : last_sampled_;
}

void Session::forget_last_sampled() {
  const std::lock_guard lock(mutex_);
  last_sampled_ = 0;
}

bool Session::shows_stop_times() {
  const std::lock_guard lock(mutex_);
  return handle_ &&
         std::string_view(library_.tally_session_setting(handle_, "profile", "stop-times")) == "on";
}

bool Session::is_armed() {
  const std::lock_guard lock(mutex_);
  return handle_ && library_.tally_session_is_armed(handle_) != 0;
}

void Session::set_display(tally_display display) {
  display.size = sizeof display;
  const std::lock_guard lock(mutex_);
  if (handle_)
    library_.tally_error_free(library_.tally_session_set_display(handle_, &display));
}

std::vector<std::pair<std::string, int32_t>> region_exits(const Library &library) {
  const Table table = table_of(library, library.tally_region_exits);
  const char *const *const functions = library.tally_table_texts(table.get(), 0);
  const uint64_t *const kinds = library.tally_table_counts(table.get(), 1);
  std::vector<std::pair<std::string, int32_t>> out;
  for (size_t row = 0; row < library.tally_table_rows(table.get()); ++row)
    out.emplace_back(functions[row], static_cast<int32_t>(kinds[row]));
  return out;
}

std::vector<std::map<std::string, std::string>> command_table(const Library &library,
                                                              const std::string &group) {
  const Table table = table_of(
      library, [&](tally_table **made) { return library.tally_commands(group.c_str(), made); });
  std::vector<std::map<std::string, std::string>> out(library.tally_table_rows(table.get()));
  for (size_t column = 0; column < library.tally_table_columns(table.get()); ++column)
    if (const char *const *texts = library.tally_table_texts(table.get(), column))
      for (size_t row = 0; row < out.size(); ++row)
        out[row][library.tally_table_column_name(table.get(), column)] = texts[row];
  return out;
}

} // namespace tally_lldb
