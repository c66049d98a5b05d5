#include "formats/cpuprofile/trace_samples.h"

#include <fmt/format.h>

#include "formats/stack_depth.h"

namespace tally::cpuprofile {

std::string id_text(const JsonValue &value) {
  if (const auto number = value.integer())
    return fmt::format("{}", *number);
  return std::string(value.text().value_or(""));
}

TraceFrames::TraceFrames(const JsonValue &frames, StackProfileBuilder &builder)
    : builder_(builder) {
  for (JsonValue key = frames.first(); !key.is_absent();) {
    const JsonValue frame = key.next();
    frames_.emplace(id_text(key), frame);
    key = frame.next();
  }
}

Result<StackId> TraceFrames::stack_of(const JsonValue &id) {
  std::vector<std::pair<std::string, JsonValue>> callees; // the innermost first
  StackId stack = none<StackId>;
  for (JsonValue next = id; !next.is_null(); next = callees.back().second["parent"]) {
    const std::string text = id_text(next);
    if (const auto known = stacks_.find(text); known != stacks_.end()) {
      stack = known->second;
      break;
    }
    const auto frame = frames_.find(text);
    if (frame == frames_.end())
      return next.error("stackFrames has no frame of this id");
    if (!frame->second.is_object())
      return frame->second.error("expected a frame");
    if (callees.size() == most_frames)
      return next.error(too_deep(), ErrorCode::limit);
    callees.emplace_back(text, frame->second);
  }
  for (auto callee = callees.rbegin(); callee != callees.rend(); ++callee) {
    const auto &[text, frame] = *callee;
    const auto name = frame["name"].text().value_or("");
    const StringId shown = builder_.intern(name.empty() ? "(unnamed)" : name);
    const SourceLine at{builder_.add_function({shown, {}, {}, {}, 0}), {}, 0};
    stack = builder_.push(stack, builder_.add_location(none<MappingId>, 0, std::span(&at, 1)));
    stacks_.emplace(text, stack);
  }
  return stack;
}

} // namespace tally::cpuprofile
