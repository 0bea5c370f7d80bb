#include "graph/node_metadata.h"

#include <algorithm>
#include <vector>

#include "python/cached.h"
#include "python/native_method.h"
#include "python/objects/native_contents.h"

namespace minidynamo {
namespace {

// An interned attribute name; kept for the life of the process.
}  // namespace

Ref StackTraces::piece(const CallSite& site) {
  auto [found, is_new] = pieces_.try_emplace({site.code, site.line});
  if (!is_new && found->second) return found->second;
  if (!getline_) {
    Ref linecache = Ref::steal(PyImport_ImportModule("linecache"));
    if (linecache) getline_ = Ref::steal(PyObject_GetAttrString(linecache.get(), "getline"));
    if (!getline_) return nullptr;
  }
  Ref line = Ref::steal(PyObject_CallFunction(getline_.get(), "Oi", site.code->co_filename, site.line));
  if (!line) return nullptr;
  Ref stripped = Ref::steal(PyObject_CallMethod(line.get(), "strip", nullptr));
  if (!stripped) return nullptr;
  const char* format = PyUnicode_GET_LENGTH(stripped.get()) > 0 ? "  File \"%U\", line %d, in %U\n    %U\n"
                                                                : "  File \"%U\", line %d, in %U\n";
  found->second =
      Ref::made(PyUnicode_FromFormat(format, site.code->co_filename, site.line, site.code->co_name, stripped.get()));
  return found->second;
}

Ref StackTraces::of(const std::shared_ptr<const CallSite>& site) {
  auto [found, is_new] = whole_.try_emplace(site.get());
  if (!is_new && found->second) return found->second;
  std::vector<const CallSite*> chain;
  for (const CallSite* at = site.get(); at; at = at->caller.get()) chain.push_back(at);
  std::reverse(chain.begin(), chain.end());
  Ref pieces = Ref::made(PyList_New(static_cast<Py_ssize_t>(chain.size())));
  for (size_t i = 0; i < chain.size(); ++i) {
    Ref text = piece(*chain[i]);
    if (!text) return nullptr;
    PyList_SET_ITEM(pieces.get(), static_cast<Py_ssize_t>(i), text.release());
  }
  Ref empty = Ref::made(PyUnicode_FromString(""));
  whole_[site.get()] = Ref::steal(PyUnicode_Join(empty.get(), pieces.get()));
  return whole_[site.get()];
}

bool TensorMetadata::load() {
  Ref shape_prop = Ref::steal(PyImport_ImportModule("torch.fx.passes.shape_prop"));
  Ref torch = shape_prop ? Ref::steal(PyImport_ImportModule("torch")) : Ref();
  if (!torch) return false;
  const char* const names[] = {"contiguous_format", "channels_last", "channels_last_3d"};
  for (int i = 0; i < 3; ++i) {
    formats_[i] = Ref::steal(PyObject_GetAttrString(torch.get(), names[i]));
    if (!formats_[i]) return false;
  }
  class_ = Ref::steal(PyObject_GetAttrString(shape_prop.get(), "TensorMetadata"));
  return static_cast<bool>(class_);
}

Ref TensorMetadata::of(PyObject* tensor) {
  if (!class_ && !load()) return nullptr;
  static constinit CachedObject memory_format_keyword{
      [](const char*) { return Ref::steal(Py_BuildValue("(s)", "memory_format")); }};
  Ref shape = native_attribute(tensor, "shape"_name);
  Ref dtype = native_attribute(tensor, "dtype"_name);
  Ref requires_grad = native_attribute(tensor, "requires_grad"_name);
  Ref stride = call_native_method(tensor, "stride"_name);
  Ref qparams = Ref::made(PyDict_New());
  if (!shape || !dtype || !requires_grad || !stride) return nullptr;
  Ref memory_format = Ref::none();
  const Py_ssize_t dimensions = PySequence_Size(shape.get());
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && dimensions != i + 3) continue;  // channels last is a property of 4 dimensions, or of 5
    const Ref is_contiguous =
        i == 0 ? call_native_method(tensor, "is_contiguous"_name)
               : call_native_method(tensor, "is_contiguous"_name, {formats_[i].get()}, memory_format_keyword);
    if (!is_contiguous) return nullptr;
    if (is_contiguous.is(Py_True)) {
      memory_format = formats_[i];
      break;
    }
  }
  PyObject* const fields[] = {shape.get(),         dtype.get(), requires_grad.get(), stride.get(),
                              memory_format.get(), Py_False,    qparams.get()};
  return Ref::steal(PyObject_Vectorcall(class_.get(), fields, 7, nullptr));
}

}  // namespace minidynamo
