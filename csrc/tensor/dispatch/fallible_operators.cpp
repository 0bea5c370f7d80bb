#include "tensor/dispatch/fallible_operators.h"

#include <algorithm>

namespace minidynamo {
namespace {

using std::string_view;

// Sorted. Overloads and in-place forms are the same operator.
constexpr string_view kDivisions[] = {"div", "floor_divide", "fmod", "remainder"};
constexpr string_view kOperators[] = {
    "_assert_async",
    "_ctc_loss",
    "_embedding_bag",
    "_embedding_bag_forward_only",
    "_functional_assert_async",
    "_index_put_impl",
    "_linalg_check_errors",
    "_linalg_det",
    "_linalg_eigh",
    "_linalg_solve_ex",
    "_linalg_svd",
    "_unsafe_index",
    "_unsafe_index_put",
    "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate",
    "bernoulli",
    "binary_cross_entropy",
    "bincount",
    "binomial",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "ctc_loss",
    "embedding",
    "embedding_bag",
    "embedding_renorm",
    "gather",
    "geqrf",
    "histc",
    "index",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "index_select",
    "linalg_cholesky_ex",
    "linalg_cond",
    "linalg_eig",
    "linalg_eigvals",
    "linalg_inv_ex",
    "linalg_ldl_factor_ex",
    "linalg_ldl_solve",
    "linalg_lstsq",
    "linalg_lu",
    "linalg_lu_factor_ex",
    "linalg_lu_solve",
    "linalg_qr",
    "linalg_solve_triangular",
    "max_unpool2d",
    "max_unpool3d",
    "multi_margin_loss",
    "multilabel_margin_loss_forward",
    "multinomial",
    "nll_loss2d_forward",
    "nll_loss_forward",
    "normal",
    "one_hot",
    "poisson",
    "put",
    "repeat_interleave",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "segment_reduce",
    "take",
    "to_sparse",
    "triangular_solve",
};

string_view without_overload(string_view name) noexcept {
  constexpr string_view kNamespace = "aten::";
  if (name.starts_with(kNamespace)) name.remove_prefix(kNamespace.size());
  name = name.substr(0, name.find('.'));
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

}  // namespace

bool fails_on_values(string_view name) noexcept {
  return std::ranges::binary_search(kOperators, without_overload(name));
}

bool divides(string_view name) noexcept { return std::ranges::binary_search(kDivisions, without_overload(name)); }

}  // namespace minidynamo
