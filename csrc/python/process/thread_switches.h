// True if another thread may have run.
#pragma once

namespace minidynamo {

// How often the GIL has gone from one thread to another: the same number twice means that no other thread has run
// Python code between. Needs the GIL.
unsigned long thread_switches() noexcept;

}  // namespace minidynamo
