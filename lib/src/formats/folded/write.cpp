#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/folded/counts.h"
#include "formats/folded/folded.h"
#include "support/checked.h"
#include "support/hash.h"
#include "support/id_table.h"
#include "support/utf16.h"
#include "transform/owner_roots.h"

namespace tally::folded {

namespace {

// Returns the name with everything replaced that a reader would misread: ';' separates frames, a
// line break ends the stack, '#' begins a comment, blanks precede the count, and readers could take
// the first bytes of the file for those of a packed file or for a byte order mark.
std::string frame_name(std::string_view name) {
  std::string out(name);
  for (char &c : out) {
    if (c == ';')
      c = ':';
    else if (c == '\n' || c == '\r')
      c = ' ';
  }
  out.erase(out.find_last_not_of(" \t") + 1);
  if (out.starts_with('#') || out.starts_with("\x1f\x8b") || out.starts_with("\x28\xb5\x2f\xfd") ||
      out.starts_with("\xEF\xBB\xBF") || begins_utf16(out))
    out.insert(0, " ");
  return out.empty() ? "[unknown]" : out;
}

// The counts that a line has after its stack.
struct Values {
  Unit unit = units[0];
  size_t count = 1;  // 2 in the differential form
  bool named = true; // readers give the values the names that they have in the profile

  static Values of(const StackProfile &profile) {
    const std::optional<std::string> differing = differing_event(profile);
    const size_t count = differing ? 2 : 1;
    const std::string_view event =
        differing ? *differing : profile.strings[profile.value_types().front().type];
    for (const Unit &unit : units)
      if (event == ticks_name(unit))
        return {unit, count, true};
    return {units[0], count, false};
  }

  std::string text(int64_t value) const {
    const int64_t one = powers_of_ten[unit.decimals];
    std::string out = std::to_string(value / one);
    if (value % one == 0)
      return out;
    const std::string fraction = std::to_string(one + value % one).substr(1);
    return out + "." + fraction.substr(0, fraction.find_last_not_of('0') + 1);
  }
};

// Each line has all frames of its stack, so that a file of deep stacks that share their outer
// frames would become far larger here. While it is written, memory holds it twice.
constexpr uint64_t most_bytes_written = uint64_t{1} << 31;

using Counts = std::array<int64_t, 2>;
using Sums = std::vector<std::pair<std::string, Counts>>; // sorted, for reproducible output

std::string text_of(const Sums &sums, const Values &values) {
  std::string out;
  for (const auto &[stack, counts] : sums) {
    out += stack;
    for (size_t i = 0; i < values.count; ++i)
      out += ' ' + values.text(counts[i]);
    out += '\n';
  }
  return out;
}

// The stacks by their texts: those with the same names are one. The length of a text is known
// before it is built.
class StackTexts {
public:
  // `names` must outlive it.
  StackTexts(const StackProfile &profile, const std::vector<std::string> &names) {
    for (const std::string &name : names)
      names_.push_back(number_of(name));
    unknown_ = push(none<uint32_t>, number_of("[unknown]"));
    for (uint32_t i = 0; i < profile.stack_count(); ++i) { // callers precede their callees
      const auto stack = static_cast<StackId>(i);
      const StackId caller = profile.stack_caller(stack);
      uint32_t at = caller == none<StackId> ? none<uint32_t> : of_stack_[index_of(caller)];
      const auto lines = profile.location(profile.stack_location(stack)).lines;
      for (size_t line = lines.size(); line-- > 0;)
        at = push(at, names_[index_of(lines[line].function)]);
      of_stack_.push_back(at);
    }
  }

  uint32_t of(StackId stack) const {
    const uint32_t node = stack == none<StackId> ? none<uint32_t> : of_stack_[index_of(stack)];
    return node == none<uint32_t> ? unknown_ : node;
  }
  size_t size() const { return nodes_.size(); }
  uint64_t bytes(uint32_t node) const { return nodes_[node].bytes; }
  std::string text(uint32_t node) const {
    std::string out(nodes_[node].bytes, ';');
    for (; node != none<uint32_t>; node = nodes_[node].caller) {
      const std::string_view name = texts_[nodes_[node].name];
      name.copy(out.data() + nodes_[node].bytes - name.size(), name.size());
    }
    return out;
  }

private:
  struct Node {
    uint32_t caller = none<uint32_t>;
    uint32_t name = 0;
    uint64_t bytes = 0; // of the text
  };

