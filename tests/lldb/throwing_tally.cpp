// libtally with a defect: its commands throw, which tally.h says nothing there does.
#include <stdexcept>

#include <tally.h>

tally_error *tally_session_command(tally_session *, const char *, tally_reply **) {
  throw std::runtime_error("thrown on purpose");
}
