#include "transform/stack_filter.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/pattern.h"
#include "transform/stack_copier.h"

namespace tally {

namespace {

enum PatternBit : uint8_t { focus_bit = 1, ignore_bit = 2, hide_bit = 4, fold_bit = 8 };
using PatternBits = uint8_t; // the patterns that match

struct NamedPattern {
  PatternBit bit;
  std::string_view option;
  const std::string &text;
};
std::array<NamedPattern, 4> patterns_of(const SampleFilter &wanted) {
  return {{{focus_bit, "--focus", wanted.focus},
           {ignore_bit, "--ignore", wanted.ignore},
           {hide_bit, "--hide", wanted.hide},
           {fold_bit, "--fold", wanted.fold}}};
}

// Finds out which patterns match the names of a profile. Searches each name at most once.
class FrameMatcher {
public:
  static Result<FrameMatcher> of(const StackProfile &profile, const SampleFilter &wanted) {
    FrameMatcher out;
    for (const NamedPattern &each : patterns_of(wanted)) {
      if (each.text.empty())
        continue;
      TALLY_TRY(pattern, Pattern::compile(each.text, each.option));
      out.patterns_.push_back({each.bit, each.option, std::move(pattern)});
    }
    out.known_.resize(profile.strings.size());
    for (const SourceFunction &function : profile.functions()) {
      PatternBits bits = 0;
      for (const StringId name : {function.name, function.file, function.object}) {
        TALLY_TRY(found, out.bits_of(profile, name));
        bits |= found;
      }
      out.functions_.push_back(bits);
    }
    for (const Mapping &mapping : profile.mappings()) {
      TALLY_TRY(found, out.bits_of(profile, mapping.path));
      out.mappings_.push_back(found);
    }
    return out;
  }

  // A location without lines is one frame without a function.
  PatternBits of(const Location &location, size_t line) const {
    const PatternBits object = location.mapping == none<MappingId>
                                   ? PatternBits{0}
                                   : mappings_[index_of(location.mapping)];
    return location.lines.empty() ? object
                                  : object | functions_[index_of(location.lines[line].function)];
  }

private:
  struct Compiled {
    PatternBit bit;
    std::string_view option;
    Pattern pattern;
  };

  Result<PatternBits> bits_of(const StackProfile &profile, StringId name) {
    std::optional<PatternBits> &known = known_[index_of(name)];
    if (known)
      return *known;
    PatternBits bits = 0;
    const std::string_view text = profile.strings[name];
    for (const Compiled &each : patterns_) {
      const auto found = each.pattern.is_in_name(text); // a path has no return type
      if (!found)
        return fail(
            found.error().code,
            fmt::format("cannot search for the pattern in '{}': {}", text, found.error().message),
            std::string(each.option));
      if (*found)
        bits |= each.bit;
    }
    known = bits;
    return bits;
  }

  std::vector<Compiled> patterns_;
  std::vector<std::optional<PatternBits>> known_; // by StringId
  std::vector<PatternBits> functions_, mappings_; // by their ids
};

// Copies stacks without the frames that are hidden or folded away.
//
// What remains of a location depends on its caller: the outermost of its lines is folded away if
// the caller's frame is one that matches, too. So a location has up to two forms.
class FrameCutter {
public:
  FrameCutter(const StackProfile &from, const FrameMatcher &matcher, bool no_inlines,
              StackProfileBuilder &to)
      : from_(from), matcher_(matcher), no_inlines_(no_inlines), to_(to), copy_(from, to) {}

