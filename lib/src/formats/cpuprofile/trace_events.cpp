#include "formats/cpuprofile/trace_events.h"

#include <algorithm>
#include <utility>

#include "formats/stack_depth.h"
#include "support/hash.h"
#include "support/sort.h"

namespace tally::cpuprofile {

namespace {

int64_t end_of(const TraceEvent &event) { // neither has more than 61 bits
  return event.at_ns + event.duration_ns;
}

// If events begin together, the longer one contains the shorter one.
bool begins_before(const TraceEvent &a, const TraceEvent &b) {
  return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.duration_ns > b.duration_ns;
}
bool begins_behind(const TraceEvent &a, const TraceEvent &b) { return begins_before(b, a); }

// Returns the index of the next event that begins at the same time and with the same name as the
// one at `end`, which ends, or `end` if there is none among the next few.
size_t same_time_begin(const std::vector<TraceEvent> &events, size_t end) {
  constexpr size_t most = 16;
  for (size_t i = end + 1; i < std::min(events.size(), end + 1 + most); ++i) {
    if (events[i].at_ns != events[end].at_ns)
      break;
    if (events[i].phase == Phase::begin && events[i].name == events[end].name)
      return i;
  }
  return end;
}

} // namespace

void ThreadEvents::warn(std::string message, uint64_t offset) {
  diagnostics_.add(Severity::warning, std::move(message), source_, Position::at_offset(offset));
}

// Counts the time since the last event for the innermost open one.
void ThreadEvents::move_to(int64_t at_ns) {
  const int64_t duration = at_ns - now_ns_;
  if (duration > 0 && !open_.empty()) {
    values_[0] = duration;
    const uint32_t row = builder_.add_sample(open_.back().stack, thread_, none<PartId>, values_);
    builder_.add_time({static_cast<uint64_t>(at_ns - begin_ns_), row, 0, duration});
  }
  now_ns_ = std::max(now_ns_, at_ns);
}

void ThreadEvents::close_until(int64_t at_ns) {
  while (!open_.empty() && open_.back().end_ns <= at_ns) {
    move_to(open_.back().end_ns);
    open_.pop_back();
  }
}

Result<void> ThreadEvents::open(const TraceEvent &event) {
  if (open_.size() == most_frames)
    return fail(ErrorCode::limit, too_deep(), source_, Position::at_offset(event.offset));
  const SourceLine at{builder_.add_function({event.name, {}, {}, {}, 0}), {}, 0};
  const LocationId location = builder_.add_location(none<MappingId>, 0, std::span(&at, 1));
  const StackId caller = open_.empty() ? none<StackId> : open_.back().stack;
  int64_t end_ns = end_of(event);
  if (!open_.empty() && open_.back().end_ns < end_ns) {
    const int64_t cut_ns = std::exchange(end_ns, open_.back().end_ns);
    if (rests_left_ == 0) {
      warn("what is left of events that end after ones that they began in is not counted, because "
           "there are too many",
           event.offset);
    } else {
      warn("an event that ends after one that it began in goes on by itself", event.offset);
      --rests_left_;
      rests_.push_back({end_ns, cut_ns - end_ns, Phase::complete, event.name, event.offset});
      std::ranges::push_heap(rests_, begins_behind);
    }
  }
  open_.push_back({builder_.push(caller, location), end_ns});
  return {};
}

// Gives the events that begin the time until the ones that end them, and drops the latter.
void ThreadEvents::complete(std::vector<TraceEvent> &events) {
  sort_stably(events, {}, &TraceEvent::at_ns);
  SeededMap<StringId, int64_t> open_ends; // by name, how many more end than begin
  for (const TraceEvent &event : events)
    open_ends[event.name] += event.phase == Phase::end ? 1 : event.phase == Phase::begin ? -1 : 0;
  std::vector<size_t> begun; // indexes of events
  int64_t end_ns = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    TraceEvent &event = events[i];
    end_ns = i == 0 ? end_of(event) : std::max(end_ns, end_of(event));
    if (event.phase == Phase::begin)
      begun.push_back(i);
    if (event.phase != Phase::end)
      continue;
    // The name of an event that ends another one is optional.
    if (begun.empty() || (event.name != StringId{} && events[begun.back()].name != event.name)) {
      // An event that takes no time may end before it begins. Where the file has more ends of that
      // name than beginnings, the beginning may belong to a later end.
      if (const size_t begin = same_time_begin(events, i);
          begin != i && open_ends[event.name] <= 0) {
        std::rotate(events.begin() + static_cast<ptrdiff_t>(i),
                    events.begin() + static_cast<ptrdiff_t>(begin),
                    events.begin() + static_cast<ptrdiff_t>(begin) + 1);
        --i; // look at the beginning, then at this end again
        continue;
      }
      warn("an event that ends no event is ignored", event.offset);
      continue;
    }
    events[begun.back()].duration_ns = event.at_ns - events[begun.back()].at_ns;
    begun.pop_back();
  }
  for (const size_t index : begun) {
    warn("events that do not end are read as if they end with the last one of their thread",
         events[index].offset);
    events[index].duration_ns = end_ns - events[index].at_ns;
  }
  std::erase_if(events, [](const TraceEvent &event) { return event.phase == Phase::end; });
}

Result<void> ThreadEvents::add(std::vector<TraceEvent> &events, ThreadId thread, int64_t begin_ns) {
  thread_ = thread;
  begin_ns_ = now_ns_ = begin_ns;
  values_.assign(builder_.so_far().value_types().size(), 0);
  complete(events);
  sort_stably(events, begins_before);
  rests_.clear();
  rests_left_ = events.size(); // each may be cut by all that are open, which are as many
  for (size_t i = 0; i < events.size() || !rests_.empty();) {
    TraceEvent event;
    if (rests_.empty() || (i < events.size() && !begins_before(rests_.front(), events[i]))) {
      event = events[i++];
    } else {
      std::ranges::pop_heap(rests_, begins_behind);
      event = rests_.back();
      rests_.pop_back();
    }
    close_until(event.at_ns);
    move_to(event.at_ns);
    TALLY_CHECK(open(event));
  }
  close_until(INT64_MAX);
  return {};
}

} // namespace tally::cpuprofile