  uint32_t number_of(std::string_view name) {
    const auto [at, added] = numbers_.try_emplace(name, static_cast<uint32_t>(texts_.size()));
    if (added)
      texts_.push_back(name);
    return at->second;
  }
  uint32_t push(uint32_t caller, uint32_t name) {
    const auto hash = [](uint32_t of_caller, uint32_t of_name) {
      return mix((uint64_t{of_caller} << 32) | of_name);
    };
    const auto [node, added] = ids_.find_or_add(
        hash(caller, name), static_cast<uint32_t>(nodes_.size()),
        [&](uint32_t id) { return nodes_[id].caller == caller && nodes_[id].name == name; },
        [&](uint32_t id) { return hash(nodes_[id].caller, nodes_[id].name); });
    if (added)
      nodes_.push_back(
          {caller, name,
           (caller == none<uint32_t> ? 0 : nodes_[caller].bytes + 1) + texts_[name].size()});
    return node;
  }

  SeededMap<std::string_view, uint32_t> numbers_;
  std::vector<std::string_view> texts_; // of names
  std::vector<uint32_t> names_;         // by SourceFunctionId
  IdTable ids_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> of_stack_; // by StackId; none for a stack without functions
  uint32_t unknown_ = 0;
};

Result<Sums> sums_of(const StackProfile &profile, const std::vector<std::string> &names,
                     const Values &values, uint64_t most_bytes) {
  const StackTexts texts(profile, names);
  std::vector<Counts> counts(texts.size());
  std::vector<bool> is_used(texts.size());
  uint64_t bytes = 0; // of all stacks
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    const uint32_t node = texts.of(sample.stack);
    if (!is_used[node] && (bytes += texts.bytes(node)) > most_bytes)
      return fail(ErrorCode::limit,
                  fmt::format("the stacks have more than {} bytes as text, because each line has "
                              "all frames of its stack; --focus selects fewer, and other formats "
                              "hold them in less",
                              most_bytes));
    is_used[node] = true;
    for (size_t i = 0; i < values.count; ++i) {
      if (sample.values[i] < 0)
        return fail(ErrorCode::invalid_input, "a sample has a negative value");
      if (!checked_add(counts[node][i], sample.values[i]))
        return fail(ErrorCode::overflow, "the sum of the counts of a stack exceeds 63 bits");
    }
  }
  Sums out;
  for (uint32_t node = 0; node < texts.size(); ++node)
    if (is_used[node])
      out.emplace_back(texts.text(node), counts[node]);
  std::ranges::sort(out);
  return out;
}

Result<Written> write_stacks(const StackProfile &profile, uint64_t most_bytes) {
  Written out;
  bool changed = false;
  std::vector<std::string> names;
  if (profile.value_types().empty())
    return fail(ErrorCode::no_data, "the profile counts nothing");
  const Values values = Values::of(profile);
  for (const SourceFunction &function : profile.functions()) {
    const std::string_view name = profile.strings[function.name];
    names.push_back(frame_name(name));
    changed |= !name.empty() && names.back() != name;
  }
  TALLY_TRY(sums, sums_of(profile, names, values, most_bytes));
  out.bytes = text_of(sums, values);
  // If all names end in a number, a reader would take that number for the first of two counts.
  if (values.count == 1 && form_of(form_head(out.bytes)) == Form::two_counts) {
    for (std::string &name : names)
      if (const size_t blank = name.find_last_of(" \t"); blank != name.npos)
        name[blank] = '_';
    TALLY_TRY(again, sums_of(profile, names, values, most_bytes));
    out.bytes = text_of(again, values);
    changed = true;
  }
  if (!values.named)
    out.lost.push_back(fmt::format("the name of the event, {} (readers take the counts for ticks)",
                                   profile.strings[profile.value_types()[0].type]));
  if (profile.has_places())
    out.lost.push_back("addresses, files and lines");
  if (profile.threads().size() > 1)
    out.lost.push_back("the thread of each sample");
  if (profile.parts().size() > 1)
    out.lost.push_back("the parts (their sum is written)");
  if (profile.value_types().size() > values.count)
    out.lost.push_back("all values but the first");
  if (changed)
    out.lost.push_back(
        "names with ';', line breaks, a leading '#', trailing blanks or numbers (changed)");
  return out;
}

} // namespace

Result<Written> write_at_most(uint64_t most_bytes, const StackProfile &profile) {
  if (!has_named_processes(profile))
    return write_stacks(profile, most_bytes);
  TALLY_TRY(rooted, under_owners(profile, SampleOwner::process));
  return write_stacks(rooted, most_bytes);
}

Result<Written> write(const StackProfile &profile, const WriteOptions &) {
  return write_at_most(most_bytes_written, profile);
}

} // namespace tally::folded
