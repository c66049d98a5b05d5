#pragma once

#include <string>
#include <utility>

#include "formats/formats.h"

namespace tally {

// Returns a reader's result: the finished profile. An error gets the name of the file.
inline Result<Profile> finished(Result<StackProfile> profile, const std::string &source) {
  if (profile)
    return Profile(std::move(*profile));
  profile.error().source = source;
  return fail(std::move(profile.error()));
}

} // namespace tally
