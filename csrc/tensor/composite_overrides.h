// Composite operators that read data where their meaning does not need it.
#pragma once

namespace minidynamo {

// Registers them, once. Real tensors are computed by torch's own implementations, as before.
void install_composite_overrides();

}  // namespace minidynamo
