// Performs the requests of a session by the functions of a front.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tally.h>

#include "session/session.h"

// Collects what a function of a front finds. tally.h describes the functions that fill it.
struct tally_sink {
  std::string lines; // a line for each instruction, stack or module, or a number
  std::vector<std::string> frames;
  std::vector<std::optional<std::string>> memory;
  struct {
    int32_t reason = 0;
    int64_t number = 0;
    std::string text;
  } refusal;
  enum class Answer { cancelled, done, refused } answer = Answer::cancelled;
  bool failed = false; // what was found could not be kept, because memory is exhausted
};

namespace tally::capi {

class Front {
public:
  explicit Front(const tally_front &functions) : functions_(functions) {}

  // Performs the requests of a reply, and those of the replies that follow, in the order in which
  // the session makes them. Returns the text to print.
  Result<std::string> perform(Session &session, Result<Reply> step) const;

private:
  Result<Reply> answer(Session &session, const Request &request) const;
  void call(const Request &request, tally_sink &to) const;
  template <class... Parameters, class... Arguments>
  void call(void (*function)(void *, Parameters...), tally_sink &to, Arguments... arguments) const {
    if (function)
      function(functions_.self, arguments..., &to);
    else
      to.answer = tally_sink::Answer::refused;
  }

  tally_front functions_;
};

} // namespace tally::capi