  // Copies the stacks in `needed`, which has each stack's callers, too.
  void cut(const std::vector<bool> &needed) {
    const uint32_t count = from_.stack_count();
    std::vector<bool> folds(count); // the innermost remaining frame matches --fold
    forms_.resize(from_.location_count() * size_t{2});
    const auto each_needed = [&](auto take) { // callers precede their callees
      for (uint32_t i = 0; i < count; ++i)
        if (needed[i])
          take(i, from_.stack_caller(static_cast<StackId>(i)),
               from_.stack_location(static_cast<StackId>(i)));
    };
    each_needed([&](uint32_t i, StackId caller, LocationId at) {
      const bool in_fold = caller != none<StackId> && folds[index_of(caller)];
      Form &form = form_of(at, in_fold);
      if (!form.is_known)
        find_lines(form, from_.location(at), in_fold);
      folds[i] = form.folds;
    });
    copies_.assign(count, none<StackId>);
    each_needed([&](uint32_t i, StackId caller, LocationId at) {
      const bool in_fold = caller != none<StackId> && folds[index_of(caller)];
      const StackId below = caller == none<StackId> ? caller : copies_[index_of(caller)];
      const LocationId location = location_of(at, in_fold);
      copies_[i] = location == none<LocationId> ? below : to_.push(below, location);
    });
  }

  // Returns none for a stack without any frame that remains.
  StackId stack(StackId id) const { return copies_[index_of(id)]; }
  StackCopier &copier() { return copy_; }

private:
  struct Form {
    bool is_known = false, is_made = false;
    bool folds = false;            // the innermost remaining frame, or that before, matches --fold
    bool is_whole = false;         // no line was removed
    std::vector<uint32_t> lines{}; // the indexes of those that remain, innermost first
    LocationId made = none<LocationId>;
  };

  Form &form_of(LocationId at, bool in_fold) {
    return forms_[index_of(at) * size_t{2} + (in_fold ? 1 : 0)];
  }

  void find_lines(Form &form, const Location &at, bool in_fold) const {
    form.is_known = true;
    form.folds = in_fold;
    const auto count = static_cast<uint32_t>(std::max<size_t>(1, at.lines.size()));
    for (uint32_t line = count; line-- > (no_inlines_ ? count - 1 : 0);) {
      const PatternBits bits = matcher_.of(at, line);
      if (bits & hide_bit)
        continue;
      const bool is_outermost = !(bits & fold_bit) || !form.folds;
      form.folds = bits & fold_bit;
      if (is_outermost)
        form.lines.push_back(line);
    }
    std::ranges::reverse(form.lines);
    form.is_whole = form.lines.size() == count;
  }

  LocationId location_of(LocationId at, bool in_fold) {
    Form &form = form_of(at, in_fold), &other = form_of(at, !in_fold);
    if (std::exchange(form.is_made, true))
      return form.made;
    if (other.is_made && other.lines == form.lines)
      return form.made = other.made;
    if (form.lines.empty())
      return form.made;
    const Location from = from_.location(at);
    // Only one form can have the place in the mapping, because that identifies a location.
    const bool has_place = !(other.is_made && other.made != none<LocationId>);
    if (form.is_whole && has_place)
      return form.made = copy_.location(at);
    lines_.clear();
    for (const uint32_t line : from.lines.empty() ? std::vector<uint32_t>() : form.lines)
      lines_.push_back({copy_.function(from.lines[line].function),
                        copy_.text(from.lines[line].file), from.lines[line].line});
    const MappingId mapping = has_place ? copy_.mapping(from.mapping) : none<MappingId>;
    return form.made = to_.add_location(mapping, from.address, lines_);
  }

