#include "hook/intercept/stance.h"

#include "python/cached.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

constexpr std::pair<const char*, Stance> kNames[] = {
    {"default", Stance::Default},
    {"force_eager", Stance::ForceEager},
    {"eager_on_recompile", Stance::EagerOnRecompile},
    {"fail_on_recompile", Stance::FailOnRecompile},
    {"eager_then_compile", Stance::EagerThenCompile},
    {"aot_eager_then_compile", Stance::AotEagerThenCompile},
};

// torch's record of the stance: an object with the attributes `stance`, `skip_guard_eval_unsafe` and `backend`
// (borrowed); null: torch._dynamo is not there, or in the middle of its import.
PyObject* record_of_torch() noexcept {
  PyObject* module = named_item(PyImport_GetModuleDict(), "torch._dynamo.eval_frame");
  return module && PyModule_Check(module) ? named_item(PyModule_GetDict(module), "_stance") : nullptr;
}

PyObject* part_of(PyObject* record, const char* name) noexcept {
  PyObject* dict = record ? instance_dict(record) : nullptr;
  if (dict) return named_item(dict, name);
  if (!record || !has_inline_attributes(record)) return nullptr;
  struct Wanted {
    const char* name;
    PyObject* value;
  } wanted{name, nullptr};
  auto visit = [](void* state, PyObject* key, PyObject* value) {
    auto* sought = static_cast<Wanted*>(state);
    if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, sought->name) == 0) sought->value = value;
    return !sought->value;
  };
  visit_inline_attributes(record, visit, &wanted);
  return wanted.value;
}

Stance stance_of(PyObject* record) noexcept {
  PyObject* name = part_of(record, "stance");
  if (!name) return Stance::Default;
  for (const auto& [text, stance] : kNames) {
    if (!PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, text) != 0) continue;
    PyObject* backend = part_of(record, "backend");
    return stance == Stance::Default && backend && backend != Py_None ? Stance::ForcedBackend : stance;
  }
  return Stance::Unknown;
}

Ref with_backend(PyObject* config, PyObject* backend) {
  return Ref::steal(PyObject_CallMethod(config, "with_backend", "O", backend));
}

}  // namespace

void stance_details::look_again() noexcept {
  PyObject* module = named_item(PyImport_GetModuleDict(), "torch._dynamo.eval_frame");
  PyObject* dict = module && PyModule_Check(module) ? PyModule_GetDict(module) : PyImport_GetModuleDict();
  Ref former = Ref::steal(std::exchange(watched.dict, Ref::borrow(dict).release()));
  watched.version = version_word(dict);
  watched.stance = stance_of(record_of_torch());
}

Ref config_with_forced_backend(PyObject* config) {
  Ref backend = Ref::borrow(part_of(record_of_torch(), "backend"));
  return backend ? with_backend(config, backend.get()) : Ref::borrow(config);
}

Ref config_with_aot_eager(PyObject* config) { return with_backend(config, "aot_eager"_name); }

void raise_unknown_stance() {
  Ref name = Ref::borrow(part_of(record_of_torch(), "stance"));
  std::string known;
  for (const auto& [text, stance] : kNames) known += (known.empty() ? "" : ", ") + std::string(text);
  PyErr_Format(PyExc_RuntimeError, "torch.compiler.set_stance(%R): there is no such stance; there are %s",
               name ? name.get() : Py_None, known.c_str());
}

int& CachedOnly::depth() noexcept {
  thread_local int depth = 0;
  return depth;
}

}  // namespace minidynamo
