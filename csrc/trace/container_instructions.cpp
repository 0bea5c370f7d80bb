#include "trace/container_instructions.h"

#include <algorithm>

#include "model/native/text_conventions.h"
#include "model/objects/exception_text.h"
#include "model/objects/generator.h"
#include "model/protocols/abstract.h"
#include "model/proxies/deferred_call.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/overridden_call.h"
#include "python/unstable.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/native/address_text.h"
#include "world/native/native_code.h"
#include "world/proxies/runtime_value.h"
#include "world/state/identity.h"

namespace minidynamo {
Ref build_sequence(Tracer& tracer, Frame& frame, int32_t count, bool is_tuple) {
  bool ok = true;
  Ref built = Ref::made(is_tuple ? PyTuple_New(count) : PyList_New(count));
  for (int32_t i = count - 1; i >= 0; --i) {
    Ref item = frame.pop();
    if (!materialize_if_shadow(tracer, item.get())) ok = false;
    if (is_tuple)
      PyTuple_SET_ITEM(built.get(), i, item.release());
    else
      PyList_SET_ITEM(built.get(), i, item.release());
  }
  return ok ? std::move(built) : Ref();
}

Ref build_set(Tracer& tracer, Frame& frame, int32_t count) {
  bool ok = true;
  Ref built = Ref::made(PySet_New(nullptr));
  for (int32_t i = count; i > 0 && ok; --i) {
    guard_as_key(tracer, built.get(), frame.top(i).get());
    ok = PySet_Add(built.get(), frame.top(i).get()) == 0 && !tracer.is_over();
  }
  for (int32_t i = 0; i < count; ++i) frame.drop();
  return ok ? std::move(built) : Ref();
}

Ref build_map(Tracer& tracer, Frame& frame, int32_t count) {
  bool ok = true;
  Ref built = Ref::made(PyDict_New());
  for (int32_t i = count; i > 0 && ok; --i) {
    frame.top(2 * i) = specialized(tracer, frame.top(2 * i).get());
    ok = static_cast<bool>(frame.top(2 * i));
    if (ok) guard_as_key(tracer, built.get(), frame.top(2 * i).get());
    ok = ok && materialize_if_shadow(tracer, frame.top(2 * i - 1).get()) &&
         PyDict_SetItem(built.get(), frame.top(2 * i).get(), frame.top(2 * i - 1).get()) == 0 && !tracer.is_over();
  }
  for (int32_t i = 0; i < 2 * count; ++i) frame.drop();
  return ok ? std::move(built) : Ref();
}

Ref build_const_key_map(Tracer& tracer, Frame& frame, int32_t count) {
  bool ok = true;
  Ref keys = frame.pop();
  Ref built = Ref::made(PyDict_New());
  for (int32_t i = 0; i < count && ok; ++i) {
    PyObject* item = frame.top(count - i).get();
    ok = materialize_if_shadow(tracer, item) && PyDict_SetItem(built.get(), PyTuple_GET_ITEM(keys.get(), i), item) == 0;
  }
  for (int32_t i = 0; i < count; ++i) frame.drop();
  return ok ? std::move(built) : Ref();
}

Ref build_string(Tracer& tracer, Frame& frame, int32_t count) {
  std::vector<PyObject*> parts(count);
  for (int32_t i = 0; i < count; ++i) parts[i] = frame.top(count - i).get();
  Ref empty = Ref::made(PyUnicode_New(0, 0));
  Ref joined = std::ranges::any_of(parts, is_runtime_value) ? deferred_join(tracer, parts)
                                                            : join_strings(empty.get(), parts.data(), count);
  for (int32_t i = 0; i < count; ++i) frame.drop();
  return joined;
}

Ref convert_value(Tracer& tracer, PyObject* value, int32_t conversion) {
  if (is_runtime_value(value) && conversion == 1) return deferred_format(tracer, value, nullptr, true);
  if (is_fake(value)) return tracer.abort(BreakReason::TensorToText, "a tensor is formatted into a string");
  if (is_exception_from_outside(tracer, value) && conversion != 3)
    return text_of_exception(tracer, value, conversion == 2 ? "__repr__" : "__str__");
  if (!prepare_for_native(tracer, value) || !can_show(tracer, value)) return nullptr;
  Ref converted = Ref::steal(conversion == 1   ? PyObject_Str(value)
                             : conversion == 2 ? PyObject_Repr(value)
                                               : PyObject_ASCII(value));
  return tracer.is_over() ? Ref() : converted;
}

Ref format_value(Tracer& tracer, PyObject* value, PyObject* spec, int32_t conversion) {
  if (is_fake(value) && conversion == 0) {
    Ref nothing = Ref::made(PyUnicode_New(0, 0));
    if (auto answer = overridden_method(tracer, "__format__",
                                        {Ref::borrow(value), spec ? Ref::borrow(spec) : std::move(nothing)}))
      return std::move(*answer);
  }
  if (is_runtime_value(value) && conversion <= 1) return deferred_format(tracer, value, spec, conversion == 1);
  Ref converted = Ref::borrow(value);
  if (conversion) {
    converted = convert_value(tracer, value, conversion);
    if (!converted) return nullptr;
  } else {
    if (is_fake(value)) return tracer.abort(BreakReason::TensorToText, "a tensor is formatted into a string");
    if (is_exception_from_outside(tracer, value) && !spec) return text_of_exception(tracer, value, "__str__");
    if (!prepare_for_native(tracer, value) || !can_show(tracer, value)) return nullptr;
  }
  if (PyUnicode_CheckExact(converted.get()) && !spec) return converted;
  if (!can_format(tracer, converted.get(), spec)) return nullptr;
  Ref formatted = Ref::steal(PyObject_Format(converted.get(), spec));
  return tracer.is_over() ? Ref() : formatted;
}

namespace {

void raise_too_many(Tracer& tracer, PyObject* iterable, int32_t wanted) {
  const bool tells_size = kUnpackingTellsSize &&
                          (PyList_CheckExact(iterable) || PyTuple_CheckExact(iterable) || PyDict_CheckExact(iterable));
  if (!tells_size) {
    PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", wanted);
  } else if (const Ref size = length(tracer, iterable)) {
    PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d, got %S)", wanted, size.get());
  }
}

}  // namespace