  const StackProfile &from_;
  const FrameMatcher &matcher_;
  bool no_inlines_;
  StackProfileBuilder &to_;
  StackCopier copy_;
  std::vector<Form> forms_;       // of each location: outside of a fold, and inside
  std::vector<StackId> copies_;   // by their ids in from_
  std::vector<SourceLine> lines_; // scratch space
};

// Returns the patterns that match any frame of each stack.
std::vector<PatternBits> bits_on_stacks(const StackProfile &profile, const FrameMatcher &matcher) {
  std::vector<PatternBits> of_locations;
  for (uint32_t i = 0; i < profile.location_count(); ++i) {
    const Location at = profile.location(static_cast<LocationId>(i));
    PatternBits bits = matcher.of(at, 0);
    for (size_t line = 1; line < at.lines.size(); ++line)
      bits |= matcher.of(at, line);
    of_locations.push_back(bits);
  }
  std::vector<PatternBits> out;
  for (uint32_t i = 0; i < profile.stack_count(); ++i) { // callers precede their callees
    const auto stack = static_cast<StackId>(i);
    const StackId caller = profile.stack_caller(stack);
    out.push_back(of_locations[index_of(profile.stack_location(stack))] |
                  (caller == none<StackId> ? PatternBits{0} : out[index_of(caller)]));
  }
  return out;
}

tl::unexpected<Error> no_samples(std::string_view option, std::string_view why,
                                 const std::string &pattern) {
  return fail(ErrorCode::no_data, fmt::format("{} '{}'", why, pattern), std::string(option));
}

// Returns the rows that --focus and --ignore select.
Result<std::vector<size_t>> rows_on_stacks(const StackProfile &profile, const FrameMatcher &matcher,
                                           const SampleFilter &wanted) {
  const std::vector<PatternBits> bits = bits_on_stacks(profile, matcher);
  bool any_in_focus = false;
  std::vector<size_t> rows;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const StackId stack = profile.sample(row).stack;
    const PatternBits found = stack == none<StackId> ? PatternBits{0} : bits[index_of(stack)];
    if (!wanted.focus.empty() && !(found & focus_bit))
      continue;
    any_in_focus = true;
    if (!(found & ignore_bit))
      rows.push_back(row);
  }
  if (!any_in_focus && !wanted.focus.empty())
    return no_samples("--focus", "no sample has a frame that matches", wanted.focus);
  if (rows.empty() && profile.sample_count() > 0)
    return no_samples("--ignore", "every sample has a frame that matches", wanted.ignore);
  return rows;
}

} // namespace

Result<StackProfile> filter_frames(const StackProfile &profile, const SampleFilter &wanted) {
  TALLY_TRY(matcher, FrameMatcher::of(profile, wanted));
  TALLY_TRY(rows, rows_on_stacks(profile, matcher, wanted));
  std::vector<bool> needed(profile.stack_count());
  for (const size_t row : rows)
    if (const StackId stack = profile.sample(row).stack; stack != none<StackId>)
      needed[index_of(stack)] = true;
  for (uint32_t i = profile.stack_count(); i-- > 0;)
    if (const StackId caller = profile.stack_caller(static_cast<StackId>(i));
        needed[i] && caller != none<StackId>)
      needed[index_of(caller)] = true;

  StackProfileBuilder out = builder_like(profile);
  FrameCutter cutter(profile, matcher, wanted.no_inlines, out);
  cutter.cut(needed);
  StackCopier &copy = cutter.copier();
  std::erase_if(rows, [&](size_t row) {
    const StackId stack = profile.sample(row).stack;
    return stack != none<StackId> && cutter.stack(stack) == none<StackId>;
  });
  if (rows.empty() && profile.sample_count() > 0)
    return no_samples("--hide", "every frame of the samples matches", wanted.hide);
  copy_rows(
      profile, rows, profile.times(), copy, out,
      [&](const Sample &sample) {
        return sample.stack == none<StackId> ? sample.stack : cutter.stack(sample.stack);
      },
      [&](size_t row) { return profile.sample(row).values; });
  for (const Pass &pass : profile.passes)
    out.add_pass(copy.pass(pass));
  return out.finish();
}

tl::unexpected<Error> needs_stacks(std::string_view option) {
  return fail(ErrorCode::unsupported,
              "needs stacks, but the profile holds costs of functions and of calls, which do not "
              "tell the costs of one stack from those of another",
              std::string(option));
}

Result<CostProfile> filter_frames(const CostProfile &, const SampleFilter &wanted) {
  for (const NamedPattern &each : patterns_of(wanted))
    if (!each.text.empty())
      return needs_stacks(each.option);
  if (wanted.no_inlines)
    return fail(ErrorCode::unsupported,
                "needs stacks: the profile holds costs of functions, and does not tell which of "
                "them are inlined",
                "--no-inlines");
  return fail(ErrorCode::internal, "there is no pattern");
}

} // namespace tally
