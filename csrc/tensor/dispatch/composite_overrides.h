// Composite operators that read data where their meaning does not need it, or refuse symbolic sizes.
#pragma once
#include <string_view>

namespace minidynamo {

// Registers them, once. Real tensors are computed by torch's own implementations, as before.
void install_composite_overrides();

// True if the operator is asked by one of them, which would raise if the answer was no.
bool checks_a_value(std::string_view operator_name) noexcept;

}  // namespace minidynamo
