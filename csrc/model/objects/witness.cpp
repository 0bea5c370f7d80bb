#include "model/objects/witness.h"

#include <algorithm>
#include <string_view>

#include "model/objects/generator.h"
#include "python/code/traceback.h"
#include "python/objects/native_contents.h"
#include "python/objects/reach.h"
#include "python/objects/weak_hold.h"
#include "python/version/type_version.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/code_origin.h"

namespace minidynamo {
namespace {

// A weak reference with which TorchDynamo notes each module that is made, once it has compiled one: no program reads
// it.
bool is_of_torch_compile(const PyWeakReference* reference) {
  PyObject* const callback = reference->wr_callback;
  if (!callback || !PyFunction_Check(callback)) return false;
  const auto* function = as_function(callback);
  const auto* code = as_code(function->func_code);
  return code_origin(code->co_filename) == CodeOrigin::Torch &&
         !PyUnicode_CompareWithASCIIString(function->func_qualname,
                                           "ExactWeakKeyDictionary.__setitem__.<locals>.<lambda>");
}

// A weak reference with which a compiler notes a tensor that it has seen: of a class of torch's, or with a callback of
// torch's.
bool is_of_torch(PyWeakReference* reference) {
  PyObject* const callback = reference->wr_callback;
  if (callback && PyFunction_Check(callback) &&
      code_origin(as_code(as_function(callback)->func_code)->co_filename) == CodeOrigin::Torch)
    return true;
  PyTypeObject* const type = Py_TYPE(as_object(reference));
  PyObject* const module = is_python_class(type) ? class_attribute(type, "__module__"_name) : nullptr;
  const char* const name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  clear_error();
  return name && std::string_view(name).starts_with("torch.");
}

// Whom a weak reference tells: a loud one calls back.
enum class Witness : uint8_t { Any, Loud };

// A weak reference leads to the object that `is_of_others` does not hold for.
template <typename IsOfOthers>
bool any_reference(PyObject* object, Witness wanted, IsOfOthers is_of_others) noexcept {
  auto* reference = reinterpret_cast<PyWeakReference*>(*PyObject_GET_WEAKREFS_LISTPTR(object));
  for (; reference; reference = reference->wr_next) {
    const bool calls = reference->wr_callback && !DeathWatch::is_callback(reference->wr_callback);
    if ((calls || wanted == Witness::Any) && !is_of_others(reference)) return true;
  }
  return false;
}

// One that is inherited from a C type closes a file, say: no code of the program runs.
bool has_finalizer(PyObject* object, Witness wanted) {
  if (!is_python_class(Py_TYPE(object)) || is_tensor(object)) return false;
  PyObject* const finalizer = class_attribute(Py_TYPE(object), "__del__"_name);
  return finalizer && (wanted == Witness::Any ||
                       (!Py_IS_TYPE(finalizer, &PyMethodDescr_Type) && !Py_IS_TYPE(finalizer, &PyWrapperDescr_Type)));
}

bool is_referenced(PyObject* object, Witness wanted) noexcept {
  return PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) && any_reference(object, wanted, is_of_torch_compile);
}

// True if this very object's end is seen.
bool is_seen(PyObject* object, Witness wanted) {
  if (is_fake(object) || PyType_Check(object) || PyFunction_Check(object) || PyCFunction_Check(object) ||
      PyModule_Check(object))
    return false;
  if (is_tensor(object)) return any_reference(object, wanted, is_of_torch);
  if (PyGen_CheckExact(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object)) return true;
  return has_finalizer(object, wanted) || is_referenced(object, wanted);
}

bool has_witness(PyObject* object, Witness wanted) {
  if (is_seen(object, wanted)) return true;
  if (!PyExceptionInstance_Check(object)) return false;
  if (wanted == Witness::Loud)
    return any_kept_by_traceback(object, [](PyObject* kept) { return is_seen(kept, Witness::Loud); });
  return any_kept_by_traceback(object, [](PyObject* kept) { return is_seen(kept, Witness::Any); });
}

template <typename LivesOn>
bool may_be_seen(PyObject* object, Witness wanted, int depth, LivesOn lives_on) {
  const auto look = [&](PyObject* kept) {
    if (is_tensor(kept) || PyType_Check(kept) || PyModule_Check(kept) || (kept != object && lives_on(kept)))
      return Visit::Pass;
    const bool is_found = has_witness(kept, wanted) || PyMemoryView_Check(kept) || is_traced_generator(kept);
    return is_found ? Visit::Found : Visit::Enter;
  };
  return reaches(object, look, {2 * depth, 1024, false});
}

// Containers, methods and instances of Python classes. Others may hold what the trace needs of them alone.
bool holds_what_it_shows(PyObject* object) {
  return PyTuple_CheckExact(object) || PyList_Check(object) || PyDict_Check(object) || PyAnySet_Check(object) ||
         native_base(Py_TYPE(object)) == known_types()->deque || PyMethod_Check(object) ||
         is_python_class(Py_TYPE(object));
}

}  // namespace

bool is_weakly_referenced(PyObject* object) noexcept { return object && is_referenced(object, Witness::Any); }

bool has_witness(PyObject* object) { return has_witness(object, Witness::Any); }

bool has_witnesses(PyObject* object) {
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return has_witness(object);
  constexpr Py_ssize_t kLookedAt = 16;
  const Py_ssize_t count = std::min(PySequence_Fast_GET_SIZE(object), kLookedAt);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (has_witness(PySequence_Fast_GET_ITEM(object, i))) return true;
  return false;
}

bool has_observable_end(PyObject* object, int depth) {
  return may_be_seen(object, Witness::Any, depth, [](PyObject* kept) { return !holds_what_it_shows(kept); });
}

bool has_loud_end(PyObject* object, int depth, const std::function<bool(PyObject*)>& lives_on) {
  return may_be_seen(object, Witness::Loud, depth, lives_on);
}

}  // namespace minidynamo
