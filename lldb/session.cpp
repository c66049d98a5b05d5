#include "session.h"

#include <chrono>
#include <stdexcept>
#include <utility>

namespace tally_lldb {

Session::Session() {
  auto made = tally::Session::make();
  if (!made)
    throw std::runtime_error(made.error().text);
  session_.emplace(std::move(*made));
}

void Session::close() {
  const std::lock_guard lock(mutex_);
  is_open_ = false;
  if (calls_ == 0)
    session_.reset();
}

// Runs `call`, during which a front may close the session.
template <class Call> Outcome Session::performed(Call call) {
  const std::lock_guard lock(mutex_);
  if (!is_open_)
    return {};
  struct Handled {
    explicit Handled(Session &of) : session(of) { ++of.calls_; }
    Handled(const Handled &) = delete;
    ~Handled() {
      if (--session.calls_ == 0 && !session.is_open_)
        session.session_.reset();
    }
    Session &session;
  };
  const Handled handled(*this);
  tally::Result<std::string> text = call(*session_);
  return text ? Outcome{std::move(*text), {}} : Outcome{{}, std::move(text.error().text)};
}

Outcome Session::command(const std::string &group, const std::string &line, tally::Front &front) {
  return performed([&](tally::Session &session) { return session.run(group, line, front); });
}

Outcome Session::event(const Event &event, tally::Front &front) {
  auto raw = tally::sized<tally_event>();
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
  return performed([&](tally::Session &session) { return session.event(raw, front); });
}

bool Session::is_past_limit() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock && is_open_ && session_->limit_ns() == 0;
}

Outcome Session::limit_reached(tally::Front &front) {
  return performed([&](tally::Session &session) { return session.limit_reached(front); });
}

void Session::set_passed_stops(const std::vector<BreakpointLocation> &locations) {
  const std::lock_guard lock(mutex_);
  if (!is_open_)
    return;
  std::vector<tally_location> raw;
  raw.reserve(locations.size());
  for (const BreakpointLocation &location : locations)
    raw.push_back({location.file.c_str(), location.address});
  // It fails only if memory is exhausted: the ticks at these breakpoints are counted then.
  static_cast<void>(session_->set_passed_stops(raw, false));
}

Outcome Session::tick(const std::vector<SeenThread> &seen, tally::Front &front) {
  std::vector<tally_stack> stacks;
  stacks.reserve(seen.size());
  for (const SeenThread &each : seen)
    stacks.push_back(
        {each.tid, static_cast<uint32_t>(each.pcs.size()), each.pcs.data(), each.name.c_str()});
  return performed([&](tally::Session &session) {
    return session.tick(stacks, front).map([] { return std::string(); });
  });
}

std::optional<uint64_t> Session::region_hit(int32_t pid, const tally_hit &hit) {
  const std::unique_lock lock(mutex_, std::chrono::milliseconds(100));
  if (!lock || !is_open_ || session_->sampled_pid() != pid)
    return std::nullopt;
  return session_->region_hit(hit);
}

bool Session::region_measures() {
  const std::unique_lock lock(mutex_, std::chrono::milliseconds(100));
  return lock && is_open_ && session_->region_measures();
}

int32_t Session::sampled_pid() {
  const std::lock_guard lock(mutex_);
  const int32_t pid = is_open_ ? session_->sampled_pid() : 0;
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
  return is_open_ && session_->setting("profile", "stop-times") == "on";
}

bool Session::is_armed() {
  const std::lock_guard lock(mutex_);
  return is_open_ && session_->is_armed();
}

void Session::set_display(const tally_display &display) {
  const std::lock_guard lock(mutex_);
  if (is_open_)
    static_cast<void>(session_->set_display(display)); // an old one stays
}

std::vector<std::pair<std::string, int32_t>> region_exits() {
  const auto table = tally::region_exits();
  if (!table)
    throw std::runtime_error(table.error().text);
  const auto functions = table->texts("function");
  const auto kinds = table->counts("kind");
  std::vector<std::pair<std::string, int32_t>> out;
  for (size_t row = 0; row < table->rows(); ++row)
    out.emplace_back(functions[row], static_cast<int32_t>(kinds[row]));
  return out;
}

} // namespace tally_lldb
