// Composite operators that resize images, for fakes with symbolic sizes.
#pragma once
#include "tensor/torch_headers.h"

namespace minidynamo {

// Registers them in a library of the aten operators for some key. Other tensors are computed by torch's own.
void override_upsampling(torch::Library& library);

}  // namespace minidynamo
