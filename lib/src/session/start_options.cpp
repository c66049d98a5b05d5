#include "session/start_options.h"

#include <algorithm>

#include "collect/sampled_events.h"
#include "session/command_line.h"
#include "support/duration.h"

namespace tally {

uint32_t stack_bytes_of(const ParsedCommand &command) {
  return command.has("stack-bytes")
             ? (static_cast<uint32_t>(command.number("stack-bytes")) + 7) & ~7U
             : 0;
}

Result<uint64_t> limit_ns_of(const ParsedCommand &command) {
  if (command.has("continue") && !command.has("for"))
    return fail(ErrorCode::invalid_argument, "needs --for, after which the program runs on",
                "--continue");
  if (!command.has("for"))
    return 0;
  TALLY_TRY(limit_ns, duration_of(command.value("for")));
  if (limit_ns == 0)
    return fail(ErrorCode::invalid_argument, "expected more than 0", "--for");
  return limit_ns;
}

Result<std::vector<SampledEvent>> sampled_events(const ParsedCommand &command, bool waits) {
  if (!command.has("event"))
    return std::vector<SampledEvent>();
  TALLY_TRY(events, events_by_names(command.value("event")));
  if (waits && std::ranges::any_of(events, &SampledEvent::is_switch))
    return fail(ErrorCode::invalid_argument,
                "context-switches cannot be sampled with --clock wall, which measures each of them",
                "--event");
  if (waits && !events.empty() && !has_clock(events)) {
    TALLY_TRY(clock, event_by_name("clock"));
    events.insert(events.begin(), std::move(clock));
  }
  if (command.has("frequency") && !has_clock(events))
    return fail(ErrorCode::invalid_argument,
                "cannot be used with --event: only the clock has a frequency", "--frequency");
  return events;
}

} // namespace tally
