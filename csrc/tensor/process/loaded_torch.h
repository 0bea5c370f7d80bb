// Compares the torch that is loaded with the headers that this extension was compiled with. The loader takes any torch;
// what the headers inline (numbers of dispatch keys, offsets of members) would read the wrong memory of another one.
#pragma once
#include <string>

namespace minidynamo {

// Names the first part of torch that is not as in the headers ("the strides of a tensor"); empty where all are. Throws
// pybind11::error_already_set for a Python error.
std::string differs_from_headers();

}  // namespace minidynamo
