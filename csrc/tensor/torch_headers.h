// The LibTorch headers that csrc/tensor/ needs, precompiled once. Not among them: pybind11, and what includes it
// (torch/extension.h, python_variable.h). It makes the compiler instantiate templates for 20 s in each file.
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>
#include <ATen/Tensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/python_headers.h>
#include <torch/library.h>
