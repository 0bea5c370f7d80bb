// The torch that is loaded beside the headers that this was compiled with. Links say nothing: what torch's headers
// inline, numbers of dispatch keys and offsets of members, is in this extension, and with another torch reads the wrong
// memory.
#pragma once
#include <string>

namespace minidynamo {

// The first part that is not as in the headers, in words ("the strides of a tensor"); empty where all are. Throws
// pybind11::error_already_set for a Python error.
std::string differs_from_headers();

}  // namespace minidynamo
