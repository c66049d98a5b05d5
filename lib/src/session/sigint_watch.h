// Ctrl-C in a debugger that interrupts a remote process regularly.
//
// The debugger's own way is the one that we use, too: it sends an interrupt. A Ctrl-C that comes
// while ours is on its way looks like impatience ("not responding, stop debugging it?"), and one
// that comes while the process is held is sent to a target that does not run, and lost. So the
// first Ctrl-C is taken here, and whoever interrupts puts it in its place; the next one goes to
// whoever handled the signal before.
#pragma once

namespace tally {

// From one thread at a time. Off: the handler that was there is there again, unless somebody has
// put his own in our place.
void watch_sigint(bool on);
// True once after the first Ctrl-C. Any thread.
bool take_sigint();

} // namespace tally
