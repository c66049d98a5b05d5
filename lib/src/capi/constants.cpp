// Compares the constants and structures of tally.h with their counterparts in C++.
#include <tally.h>

#include <cstddef>
#include <cstdint>

#include "session/session.h"

namespace tally {

// The constants must equal those of the library, because they are converted by casts. A test checks
// that each enumerator of tally.h is listed here.
static_assert(TALLY_ERROR_INVALID_ARGUMENT == int(ErrorCode::invalid_argument) &&
              TALLY_ERROR_INVALID_INPUT == int(ErrorCode::invalid_input) &&
              TALLY_ERROR_UNSUPPORTED == int(ErrorCode::unsupported) &&
              TALLY_ERROR_NOT_FOUND == int(ErrorCode::not_found) &&
              TALLY_ERROR_IO == int(ErrorCode::io) &&
              TALLY_ERROR_PERMISSION == int(ErrorCode::permission) &&
              TALLY_ERROR_LIMIT == int(ErrorCode::limit) &&
              TALLY_ERROR_BAD_STATE == int(ErrorCode::bad_state) &&
              TALLY_ERROR_NO_DATA == int(ErrorCode::no_data) &&
              TALLY_ERROR_OVERFLOW == int(ErrorCode::overflow) &&
              TALLY_ERROR_CANCELLED == int(ErrorCode::cancelled) &&
              TALLY_ERROR_INTERNAL == int(ErrorCode::internal));
static_assert(TALLY_TARGET_NONE == int(TargetKind::none) &&
              TALLY_TARGET_NATIVE == int(TargetKind::native) &&
              TALLY_TARGET_REMOTE == int(TargetKind::remote) &&
              TALLY_TARGET_CORE == int(TargetKind::core));
static_assert(TALLY_EVENT_TARGET == int(EventKind::target) &&
              TALLY_EVENT_RESUMED == int(EventKind::resumed) &&
              TALLY_EVENT_BREAKPOINT == int(EventKind::breakpoint) &&
              TALLY_EVENT_WATCHPOINT == int(EventKind::watchpoint) &&
              TALLY_EVENT_CATCHPOINT == int(EventKind::catchpoint) &&
              TALLY_EVENT_SIGNAL == int(EventKind::signal) &&
              TALLY_EVENT_STEP == int(EventKind::step) &&
              TALLY_EVENT_OTHER == int(EventKind::other) &&
              TALLY_EVENT_EXITED == int(EventKind::exited) &&
              TALLY_EVENT_SIGNALLED == int(EventKind::signalled) &&
              TALLY_EVENT_KILLED == int(EventKind::killed) &&
              TALLY_EVENT_DETACHED == int(EventKind::detached));
static_assert(TALLY_HIT_FIRST == int(RegionHit::Kind::first) &&
              TALLY_HIT_SECOND == int(RegionHit::Kind::second) &&
              TALLY_HIT_RETURNED == int(RegionHit::Kind::returned) &&
              TALLY_HIT_CAUGHT == int(RegionHit::Kind::caught) &&
              TALLY_HIT_JUMPED == int(RegionHit::Kind::jumped) &&
              TALLY_HIT_MEASURED == int(RegionHit::Kind::measured));
static_assert(TALLY_TICK_OURS == int(InterruptClock::Stop::ours) &&
              TALLY_TICK_STALE == int(InterruptClock::Stop::stale) &&
              TALLY_TICK_THEIRS == int(InterruptClock::Stop::theirs));

static_assert(TALLY_HIT_LOOK == Session::look && TALLY_HIT_NOBODY == Session::nobody);
static_assert(TALLY_TICK_GIVEN_UP == InterruptClock::given_up);

// No structure ends with padding. Otherwise an appended field could lie in the padding of an older
// caller, whose size would then cover bytes that the caller never set.
template <class T, class Last> consteval bool ends_with(Last T::*, size_t offset) {
  return offset + sizeof(Last) == sizeof(T);
}
static_assert(ends_with(&tally_event::reserved, offsetof(tally_event, reserved)));
static_assert(ends_with(&tally_hit::reserved, offsetof(tally_hit, reserved)));
static_assert(ends_with(&tally_location::address, offsetof(tally_location, address)));
static_assert(ends_with(&tally_stack::name, offsetof(tally_stack, name)));
static_assert(ends_with(&tally_display::metadata, offsetof(tally_display, metadata)));
static_assert(ends_with(&tally_read_options::memory_limit,
                        offsetof(tally_read_options, memory_limit)));
static_assert(ends_with(&tally_report_options::to, offsetof(tally_report_options, to)));
static_assert(ends_with(&tally_write_options::time, offsetof(tally_write_options, time)));

} // namespace tally
