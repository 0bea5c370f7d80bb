// torch.fx (symbolic_trace, make_fx) replaces methods of nn.Module for the whole process while it traces, on whatever
// thread: a capture in the middle of that would take its wrappers for the program.
#pragma once
#include <cstdint>

namespace minidynamo {

// True if it traces now, on any thread.
bool is_fx_tracing() noexcept;

// The methods of nn.Module as they are at the moment: the same number twice means that none has been replaced in
// between.
uint32_t module_methods() noexcept;

}  // namespace minidynamo
