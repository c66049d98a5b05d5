// The actions that a command or an event requests from the front end, and the text that it prints.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "session/session.h"

namespace tally {

// A command runs in steps. Each step returns a reply; between the steps the front end performs the
// actions that were pushed, in order. The texts of all steps are printed together when no action
// is left. The first error replaces them.
class ActionQueue {
public:
  // Receives the front end's answer: empty if the action was done, otherwise the reason why it was
  // not.
  using Then = std::function<Result<Reply>(std::string_view answer)>;

  void push(Request request, Then then = nullptr);
  void push(RequestKind kind) { push(Request{kind, {}, {}}); }
  // Replaces the continuation of the newest action. There must be one.
  void replace_newest_then(Then then) { waiting_.back().then = std::move(then); }
  bool empty() const { return waiting_.empty(); }

  void say(std::string_view text) { said_ += text; }

  // Keeps the text or the error of a step. Returns the request if the step itself has one: it goes
  // to the front end before any action.
  std::optional<Reply> keep(Result<Reply> step);
  // Returns the next action or, if there is none, the text or the error of all steps.
  Result<Reply> next();

  bool is_performing() const { return performing_.has_value(); }
  // Ends the action that the front end has performed. Returns the reply of its continuation.
  Result<Reply> answer(std::span<const std::string> answers);
  // Discards the action and the text so far, because a new command came in place of an answer.
  void give_up();

private:
  struct Action {
    Request request;
    Then then; // null if nothing follows
  };
  std::deque<Action> waiting_;
  std::optional<Action> performing_;
  std::string said_;
  std::optional<Error> failed_;
};

} // namespace tally
