// Holds back what reaches a thread from outside, between two instructions of any Python code: the Python handlers of
// signals (Ctrl-C among them), exceptions that other threads send (PyThreadState_SetAsyncExc), pending calls.
//
// They are the program's. In the middle of a trace a handler would be traced itself, and an exception that it raises
// would be taken for the traced program's own, to be caught by its `except`, or be lost when the trace is thrown away;
// in the middle of our own work it would be an error that our code does not expect. So nothing is delivered while one
// of our scopes holds it: it waits, and comes as soon as CPython looks after the scope has ended, which is in the first
// instruction of the next Python frame.
#pragma once

namespace minidynamo {

// While one lives, nothing is delivered on this thread. Scopes nest.
class InterruptionsHeld {
 public:
  InterruptionsHeld() noexcept;
  ~InterruptionsHeld();
  InterruptionsHeld(const InterruptionsHeld&) = delete;
  InterruptionsHeld& operator=(const InterruptionsHeld&) = delete;
};

// While one lives in such a scope, all is as it is outside: for what may take long, and is not ours.
class InterruptionsLetIn {
 public:
  InterruptionsLetIn() noexcept;
  ~InterruptionsLetIn();
  InterruptionsLetIn(const InterruptionsLetIn&) = delete;
  InterruptionsLetIn& operator=(const InterruptionsLetIn&) = delete;

 private:
  int scopes_;
};

// True if a signal or an exception waits for this thread's scopes to end.
bool interruption_waits() noexcept;
// Delivers what waits, now. False: a Python error is set, the program's to handle.
bool deliver_interruptions() noexcept;
// True if the current Python error is the one that was delivered last, and no scope has begun since then.
bool is_error_delivered() noexcept;

}  // namespace minidynamo
