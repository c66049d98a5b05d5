#include "session/sampling_remarks.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/value_text.h"
#include "support/text.h"

namespace tally {

namespace {

// Up to this frequency, samples took less than half of a program's own time. At 50 kHz they
// took two to three times this time, and at 100 kHz 25 times.
constexpr uint32_t most_moderate_hz = 20'000;
// If fewer ticks than this are expected, a fifth of them may be missing by chance.
constexpr double least_expected_ticks = 50;

// Less than that is used before the program's own code runs.
constexpr uint64_t least_missed_ns = 10'000'000;

} // namespace

std::string cost_remark(uint32_t frequency_hz) {
  if (frequency_hz <= most_moderate_hz)
    return {};
  return fmt::format("at {} Hz, samples may take several times as long as the program itself",
                     frequency_hz);
}

std::string lost_remark(const SamplerStatus &status) {
  if (status.lost == 0)
    return {};
  return counted(status.lost, "samples") + (status.lost == 1 ? " was lost" : " were lost") +
         (status.waits > 0 ? "; a wait whose stack is lost does not count in a debugger" : "");
}

std::string missed_remark(const SamplerStatus &status) {
  if (status.missed_ns < least_missed_ns)
    return {};
  return fmt::format(
      "up to {} of CPU time at the beginning are not sampled: the program ran before "
      "the sampler was there",
      duration_text(status.missed_ns));
}

std::string share_remark(const SamplerStatus &status) {
  if (status.wall_clock || status.requested_hz == 0)
    return {};
  const double cpu_seconds =
      static_cast<double>(status.cpu_ns - std::min(status.cpu_ns, status.unsampled_ns)) * 1e-9;
  const double expected = cpu_seconds * status.requested_hz;
  const auto ticks = static_cast<double>(status.samples + status.outside + status.lost);
  // A higher rate is not delivered, whatever the threads do, nor is that of a throttled clock.
  if (expected < least_expected_ticks || 5 * ticks >= 4 * expected ||
      status.requested_hz > most_moderate_hz || status.throttled != 0)
    return {};
  return fmt::format("the samples stand for {:.2f} s of {:.2f} s of CPU time: a thread that lives "
                     "for less than a few ticks has too few",
                     ticks / status.requested_hz, cpu_seconds);
}

bool has_short_dumps(const SamplerStatus &status) {
  // One or two stacks, such as those of threads that begin, say little of a short run.
  return status.short_dumps > status.samples / 20 + 2;
}

std::string truncation_remark(const SamplerStatus &status) {
  if (status.truncated_stacks <= status.samples / 20 + 2)
    return {};
  const std::string out =
      fmt::format("{} of {} stacks are truncated", status.truncated_stacks, status.samples);
  return has_short_dumps(status) && status.stack_bytes < most_stack_bytes
             ? fmt::format(
                   "{}: they are deeper than the {} bytes that are copied; --stack-bytes {} "
                   "copies more",
                   out, status.stack_bytes, most_stack_bytes)
             : out + "; `tree` shows why";
}

} // namespace tally
