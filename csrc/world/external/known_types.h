// Python types and functions of other packages that the tracer must recognize, looked up once per process.
#pragma once
#include "python/cached.h"

namespace minidynamo {

struct KnownTypes {
  PyTypeObject* module;  // torch.nn.Module
  PyTypeObject* size;    // torch.Size
  PyTypeObject* dtype;
  PyTypeObject* device;
  PyTypeObject* layout;
  PyTypeObject* memory_format;
  PyTypeObject* op_overload;  // torch._ops.OpOverload
  PyTypeObject* op_overload_packet;
  PyTypeObject* custom_op_def;  // torch.library's CustomOpDef
  PyTypeObject* enum_meta;
  PyTypeObject* partial;
  PyTypeObject* ordered_dict;
  PyTypeObject* default_dict;
  PyTypeObject* deque;
  PyTypeObject* thread_local_storage;  // threading.local
  PyTypeObject* tensor_type;           // torch.FloatTensor and the like
  PyObject* module_getattr;            // torch.nn.Module.__getattr__
};

// Imports torch; null with a Python error set if it is not what minidynamo supports.
const KnownTypes* known_types();

// True if operators treat tensors of a class as plain ones: it has no __torch_function__ that torch calls
// (nn.Parameter).
bool is_plain_tensor_class(PyTypeObject* type);

// module.name.name... of a module that the program has imported, or null without a Python error.
Ref import_loaded(const char* dotted_path);
// module.name.name..., or null with a Python error set.
Ref import_object(const char* dotted_path);

// The same, once per process; for static variables.
class Imported : public CachedObject {
 public:
  constexpr explicit Imported(const char* dotted_path) noexcept : CachedObject(import_object, dotted_path) {}
};
// "functools.reduce"_imported, where it is used.
template <LiteralText dotted_path>
Imported& operator""_imported() noexcept {
  static constinit Imported object{dotted_path.characters};
  return object;
}
class ImportedType : private CachedObject {
 public:
  constexpr explicit ImportedType(const char* dotted_path) noexcept : CachedObject(import_object, dotted_path) {}
  operator PyTypeObject*() { return type(); }
};

}  // namespace minidynamo
