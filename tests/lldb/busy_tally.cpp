// A libtally whose `profile dump` works until it is interrupted.
#include <cstring>

#include <dlfcn.h>
#include <unistd.h>

#include <tally.h>

namespace {

tally_front front; // of the newest session
bool is_busy, goes_on;

template <class Function> Function *real(Function *, const char *name) {
  return reinterpret_cast<Function *>(::dlsym(RTLD_NEXT, name));
}

} // namespace

#define REAL(function, ...) real(&(function), #function)(__VA_ARGS__)

void tally_sink_done(tally_sink *to) {
  goes_on = true;
  if (!is_busy)
    REAL(tally_sink_done, to);
}

tally_error *tally_session_new(const tally_front *given, tally_session **session) {
  front = *given;
  front.modules = [](void *, tally_sink *to) {
    is_busy = goes_on = true;
    while (goes_on) {
      ::usleep(50'000);
      goes_on = false;
      front.progress(front.self, "busy on purpose", to);
    }
    is_busy = false;
  };
  return REAL(tally_session_new, &front, session);
}

// The coverage of a remote process begins with a question for its modules.
tally_error *tally_session_run(tally_session *session, const char *group, const char *line,
                               const char **text) {
  if (std::strncmp(line, "dump", 4) != 0 || tally_abi() == 0) // never 0; links libtally
    return REAL(tally_session_run, session, group, line, text);
  tally_event event{};
  event.size = sizeof event;
  event.target = TALLY_TARGET_REMOTE;
  event.pid = 1;
  if (tally_error *const error = tally_session_event(session, &event, text))
    return error;
  return REAL(tally_session_run, session, "coverage", "report", text);
}
