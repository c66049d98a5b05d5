#include "session/start_options.h"

#include <algorithm>

#include "collect/sampled_events.h"
#include "session/command_line.h"

namespace tally {

uint32_t stack_bytes_of(const ParsedCommand &command) {
  return command.has("stack-bytes")
             ? (static_cast<uint32_t>(command.number("stack-bytes")) + 7) & ~7U
             : 0;
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
