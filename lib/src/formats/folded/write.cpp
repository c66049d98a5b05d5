#include <algorithm>
#include <map>

#include "formats/folded/folded.h"
#include "support/checked.h"

namespace tally::folded {

namespace {

// ';' parts frames, a line break ends the stack, '#' begins a comment, blanks stand before the
// count, and two magic numbers say that a file is packed: where a name holds what would be read as
// these, it becomes something else.
std::string frame_name(std::string_view name) {
  std::string out(name);
  for (char &c : out) {
    if (c == ';')
      c = ':';
    else if (c == '\n' || c == '\r')
      c = ' ';
  }
  out.erase(out.find_last_not_of(" \t") + 1);
  if (out.starts_with('#') || out.starts_with("\x1f\x8b") || out.starts_with("\x28\xb5\x2f\xfd"))
    out.insert(0, " ");
  return out.empty() ? "[unknown]" : out;
}

} // namespace

Result<Written> write(const StackProfile &profile, const WriteOptions &) {
  Written out;
  bool changed = false;
  std::vector<std::string> names;
  if (profile.value_types().empty())
    return fail(ErrorCode::no_data, "the profile counts nothing");
  for (const SourceFunction &function : profile.functions()) {
    const std::string_view name = profile.strings[function.name];
    names.push_back(frame_name(name));
    changed |= !name.empty() && names.back() != name;
  }

  std::map<std::string, int64_t> counts; // sorted: the same profile gives the same bytes
  std::vector<std::string_view> frames;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    frames.clear();
    for (StackId at = sample.stack; at != none<StackId>; at = profile.stack_caller(at))
      for (const SourceLine &line : profile.location(profile.stack_location(at)).lines)
        frames.push_back(names[index_of(line.function)]);
    std::string stack;
    for (size_t i = frames.size(); i-- > 0;) {
      if (!stack.empty())
        stack += ';';
      stack += frames[i];
    }
    if (stack.empty())
      stack = "[unknown]";
    if (sample.values.front() < 0)
      return fail(ErrorCode::invalid_input, "a sample has a negative value");
    if (!checked_add(counts[stack], sample.values.front()))
      return fail(ErrorCode::overflow, "the counts of a stack add up to more than 64 bits hold");
  }
  for (const auto &[stack, count] : counts) {
    out.bytes += stack;
    out.bytes += ' ';
    out.bytes += std::to_string(count);
    out.bytes += '\n';
  }
  out.lost.push_back("addresses, files and lines");
  if (profile.threads().size() > 1)
    out.lost.push_back("which thread a sample was taken in");
  if (profile.parts().size() > 1)
    out.lost.push_back("the parts (their sum is written)");
  if (profile.value_types().size() > 1)
    out.lost.push_back("all values but the first");
  if (changed)
    out.lost.push_back("names with ';', line breaks, a leading '#' or trailing blanks (changed)");
  return out;
}

} // namespace tally::folded
