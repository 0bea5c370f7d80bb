#include "python/objects/weak_hold.h"

#include "python/cached.h"
#include "python/named_item.h"
#include "python/object_casts.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

constexpr const char* kCapsuleName = "minidynamo.DeathWatch";

PyTypeObject* type_of_standing = nullptr;  // once it is made

PyTypeObject* standing_type() {
  static PyType_Slot slots[] = {{0, nullptr}};
  static PyType_Spec spec = {"minidynamo._C.HeldWeakly", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  static constinit CachedObject type{
      [](const char*) { return Ref::steal(PyType_FromSpecWithBases(&spec, as_object(&_PyWeakref_RefType))); }};
  return type_of_standing = type.type();
}

}  // namespace

bool can_be_held_weakly(PyObject* object) noexcept {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return false;
  if (PyType_Check(object)) return as_type(object)->tp_flags & Py_TPFLAGS_HEAPTYPE;
  return !PyCFunction_Check(object);
}

Ref stand_for(PyObject* object) {
  PyTypeObject* type = standing_type();
  return type ? Ref::steal(PyObject_CallOneArg(as_object(type), object)) : Ref();
}

bool stands_for_object(PyObject* object) noexcept { return Py_IS_TYPE(object, type_of_standing); }

PyObject* object_stood_for(PyObject* stands_for) noexcept {
  PyObject* object = PyWeakref_GET_OBJECT(stands_for);
  return object == Py_None ? nullptr : object;
}

PyObject* owner_of_names(PyObject* globals) noexcept {
  PyObject* name = named_item(globals, "__name__");
  PyObject* module = name && PyUnicode_CheckExact(name) ? named_item(PyImport_GetModuleDict(), name) : nullptr;
  return module && PyModule_Check(module) && PyModule_GetDict(module) == globals ? module : globals;
}

PyMethodDef DeathWatch::definition_ = {"object_died", entry<object_died>, METH_O, nullptr};

bool DeathWatch::is_callback(PyObject* callback) noexcept {
  return PyCFunction_CheckExact(callback) && as_builtin(callback)->m_ml == &definition_;
}

DeathWatch::DeathWatch(std::function<void()> on_death) : on_death_(std::move(on_death)) {
  capsule_ = Ref::made(PyCapsule_New(this, kCapsuleName, nullptr));
  callback_ = Ref::made(PyCFunction_New(&definition_, capsule_.get()));
}

DeathWatch::~DeathWatch() {
  // A callback that is on its way does nothing.
  if (capsule_) PyCapsule_SetContext(capsule_.get(), this);
}

bool DeathWatch::watch(PyObject* object) {
  if (!callback_ || !can_be_held_weakly(object)) return false;
  if (!watched_.insert(object).second) return true;
  Ref reference = Ref::made(PyWeakref_NewRef(object, callback_.get()));
  references_.push_back(std::move(reference));
  return true;
}

PyObject* DeathWatch::object_died(PyObject* capsule, PyObject*) {
  Ref hold = Ref::borrow(capsule);
  if (PyCapsule_GetContext(capsule)) Py_RETURN_NONE;
  auto* watch = static_cast<DeathWatch*>(PyCapsule_GetPointer(capsule, kCapsuleName));
  // The function that is called may end the watch.
  if (const std::function<void()> tell = std::exchange(watch->on_death_, nullptr)) tell();
  Py_RETURN_NONE;
}

}  // namespace minidynamo
