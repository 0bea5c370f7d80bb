// Places of ints or floats that may be dynamic: not every number that a path leads to is the program's.
#pragma once
#include "guard/source.h"

namespace minidynamo {

// True if a number is one that the program itself has put somewhere, and that nothing but its value is known of.
bool is_held_by_program(const Source& source);

}  // namespace minidynamo
