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
//
// An action without a continuation undoes something, such as the handling of signals. When a
// command is abandoned, such actions stay in the queue, because the group that pushed them
// assumes that they are performed. The actions of an event stay, too, because nobody can repeat an
// event.
class ActionQueue {
public:
  // Receives the front end's answer, which is empty if the action was performed, and otherwise the
  // reason why it was not.
  using Then = std::function<Result<Reply>(std::string_view answer)>;

  // Sets whether the actions that are pushed from now on belong to a command or to an event.
  void begin_command() { in_command_ = true; }
  void begin_event() { in_command_ = false; }
  void push(Request request, Then then = nullptr);
  // Pushes a request about a location, whose error names the location.
  void push_about(Request request, std::string location);
  void push(RequestKind kind) { push(Request{kind, {}, {}}); }
  // Replaces the continuation of the newest action. There must be one.
  void replace_newest_then(Then then) { waiting_.back().then = std::move(then); }
  bool empty() const { return waiting_.empty(); }

  void say(std::string_view text) { said_ += text; }

  // Keeps the text or the error of a step. If the step itself has a request, returns the request,
  // which the front end receives before any action.
  std::optional<Reply> keep(Result<Reply> step);
  // Returns the next action or, if there is none, the text or the error of all steps.
  Result<Reply> next();

  bool is_performing() const { return performing_.has_value(); }
  // Returns the request that the front end performs; null if there is none.
  const Request *performing() const { return performing_ ? &performing_->request : nullptr; }
  // Ends the action that the front end has performed. Returns the reply of its continuation.
  Result<Reply> answer(std::span<const std::string> answers);
  // Abandons the command or event in progress, because a new command came in place of an answer.
  // Drops the text so far, the action that is being performed and the command's other actions.
  // Returns whether an action of the command was dropped.
  bool give_up();
  // Does the same after the user's interrupt. If the action that is being performed is one that
  // stays, it is performed again later.
  bool cancel();

private:
  struct Action {
    Request request;
    Then then; // null if nothing follows
    bool of_command;
    bool stays() const { return !of_command || !then; } // when a command is abandoned
  };
  std::deque<Action> waiting_;
  std::optional<Action> performing_;
  std::string said_;
  std::optional<Error> failed_;
  bool in_command_ = false;
};

} // namespace tally
