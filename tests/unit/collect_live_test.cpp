// Samples real processes. No test here depends on the machine's speed: shares and sums are compared
// with the processor time that the kernel itself counted.
#include <cmath>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/region_filter.h"
#include "collect_child.h"

namespace tally::collect_live_test {
namespace {

// Expects one tick per period and no more. There are fewer ticks if a hypervisor takes the
// processor away for longer than a period: the kernel then makes one tick of several, but counts
// all the time.
void expect_full_rate(const SamplerStatus &status) {
  const double period = 1e9 / status.requested_hz * 1.003;
  const double share =
      static_cast<double>(status.samples) * period / static_cast<double>(status.cpu_ns);
  EXPECT_LT(share, 1.05);
  EXPECT_GT(share, 0.6);
}

TEST(CollectLive, AttributesTimeToTheFunctionsThatSpentIt) {
  for (const StackMode mode : {StackMode::none, StackMode::fp}) {
    SamplerOptions options;
    options.frequency_hz = 4000;
    options.stacks = mode;
    const auto run = sample_to_end(options, [] {
      // The rounds have many lengths, since rounds as long as a period would be in step with ticks.
      std::minstd_rand random(1);
      while (process_cpu_seconds() < 0.7) {
        const uint64_t times = random() % 16 + 1;
        spin_first(7'000 * times);
        spin_second(3'000 * times);
      }
    });
    if (!run)
      return;
    const SamplerStatus &status = run->status;
    EXPECT_EQ(status.problem, "");
    EXPECT_EQ(status.lost, 0u);
    EXPECT_GT(status.cpu_ns, 600'000'000u);
    if (status.kernel_included)
      expect_full_rate(status);
    EXPECT_EQ(run->profile.totals().at(0), static_cast<int64_t>(status.samples));
    const Counts counts = count_leaves(run->profile);
    EXPECT_EQ(counts.no_stack, 0);
    EXPECT_EQ(counts.no_mapping, 0);
    const double n = static_cast<double>(counts.first + counts.second);
    // How much of the time the kernel takes is the machine's matter.
    const auto in_kernel = static_cast<double>(status.kernel_samples);
    EXPECT_GT(n, 0.95 * (static_cast<double>(counts.all) - in_kernel));
    // Allows six standard deviations of a sampled share, and one percent for interruptions.
    EXPECT_NEAR(static_cast<double>(counts.first) / n, 0.7, 6 * std::sqrt(0.21 / n) + 0.01);
  }
}

// The reader may take samples before the function that starts the sampler returns.
TEST(CollectLive, CountsInsideTheRegionFromTheFirstSampleOn) {
  SamplerOptions options;
  options.region_filter = std::make_shared<RegionFilter>();
  const auto run = sample_to_end(options, [] {
    while (process_cpu_seconds() < 0.1)
      spin_first(1'000);
  });
  if (!run)
    return;
  EXPECT_EQ(run->status.samples, 0u);
  EXPECT_GT(run->status.outside, 0u);
}

// Returns the ticks of the function that represents the kernel, and those of other leaves.
std::pair<int64_t, int64_t> kernel_and_others(const StackProfile &profile) {
  std::pair<int64_t, int64_t> out;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    const auto lines = sample.stack == none<StackId>
                           ? std::span<const SourceLine>()
                           : profile.location(profile.stack_location(sample.stack)).lines;
    const bool kernel = !lines.empty() &&
                        profile.strings[profile.functions()[lines[0].function].name] == "[kernel]";
    (kernel ? out.first : out.second) += sample.values[0];
    if (kernel && profile.stack_caller(sample.stack) == none<StackId>) {
      EXPECT_LT(sample.values[0], 10); // has no caller
    }
  }
  return out;
}

TEST(CollectLive, AttributesSystemCallsToTheKernel) {
  const auto run = sample_to_end({}, [] {
    const int fd = ::open("/dev/zero", O_RDONLY);
    std::vector<char> bytes(65536);
    while (process_cpu_seconds() < 0.5)
      for (int i = 0; i < 10; ++i)
        if (::syscall(SYS_read, fd, bytes.data(), bytes.size()) < 0) // not a sanitizer's read()
          return;
  });
  if (!run)
    return;
  const SamplerStatus &status = run->status;
  if (!status.kernel_included)
    GTEST_SKIP() << "the kernel's time is not ours to see";
  expect_full_rate(status);
  EXPECT_GT(status.kernel_samples, status.samples / 2);
  const Counts counts = count_leaves(run->profile);
  EXPECT_EQ(counts.no_mapping, 0);
  EXPECT_LE(counts.no_stack, counts.all / 50);
  const auto [kernel, others] = kernel_and_others(run->profile);
  EXPECT_EQ(kernel, static_cast<int64_t>(status.kernel_samples));
  EXPECT_EQ(kernel + others, static_cast<int64_t>(status.samples));
}

} // namespace
} // namespace tally::collect_live_test
