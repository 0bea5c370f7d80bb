#include "hook/config_id.h"

#include "hook/runtime.h"
#include "python/native_function.h"

namespace minidynamo {
namespace {

PyObject* config_died(PyObject*, PyObject* reference) {
  auto& configs = runtime().configs;
  for (auto known = configs.begin(); known != configs.end(); ++known) {
    if (!known->second.is(reference)) continue;
    const auto id = reinterpret_cast<ConfigId>(known->first);
    Ref last_hold = std::move(known->second);
    configs.erase(known);
    CacheRegistry::instance().forget(id);
    break;
  }
  Py_RETURN_NONE;
}

}  // namespace

ConfigId config_id(PyObject* config) {
  if (!runtime().configs.count(config)) {
    PyObject* const callback = native_function<METH_O, config_died>("config_died");
    runtime().configs.emplace(config, Ref::made(PyWeakref_NewRef(config, callback)));
  }
  return reinterpret_cast<ConfigId>(config);
}

}  // namespace minidynamo
