// Shows what each thread did when: a timeline of a profile whose times are known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "report/report.h"
#include "support/result.h"
#include "transform/sample_filter.h"

namespace tally {

inline constexpr uint32_t least_timeline_width = 40, most_timeline_width = 10'000;
inline constexpr uint32_t timeline_picture_cells = 540; // of about two pixels

struct TimelineOptions {
  // The threads, the part and the times to show. Without times, the axis is that of the part or of
  // the profile.
  SampleFilter samples{};
  // The number of stretches that the axis is divided into. If it is 0, there are as many as fit
  // beside the names of the threads in a text of `width` columns.
  uint32_t cells = 0;
  uint32_t width = 80;
  uint32_t limit = 0; // the most threads, the busiest of all; 0 for all
};

// What a thread did in most of a cell. If the waits were not measured, `running` means at least
// half of the cell, and `running_less` a smaller part.
enum class ThreadState : uint8_t { unknown, running, running_less, waiting, queued };

struct Timeline {
  struct Thread {
    int32_t pid = 0, tid = 0; // both are 0 if the thread of the samples is unknown
    std::string name;
    uint64_t begin_ns = 0; // of the first thing that is known of it
    // One element for each cell: the time in this state, in ns. A sample of the clock stands for
    // the time before it in which the thread did not wait. Without `has_durations`, `running` is
    // the number of samples.
    std::vector<uint64_t> running, waiting, queued;
  };
  struct Part {
    uint32_t number = 0;
    std::string trigger;
    uint64_t begin_ns = 0, end_ns = 0;
  };

  std::string command;
  uint64_t from_ns = 0, to_ns = 0;
  std::vector<uint64_t> edges;   // of the cells; one more than there are cells
  bool has_durations = true;     // false if the samples are not those of a clock
  bool has_waits = false;        // `waiting` and `queued` were measured
  std::vector<Thread> threads{}; // those that did anything between the times, by their begin
  std::vector<Part> parts{};     // those that overlap the axis
  uint64_t left_out = 0;         // the number of threads beyond the limit
  uint64_t most_samples = 0;     // the most samples in a cell
  uint64_t times_from_ns = 0;    // the times before were not kept

  size_t cells() const { return edges.size() - 1; }
  // Returns the cell that contains the time, which is on the axis.
  size_t cell_at(uint64_t ns) const;
  ThreadState state(const Thread &thread, size_t cell) const;
};

// The times that a picture or a text with an axis of time shows.
struct ShownTimes {
  uint64_t from_ns = 0, to_ns = 0;
};
// Returns the wanted times or, without them, those of the wanted part or of the whole profile.
// Errors: those of check_times(); unsupported if the times of the samples are not known; no_data if
// the times are empty.
Result<ShownTimes> shown_times(const StackProfile &profile, const SampleFilter &wanted);
inline constexpr std::string_view nothing_between = "there are no samples between these times";

// Errors: unsupported if the times of the samples are not known, no_data if there are no samples
// between the wanted times, invalid_argument for a bad width and for an unknown thread or part.
Result<Timeline> timeline(const StackProfile &profile, const TimelineOptions &options);
Result<Timeline> timeline(const CostProfile &profile, const TimelineOptions &options);

inline constexpr std::string_view thread_title = "thread"; // of the column of names

// Returns the name of each thread as the timeline shows it: "4711 main", with the process as
// "4711/4713 worker" if there are several processes.
std::vector<std::string> thread_labels(const Timeline &timeline);

// Returns a row for each thread, with a character for each cell. The legend explains them.
std::string to_text(const Timeline &timeline, const TextOptions &options = {});
// Returns {"axis":{"from_ns","to_ns","cells"},"unit":"nanoseconds"|"samples","threads":[{"pid",
// "tid","name","begin_ns","running":[…],"waiting":[…],"queued":[…]}],"parts":[{"part","trigger",
// "begin_ns","end_ns"}],"left_out":N}. "waiting" and "queued" are missing if the waits were not
// measured.
std::string to_json(const Timeline &timeline);
// Returns a picture, which needs nothing else.
std::string to_svg(const Timeline &timeline);

} // namespace tally
