#include "transform/split_functions.h"

#include "transform/stack_copier.h"

namespace tally {

namespace {

// Copies stacks without the frames that only call a piece of their own function.
class PieceJoiner {
public:
  PieceJoiner(const StackProfile &from, const std::vector<bool> &pieces, StackProfileBuilder &to)
      : from_(from), pieces_(pieces), to_(to), copy_(from, to) {
    for (uint32_t i = 0; i < from.stack_count(); ++i) { // callers precede their callees
      const auto stack = static_cast<StackId>(i);
      const StackId caller = from.stack_caller(stack);
      callers_.push_back(caller == none<StackId> ? caller
                         : is_joined(stack)      ? without_innermost(caller)
                                                 : copies_[index_of(caller)]);
      copies_.push_back(to.push(callers_.back(), copy_.location(from.stack_location(stack))));
    }
  }
  std::span<const StackId> stacks() const { return copies_; } // by their ids in the old profile
  StackCopier &copier() { return copy_; }

private:
  bool is_piece(StackId stack) const { return pieces_[index_of(from_.stack_location(stack))]; }

  // A piece never calls itself but by the rest of its function, which is inlined into it then. So
  // if the innermost frame of the caller is the piece itself, the call is a recursive one.
  bool is_joined(StackId stack) const {
    const StackId caller = from_.stack_caller(stack);
    return is_piece(stack) && repeats_function(from_, stack) &&
           (!is_piece(caller) || from_.location(from_.stack_location(caller)).lines.size() > 1);
  }

  // Returns the copy of a stack without its innermost frame.
  StackId without_innermost(StackId stack) {
    const Location at = from_.location(from_.stack_location(stack));
    const StackId below = callers_[index_of(stack)];
    if (at.lines.size() == 1)
      return below;
    std::vector<SourceLine> lines;
    for (const SourceLine &line : at.lines.subspan(1))
      lines.push_back({copy_.function(line.function), copy_.text(line.file), line.line});
    // The place in the mapping identifies the location that has all lines.
    return to_.push(below, to_.add_location(none<MappingId>, at.address, lines));
  }

  const StackProfile &from_;
  const std::vector<bool> &pieces_;
  StackProfileBuilder &to_;
  StackCopier copy_;
  std::vector<StackId> callers_, copies_; // by the stacks' ids in from_
};

} // namespace

bool repeats_function(const StackProfile &profile, StackId stack) {
  const StackId caller = profile.stack_caller(stack);
  if (caller == none<StackId>)
    return false;
  const auto outer = profile.location(profile.stack_location(stack)).lines;
  const auto inner = profile.location(profile.stack_location(caller)).lines;
  return !outer.empty() && !inner.empty() && outer.back().function == inner.front().function;
}

Result<StackProfile> join_split_functions(const StackProfile &profile,
                                          const std::vector<bool> &pieces) {
  StackProfileBuilder out = builder_like(profile);
  PieceJoiner joiner(profile, pieces, out);
  const std::vector<uint32_t> rows = copy_all_rows(profile, joiner.stacks(), joiner.copier(), out);
  for (SampleTime time : profile.times()) {
    time.row = rows[time.row];
    out.add_time(time);
  }
  out.set_times_from_ns(profile.times_from_ns);
  for (const Pass &pass : profile.passes)
    out.add_pass(joiner.copier().pass(pass));
  TALLY_TRY(joined, out.finish());
  joined.kept_files = profile.kept_files;
  return joined;
}

} // namespace tally
