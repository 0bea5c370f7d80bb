// Looking up a row by name in a table that is sorted by name. Internal to csrc/tensor/.
#pragma once
#include <algorithm>
#include <string_view>

namespace minidynamo {

// `rows`: an array of structures with a member `name`. Null: there is no such row.
template <class Rows>
constexpr auto find_row(const Rows& rows, std::string_view name) noexcept -> const typename Rows::value_type* {
  const auto row = std::ranges::lower_bound(rows, name, {}, &Rows::value_type::name);
  return row != rows.end() && row->name == name ? &*row : nullptr;
}

}  // namespace minidynamo
