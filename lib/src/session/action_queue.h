// The actions that a command or an event asks of the front, and the text that it prints at the end.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <tally/session.h>

namespace tally {

// A command runs in steps. Each step returns a reply; between the steps the front performs the
// actions that were pushed, in order. The texts of all steps are printed together when no action
// is left. The first error replaces them.
class ActionQueue {
public:
  // Receives the front's answer: empty if the action was done, otherwise the reason why it was not.
  using Then = std::function<Result<Reply>(std::string_view answer)>;

  void push(Request request, Then then = nullptr);
  void push(RequestKind kind) { push(Request{kind, {}, {}}); }
  // Replaces what follows the newest action. There must be one.
  void replace_newest_then(Then then) { waiting_.back().then = std::move(then); }
  bool empty() const { return waiting_.empty(); }

  void say(std::string_view text) { said_ += text; }

  // Keeps the text or the error of a step. Returns the request if the step itself has one: it goes
  // to the front before any action.
  std::optional<Reply> keep(Result<Reply> step);
  // Returns the next action or, if there is none, the text or the error of all steps.
  Result<Reply> next();

  bool is_performing() const { return performing_.has_value(); }
  // Ends the action that the front has performed. Returns the reply of what follows it.
  Result<Reply> answer(std::span<const std::string> answers);
  // A new command takes the place of an answer: forgets the action and what was said so far.
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
