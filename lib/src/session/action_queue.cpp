#include "session/action_queue.h"

#include <utility>

namespace tally {

void ActionQueue::push(Request request, Then then) {
  waiting_.push_back({std::move(request), std::move(then), in_command_});
}

std::optional<Reply> ActionQueue::keep(Result<Reply> step) {
  if (!step) {
    if (!failed_)
      failed_ = std::move(step.error());
    return std::nullopt;
  }
  said_ += step->text;
  step->text.clear();
  return step->request.kind == RequestKind::none ? std::nullopt : std::optional(std::move(*step));
}

Result<Reply> ActionQueue::next() {
  if (!waiting_.empty()) {
    performing_ = std::move(waiting_.front());
    waiting_.pop_front();
    return Reply{{}, performing_->request};
  }
  std::string text = std::exchange(said_, {});
  if (auto error = std::exchange(failed_, std::nullopt))
    return fail(std::move(*error));
  return Reply{std::move(text), {}};
}

Result<Reply> ActionQueue::answer(std::span<const std::string> answers) {
  const Action action = std::move(*performing_);
  performing_.reset();
  return action.then ? action.then(answers.empty() ? "the debugger cannot do this" : answers[0])
                     : Reply{};
}

bool ActionQueue::give_up() {
  const bool performed = performing_ && !performing_->stays();
  performing_.reset();
  said_.clear();
  failed_.reset();
  return std::erase_if(waiting_, [](const Action &each) { return !each.stays(); }) != 0 ||
         performed;
}

bool ActionQueue::cancel() {
  if (performing_ && performing_->stays()) {
    waiting_.push_front(std::move(*performing_));
    performing_.reset();
  }
  return give_up();
}

void ActionQueue::push_about(Request request, std::string location) {
  push(std::move(request),
       [location = std::move(location)](std::string_view answer) -> Result<Reply> {
         if (answer.empty())
           return Reply{};
         return fail(ErrorCode::not_found, std::string(answer), location);
       });
}

} // namespace tally
