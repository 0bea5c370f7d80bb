// Finds out if the program uses the result of a call.
#pragma once
#include "world/state/frame.h"

namespace minidynamo {

// True if the frame is at a call whose result is dropped.
bool is_result_dropped(const Frame& frame);

}  // namespace minidynamo
