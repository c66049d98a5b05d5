#include "session/start_options.h"

#include "collect/sampled_events.h"
#include "session/command_line.h"

namespace tally {

Result<std::vector<SampledEvent>> sampled_events(const ParsedCommand &command) {
  if (!command.has("event"))
    return std::vector<SampledEvent>();
  TALLY_TRY(events, events_by_names(command.value("event")));
  if (command.has("frequency") && !has_clock(events))
    return fail(ErrorCode::invalid_argument,
                "cannot be used with --event: only the clock has a frequency", "--frequency");
  return events;
}

} // namespace tally
