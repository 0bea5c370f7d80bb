// Whether other threads have run Python code meanwhile.
#pragma once

namespace minidynamo {

// How often the GIL has gone from one thread to another since the process began.
unsigned long thread_switches() noexcept;

}  // namespace minidynamo
