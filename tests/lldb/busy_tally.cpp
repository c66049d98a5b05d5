// A libtally whose `profile dump` works until it is interrupted.
#include <cstring>

#include <dlfcn.h>
#include <unistd.h>

#include <tally.h>

namespace {

char busy; // its address stands for a reply
const auto *const busy_reply = reinterpret_cast<const tally_reply *>(&busy);

template <class Function> Function *real(Function *, const char *name) {
  return reinterpret_cast<Function *>(::dlsym(RTLD_NEXT, name));
}

} // namespace

#define REAL(function, ...) real(&(function), #function)(__VA_ARGS__)

tally_error *tally_session_run(tally_session *session, const char *group, const char *line,
                               tally_reply **reply) {
  if (std::strncmp(line, "dump", 4) != 0 || tally_abi() == 0) // never 0; links libtally
    return REAL(tally_session_run, session, group, line, reply);
  *reply = const_cast<tally_reply *>(busy_reply);
  return nullptr;
}

tally_error *tally_session_answer(tally_session *session, const char *const *answers, size_t count,
                                  tally_reply **reply) {
  if (count > 0) // answers to progress requests have no text, and only busy_reply requests them
    return REAL(tally_session_answer, session, answers, count, reply);
  ::usleep(50'000);
  *reply = const_cast<tally_reply *>(busy_reply);
  return nullptr;
}

int tally_reply_request(const tally_reply *reply) {
  return reply == busy_reply ? static_cast<int>(TALLY_REQUEST_PROGRESS)
                             : REAL(tally_reply_request, reply);
}

const char *tally_reply_progress(const tally_reply *reply) {
  return reply == busy_reply ? "busy on purpose" : REAL(tally_reply_progress, reply);
}

const char *tally_reply_text(const tally_reply *reply) {
  return reply == busy_reply ? "" : REAL(tally_reply_text, reply);
}

const char *tally_reply_word(const tally_reply *reply, size_t index) {
  return reply == busy_reply ? "" : REAL(tally_reply_word, reply, index);
}

const uint64_t *tally_reply_addresses(const tally_reply *reply, size_t *count) {
  *count = 0;
  return reply == busy_reply ? nullptr : REAL(tally_reply_addresses, reply, count);
}

const int32_t *tally_reply_signals(const tally_reply *reply, size_t *count) {
  *count = 0;
  return reply == busy_reply ? nullptr : REAL(tally_reply_signals, reply, count);
}

void tally_reply_free(tally_reply *reply) {
  if (reply != busy_reply)
    REAL(tally_reply_free, reply);
}
