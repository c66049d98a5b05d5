#include "session.h"

#include <chrono>
#include <memory>
#include <stdexcept>

namespace tally_lldb {

namespace {

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

} // namespace

Session::Session(const Library &library) : library_(library) {
  if (tally_error *error = library_.tally_session_new(&handle_))
    throw std::runtime_error(refusal(error).error);
}

Session::~Session() { close(); }

void Session::close() {
  const std::lock_guard lock(mutex_);
  library_.tally_session_free(handle_);
  handle_ = nullptr;
}

Outcome Session::refusal(tally_error *error) {
  Outcome out{{}, library_.tally_error_text(error)};
  library_.tally_error_free(error);
  return out;
}

Outcome Session::perform(tally_error *error, tally_reply *reply, Performer &performer) {
  while (!error) {
    const std::string text = library_.tally_reply_text(reply);
    const int request = library_.tally_reply_request(reply);
    const std::string progress = library_.tally_reply_progress(reply);
    size_t count = 0;
    const uint64_t *const addresses = library_.tally_reply_addresses(reply, &count);
    const std::vector<uint64_t> asked(addresses, addresses + count);
    const int32_t *const numbers = library_.tally_reply_signals(reply, &count);
    const std::vector<int32_t> signals(numbers, numbers + count);
    const Words words{library_.tally_reply_word(reply, 0), library_.tally_reply_word(reply, 1)};
    library_.tally_reply_free(reply);
    reply = nullptr;
    if (request == TALLY_REQUEST_NONE)
      return {text, {}};
    Words answers;
    if (request == TALLY_REQUEST_PROGRESS) {
      if (!performer.progress(progress))
        return refusal(library_.tally_session_cancel(handle_));
    } else if (request == TALLY_REQUEST_SYMBOLS) {
      for (const uint64_t address : asked)
        answers.push_back(performer.symbol(address));
    } else if (request == TALLY_REQUEST_DISASSEMBLE) {
      answers.push_back(performer.instructions(asked));
    } else if (request == TALLY_REQUEST_STACKS) {
      if (std::optional<std::string> stacks = performer.stacks())
        answers.push_back(std::move(*stacks));
    } else if (request == TALLY_REQUEST_MODULES) {
      answers.push_back(performer.modules());
    } else if (request == TALLY_REQUEST_MEMORY) {
      error = answer_memory(performer.memory(asked), &reply);
      continue;
    } else if (request == TALLY_REQUEST_BREAK_ONCE) {
      if (std::optional<std::string> set = performer.break_once(asked))
        answers.push_back(std::move(*set));
    } else {
      if (std::optional<std::string> answer = performer.act(request, words, signals))
        answers.push_back(std::move(*answer));
    }
    std::vector<const char *> texts;
    for (const std::string &answer : answers)
      texts.push_back(answer.c_str());
    error = library_.tally_session_answer(handle_, texts.data(), texts.size(), &reply);
  }
  return refusal(error);
}

tally_error *Session::answer_memory(const Contents &contents, tally_reply **reply) {
  std::vector<const void *> starts;
  std::vector<size_t> sizes;
  for (const auto &each : contents) {
    starts.push_back(each ? each->data() : nullptr);
    sizes.push_back(each ? each->size() : 0);
  }
  return library_.tally_session_answer_memory(handle_, starts.data(), sizes.data(), starts.size(),
                                              reply);
}

Outcome Session::command(const std::string &group, const std::string &line, Performer &performer) {
  const std::lock_guard lock(mutex_);
  if (!handle_)
    return {};
  tally_reply *reply = nullptr;
  tally_error *const error =
      library_.tally_session_run(handle_, group.c_str(), line.c_str(), &reply);
  return perform(error, reply, performer);
}

Outcome Session::event(const Event &event, Performer &performer) {
  const std::lock_guard lock(mutex_);
  if (!handle_)
    return {};
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
  tally_reply *reply = nullptr;
  tally_error *const error = library_.tally_session_event(handle_, &raw, &reply);
  return perform(error, reply, performer);
}

bool Session::is_past_limit() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock && handle_ && library_.tally_session_limit_ns(handle_) == 0;
}

Outcome Session::limit_reached(Performer &performer) {
  const std::lock_guard lock(mutex_);
  if (!handle_)
    return {};
  tally_reply *reply = nullptr;
  tally_error *const error = library_.tally_session_limit_reached(handle_, &reply);
  return perform(error, reply, performer);
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
  const std::lock_guard lock(mutex_);
  if (!handle_)
    return {};
  std::vector<tally_stack> stacks;
  stacks.reserve(seen.size());
  for (const SeenThread &each : seen)
    stacks.push_back(
        {each.tid, static_cast<uint32_t>(each.pcs.size()), each.pcs.data(), each.name.c_str()});
  tally_reply *reply = nullptr;
  tally_error *const error = library_.tally_session_tick(handle_, stacks.data(), stacks.size(),
                                                         sizeof(tally_stack), &reply);
  return perform(error, reply, performer);
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
  return handle_ && std::string_view(library_.tally_session_setting(handle_, "stop-times")) == "on";
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
  const Table table = table_of(library, [&](tally_table **made) {
    return library.tally_group_commands(group.c_str(), made);
  });
  std::vector<std::map<std::string, std::string>> out(library.tally_table_rows(table.get()));
  for (size_t column = 0; column < library.tally_table_columns(table.get()); ++column)
    if (const char *const *texts = library.tally_table_texts(table.get(), column))
      for (size_t row = 0; row < out.size(); ++row)
        out[row][library.tally_table_column_name(table.get(), column)] = texts[row];
  return out;
}

} // namespace tally_lldb
