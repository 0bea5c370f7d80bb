// The arguments of a call.
#pragma once
#include <span>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// Positional values, then the values of the keywords named in `keyword_names` (a tuple, or null).
struct Arguments {
  std::span<const Ref> values;
  PyObject* keyword_names = nullptr;
  bool is_direct = false;  // the calling instruction's result is what the callee returns, as it is

  size_t keyword_count() const noexcept { return keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0; }
  size_t positional_count() const noexcept { return values.size() - keyword_count(); }
  Ref positional() const;  // as a tuple
  Ref keywords() const;    // as a dict; null Ref without error if there are none
};

// Values with `first` put before them.
struct Prepended {
  std::vector<Ref> values;
  Arguments arguments;
  Prepended(Ref first, const Arguments& rest) {
    values.reserve(rest.values.size() + 1);
    values.push_back(std::move(first));
    values.insert(values.end(), rest.values.begin(), rest.values.end());
    arguments = Arguments{values, rest.keyword_names, rest.is_direct};
  }
};

}  // namespace minidynamo
