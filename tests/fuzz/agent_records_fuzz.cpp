// Reads arbitrary words as the records of an agent, which any program that is sampled can write.
// Each record is counted or bad, and what was counted is a valid profile.
#include <cstring>
#include <vector>

#include "collect/agent_sink.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::agent_records_fuzz {

FUZZ_TARGET(agent_records) {
  if (size == 0)
    return 0;
  std::vector<uint64_t> bytes((size - 1) / sizeof(uint64_t));
  if (!bytes.empty())
    std::memcpy(bytes.data(), data + 1, bytes.size() * sizeof(uint64_t));
  SamplerOptions options;
  options.stacks = data[0] & 1 ? StackMode::fp : StackMode::none;
  if (data[0] & 2) {
    options.stacks = StackMode::dwarf;
    options.unwinder = make_unwinder({});
  }
  AgentSink sink(1, 1'000'000, options, [] { return false; });
  sink.collector().map({0x1000, 0x2000, 0, 1, 1, "/proc/self/exe"});
  sink.collector().map({0x5000, 0x6000, 0, 1, 2, "/nowhere"});
  std::span<const uint64_t> words = bytes;
  AgentRecord record;
  uint64_t bad = 0;
  sink.begin_round();
  for (size_t left = words.size(); next_agent_record(words, record, bad); left = words.size()) {
    require(words.size() < left, "a record takes words");
    sink.handle(record);
  }
  require(words.empty() && bad <= 1, "all words are read, or the rest is damaged");
  const auto profile = sink.collector().snapshot("now", 0, 1);
  require(profile.has_value(), "a profile");
  require(validate(*profile).has_value(), "a valid profile");
  return 0;
}

} // namespace tally::agent_records_fuzz
