// The two places of torch's Python side that cannot live with a tensor without data.
#pragma once

namespace minidynamo {

// Idempotent. Throws pybind11::error_already_set.
//   torch._tensor_str._str: repr() of a fake shows class, size, dtype and device instead of trying to read values.
//   torch.UntypedStorage.is_shared: its C implementation lets a C++ exception escape, which ends the process, when the
//   storage has no data; a fake's storage is answered with False.
void patch_torch_for_fakes();

}  // namespace minidynamo
