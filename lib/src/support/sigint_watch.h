// Handles Ctrl-C in a debugger that interrupts a remote process periodically.
//
// Sampling interrupts the target in the same way as the debugger does on Ctrl-C. If the user types
// Ctrl-C while such an interrupt is pending, the debugger treats the Ctrl-C as a second attempt
// ("not responding, stop debugging it?"). If the process is stopped just then, the debugger sends
// the interrupt to a target that does not run, and the interrupt is lost. Therefore this handler
// catches the first Ctrl-C, and the front end stops the process at its next interrupt. A second
// Ctrl-C goes to the previous handler.
#pragma once

namespace tally {

// Installs or removes the handler. Call it from one thread at a time. Removing restores the
// previous handler, unless another handler has replaced this one.
void watch_sigint(bool on);
// Returns true once after the first Ctrl-C. Any thread may call it.
bool take_sigint();

// Watches for Ctrl-C while it exists, for work in one command that the user may end. Nothing is
// watched if Ctrl-C ends the process anyway.
class InterruptibleWork {
public:
  InterruptibleWork();
  ~InterruptibleWork();
  InterruptibleWork(const InterruptibleWork &) = delete;
  InterruptibleWork &operator=(const InterruptibleWork &) = delete;
  bool is_interrupted() { return interrupted_ = interrupted_ || take_sigint(); }

private:
  bool installed_;
  bool interrupted_ = false;
};

} // namespace tally
