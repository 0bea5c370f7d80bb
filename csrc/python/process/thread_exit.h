// How other threads end when the interpreter goes down.
//
// CPython before 3.14 ends a daemon thread that wants the GIL then by pthread_exit(). That unwinds the thread's stack
// as an exception would: through callbacks that let none pass (the process aborts: "terminate called without an active
// exception"), and with destructors that give up references without the GIL. No care in single places can make that
// right, so no frame of this library is unwound at all: the thread stops for good where the unwinding first meets one,
// as all threads do from CPython 3.14 on. The process ends without it.
//
// The means is the personality routine, which the unwinder asks about each C++ frame that has something to clean up or
// lets nothing pass: the linker puts one of our own before the C++ runtime's (CMakeLists.txt, --wrap). It costs
// nothing until something is thrown.
#pragma once

namespace minidynamo {

// The same for frames of other libraries that let nothing pass: torch's operators take the GIL back in a destructor,
// and a daemon thread that runs one aborts the process even without us. Called once.
void stop_threads_at_exit() noexcept;

}  // namespace minidynamo
