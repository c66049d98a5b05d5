#include "asker.h"

#include <chrono>
#include <exception>
#include <utility>

#include "process_watch.h" // quiet_thread()

namespace tally_lldb {

bool Asker::ask(std::function<void()> question) {
  if (!thread_.joinable()) {
    state_ = std::make_shared<State>();
    thread_ = quiet_thread([state = state_] { run(*state); });
  }
  const std::lock_guard lock(state_->mutex);
  if (state_->question)
    return false;
  state_->question = std::move(question);
  state_->changed.notify_all();
  return true;
}

void Asker::end() {
  if (!thread_.joinable())
    return;
  std::unique_lock lock(state_->mutex);
  state_->over = true;
  state_->changed.notify_all();
  const bool is_done =
      state_->changed.wait_for(lock, std::chrono::seconds(1), [this] { return state_->is_done; });
  lock.unlock();
  if (is_done)
    thread_.join();
  else
    thread_.detach();
}

void Asker::run(State &state) {
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return state.over || state.question; });
    if (state.over)
      break;
    lock.unlock();
    try {
      state.question();
    } catch (const std::exception &) { // out of memory
    }
    lock.lock();
    state.question = nullptr;
  }
  state.is_done = true;
  state.changed.notify_all();
}

} // namespace tally_lldb
