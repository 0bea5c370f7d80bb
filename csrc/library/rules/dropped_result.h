// True if the program asks for what a call gives.
#pragma once
#include "world/state/frame.h"

namespace minidynamo {

// The frame is at a call whose result nobody asks for.
bool is_result_dropped(const Frame& frame);

}  // namespace minidynamo
