// Detects a mode or hook that observes every operation of the program, or changes what operations mean, and was set up
// outside of the function that is called.
//
// While one is active nothing is captured, and no entry fits: it would see the operations of the trace, on tensors
// without data, and those of a compiled graph in place of the program's. The function runs uncaptured.
#pragma once

namespace minidynamo {

// One on this thread in words ("a TorchDispatchMode is active"); null if there is none. Runs no Python code.
const char* active_mode() noexcept;

// True if the part of it that the guard of torch's state compares is inactive: hooks of saved tensors and new nodes,
// anomaly detection, forward-mode AD. The other kinds show in the thread's dispatch keys and modes.
bool is_autograd_as_usual() noexcept;

}  // namespace minidynamo
