// pybind11 as torch sets it up: without these two headers, a cast of one of torch's or the standard library's types
// compiles, and fails when it runs.
#pragma once
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>
