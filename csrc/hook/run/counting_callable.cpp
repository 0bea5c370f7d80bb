#include "hook/run/counting_callable.h"

#include <memory>
#include <vector>

#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/values/version_counts.h"

namespace minidynamo {
namespace {

// A tensor among the graph's inputs, and how often the program writes to it meanwhile.
struct Writes {
  Py_ssize_t position;
  uint32_t count;
};

struct Counting {
  Ref compiled;
  std::vector<Writes> inputs;
};

constexpr const char* kCapsule = "minidynamo.counting";

void destroy(PyObject* capsule) noexcept { delete static_cast<Counting*>(PyCapsule_GetPointer(capsule, kCapsule)); }

PyObject* call_and_count(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  const auto& counting = *static_cast<const Counting*>(PyCapsule_GetPointer(self, kCapsule));
  std::vector<uint32_t> before;
  before.reserve(counting.inputs.size());
  for (const Writes& writes : counting.inputs) before.push_back(version_count(arguments[writes.position]).value_or(0));
  Ref results =
      Ref::steal(PyObject_Vectorcall(counting.compiled.get(), arguments, static_cast<size_t>(count), nullptr));
  if (!results) return nullptr;
  for (size_t i = 0; i < before.size(); ++i)
    if (PyObject* tensor = arguments[counting.inputs[i].position]; version_count(tensor))
      set_version_count(tensor, before[i] + counting.inputs[i].count);
  return results.release();
}

PyMethodDef call_and_count_definition = {
    "call_and_count", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry<call_and_count>)), METH_FASTCALL,
    nullptr};

}  // namespace

Ref counting_callable(Ref compiled, const Tracer& tracer, const Exit& exit) {
  auto counting = std::make_unique<Counting>();
  for (size_t i = 0; i < exit.inputs.size(); ++i) {
    PyObject* const tensor = exit.inputs[i]->value.get();
    PyObject* const fake = tracer.world.replacement_of(tensor);
    if (!fake || !is_fake(fake)) continue;
    const auto now = version_count(fake), before = version_count(tensor);
    if (tracer.storages.is_written(fake) && now && before && *now >= *before)
      counting->inputs.push_back({static_cast<Py_ssize_t>(i), *now - *before});
  }
  if (counting->inputs.empty()) return compiled;
  counting->compiled = std::move(compiled);
  const Ref capsule = Ref::made(PyCapsule_New(counting.get(), kCapsule, destroy));
  counting.release();
  return Ref::made(PyCFunction_New(&call_and_count_definition, capsule.get()));
}

}  // namespace minidynamo
