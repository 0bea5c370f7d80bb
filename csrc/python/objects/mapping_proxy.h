// The mapping that a mappingproxy shows, which CPython has no API for (Objects/descrobject.c).
#pragma once
#include "python/ref.h"

namespace minidynamo {

// The mapping beneath a mappingproxy, borrowed.
inline PyObject* proxied_mapping(PyObject* proxy) noexcept {
  struct MappingProxy {
    PyObject_HEAD PyObject* mapping;
  };
  return reinterpret_cast<MappingProxy*>(proxy)->mapping;
}

}  // namespace minidynamo
