// The id under which a cache keeps the entries of a configuration: they go when it dies.
#pragma once
#include "cache/code_cache.h"

namespace minidynamo {

ConfigId config_id(PyObject* config);
// Borrowed, while the configuration lives.
inline PyObject* config_of(ConfigId id) noexcept { return reinterpret_cast<PyObject*>(id); }

}  // namespace minidynamo
