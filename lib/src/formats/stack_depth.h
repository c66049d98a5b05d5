// How deep stacks may be, and how many frames are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "support/result.h"

namespace tally {

// Where stacks share their outer frames, a frame costs a few bytes of the file, however many stacks
// contain it. In formats that list the frames of each stack, it costs its name in each. Without a
// limit, a small file of one format would become a file of another that fills any memory.
inline constexpr size_t most_frames = 65'536;
inline std::string too_deep() {
  return fmt::format("a stack has more than {} frames", most_frames);
}

// The same holds for many stacks of this depth: a format that lists the frames of each stack is
// written with at most this number.
inline constexpr uint64_t most_written_frames = uint64_t{1} << 29;
inline Result<void> check_written_frames(uint64_t frames) {
  if (frames > most_written_frames)
    return fail(ErrorCode::limit,
                fmt::format("the stacks have {} frames, which this format lists for each stack: at "
                            "most {} are written; --focus or --event selects fewer stacks",
                            frames, most_written_frames));
  return {};
}

} // namespace tally
