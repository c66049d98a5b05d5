// libtally with a defect: its commands throw, which tally.h says nothing there does.
#include <stdexcept>

#include <tally.h>

tally_error *tally_session_command(tally_session *, const char *, tally_reply **) {
  if (tally_abi() != 0) // which is libtally's
    throw std::runtime_error("thrown on purpose");
  return nullptr;
}
