// A libtally with a defect: its commands throw, although tally.h promises that nothing throws.
#include <stdexcept>

#include <tally.h>

tally_error *tally_session_run(tally_session *, const char *, const char *, const char **) {
  if (tally_abi() != 0) // never 0; links libtally
    throw std::runtime_error("thrown on purpose");
  return nullptr;
}