bool unpack(Tracer& tracer, Frame& frame, PyObject* iterable, int32_t before, int32_t after) {
  std::vector<Ref> items;
  if (!is_fake(iterable)) {
    if (!PyTuple_CheckExact(iterable) && !PyList_CheckExact(iterable) && !Py_TYPE(iterable)->tp_iter &&
        !PySequence_Check(iterable)) {
      PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object", Py_TYPE(iterable)->tp_name);
      return false;
    }
  }
  Ref iterator = iterator_of(tracer, iterable);
  if (!iterator) return false;
  while (after >= 0 || static_cast<int32_t>(items.size()) <= before) {
    Ref item = next_item(tracer, iterator.get());
    if (!item) {
      if (PyErr_Occurred()) return false;
      break;
    }
    items.push_back(std::move(item));
  }
  const auto count = static_cast<int32_t>(items.size());
  if (after < 0 && count != before) {
    if (count < before)
      PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected %d, got %d)", before, count);
    else
      raise_too_many(tracer, iterable, before);
    return false;
  }
  if (after >= 0) {
    if (count < before + after) {
      PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected at least %d, got %d)", before + after,
                   count);
      return false;
    }
    Ref rest = Ref::made(PyList_New(0));
    for (int32_t i = before; i < count - after; ++i)
      if (PyList_Append(rest.get(), items[i].get()) < 0) return false;
    for (int32_t i = count - 1; i >= count - after; --i) frame.push(std::move(items[i]));
    frame.push(std::move(rest));
  }
  for (int32_t i = before - 1; i >= 0; --i) frame.push(std::move(items[i]));
  return true;
}

bool fill_target(Tracer& tracer, Frame& frame, int32_t depth) {
  return materialize_if_shadow(tracer, frame.top(depth).get());
}

bool extend_list(Tracer& tracer, PyObject* list, PyObject* iterable) {
  if (is_fake(iterable) || is_traced_generator(iterable)) {
    Ref iterator = iterator_of(tracer, iterable);
    if (!iterator || !ask_length_hint(tracer, iterable)) return false;
    while (Ref item = next_item(tracer, iterator.get()))
      if (PyList_Append(list, item.get()) < 0) return false;
    return !PyErr_Occurred();
  }
  if (!prepare_for_native(tracer, iterable)) return false;
  guard_special_methods(tracer, iterable);
  if (tracer.is_over()) return false;
  if (!Py_TYPE(iterable)->tp_iter && !PySequence_Check(iterable)) {
    PyErr_Format(PyExc_TypeError, "Value after * must be an iterable, not %.200s", Py_TYPE(iterable)->tp_name);
    return false;
  }
  Ref done = extend_native_list(list, iterable);
  return done && !tracer.is_over();
}

bool update_dict(Tracer& tracer, PyObject* dict, PyObject* update) {
  if (!prepare_for_native(tracer, update)) return false;
  if (PyDict_Update(dict, update) == 0) return !tracer.is_over();
  // Whoever raised it, the instruction takes it for a missing `keys`.
  if (!tracer.is_over() && PyErr_ExceptionMatches(PyExc_AttributeError))
    PyErr_Format(PyExc_TypeError, "'%.200s' object is not a mapping", Py_TYPE(update)->tp_name);
  return false;
}

bool merge_keywords(Tracer& tracer, PyObject* dict, PyObject* update) {
  if (!prepare_for_native(tracer, update)) return false;
  if (merge_keywords_into(dict, update) == 0) return !tracer.is_over();
  if (tracer.is_over()) return false;
  return tracer.abort(BreakReason::KeywordMerge, "** unpacking in a call raised") != nullptr;
}

}  // namespace minidynamo
