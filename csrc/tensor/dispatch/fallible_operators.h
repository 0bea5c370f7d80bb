// Operators that raise because of the values that they are given, which a trace does not know.
#pragma once
#include <string_view>

namespace minidynamo {

// By an operator's name ("aten::gather"): indexing, decompositions of matrices, losses and others that check their
// targets, draws by given probabilities, assertions. Kernels that run out of memory, or of
// threads, are not meant.
bool fails_on_values(std::string_view name) noexcept;
// The same of whole numbers alone: by zero.
bool divides(std::string_view name) noexcept;

}  // namespace minidynamo
