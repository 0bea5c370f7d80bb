// Printing is an effect: the residual code prints, in the program's order, after the graph ran.
//
// A stream of C code (sys.stdout, or a test's replacement for it) does not tell the program what is written to it, so
// that nothing in the trace depends on it. A stream whose write() is Python code is not left for later: that is traced,
// as print() would call it. A value that cannot change between its place in the program and the end of the call is
// passed to the residual code as it is, a tensor if the graph writes to nothing that shares its memory; of all else the
// trace makes the text.
#include "library/rules/handlers.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "model/native/native_call.h"
#include "model/objects/instance_dict.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "python/objects/native_contents.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/fake.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/scope.h"
#include "world/external/types.h"
#include "world/native/handler.h"
#include "world/native/native_code.h"
#include "world/native/native_objects.h"
#include "world/proxies/runtime_value.h"
#include "world/proxies/symbolic_float.h"
#include "world/state/identity.h"

namespace minidynamo::handlers {
namespace {

std::nullptr_t refuse(Tracer& tracer, const char* what) { return tracer.abort(BreakReason::Print, what); }

// The arguments of print(); null: as if not given.
struct Printed {
  std::span<const Ref> values;
  PyObject *separator = nullptr, *end = nullptr, *file = nullptr, *flush = nullptr;
};

// False: it raises.
bool read_arguments(const Arguments& arguments, Printed& printed) {
  printed.values = arguments.values.first(arguments.positional_count());
  for (size_t k = 0; k < arguments.keyword_count(); ++k) {
    const std::string_view name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(arguments.keyword_names, k));
    PyObject* value = arguments.values[arguments.positional_count() + k].get();
    if (value == Py_None) value = nullptr;
    if (name == "sep")
      printed.separator = value;
    else if (name == "end")
      printed.end = value;
    else if (name == "file")
      printed.file = value;
    else if (name == "flush")
      printed.flush = value;
    else
      return false;
  }
  auto is_text = [](PyObject* value) { return !value || PyUnicode_CheckExact(value); };
  return is_text(printed.separator) && is_text(printed.end) && (!printed.flush || is_constant(printed.flush));
}

// sys.stdout; null without a Python error: there is none. One that the trace has put there is named in the call, since
// another may be there when the residual code prints.
Ref standard_output(Tracer& tracer, Printed& printed) {
  PyObject* names = PyModule_GetDict("sys"_imported);
  if (const AttributeWrite* write = tracer.effects.pending(names, "stdout"_name)) {
    printed.file = write->value.get();
    return write->value;
  }
  Source* source = namespace_source(tracer, names, "sys.__dict__");
  if (!source) return nullptr;
  PyObject* stream = PyDict_GetItemWithError(names, "stdout"_name);
  return load_part(tracer, source, Access::DictItem, "stdout"_name, stream);
}

// An attribute that C code of a stream's class keeps, guarded; null Ref without a Python error: there is none, or
// reading it fails.
Ref load_native_part(Tracer& tracer, PyObject* stream, const char* part) {
  const Ref name = Ref::steal(interned(part));
  PyObject* descriptor = class_attribute(Py_TYPE(stream), name.get());
  if (!descriptor || !(Py_IS_TYPE(descriptor, &PyMemberDescr_Type) || Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)))
    return nullptr;
  const Ref value = native_attribute(stream, name.get());
  if (!value) return clear_error(), Ref();
  return load_part(tracer, tracer.world.source_of(stream), Access::Attribute, name.get(), value.get());
}

// A stream's buffer, and what that writes to, are files and memory of C code too, rather than objects of the program's,
// which would see when they are written to.
bool ends_in_native_code(Tracer& tracer, const Ref& stream) {
  static constinit ImportedType text{"_io.TextIOWrapper"}, writer{"_io.BufferedWriter"}, random{"_io.BufferedRandom"},
      memory{"_io.BytesIO"}, texts{"_io.StringIO"}, file{"_io.FileIO"};
  PyTypeObject* type = stream.type();
  const bool is_buffered = type == writer || type == random;
  if (!is_buffered && !PyType_IsSubtype(type, text))
    return type == memory || type == file || PyType_IsSubtype(type, texts);
  // Null if it is detached, which raises at its place.
  const Ref beneath = load_native_part(tracer, stream.get(), is_buffered ? "raw" : "buffer");
  if (!beneath || !tracer.world.source_of(beneath.get())) return false;
  const Ref own = load_from_instance(tracer, beneath.get(), "write"_name);
  return !own && !PyErr_Occurred() && ends_in_native_code(tracer, beneath);
}

enum class Stream : uint8_t { Unknown, Native, OwnNative, Python };

// The kind of a stream that an object is written to: not known where it has a `write` of its own in place of its
// class's.
Stream kind_of_stream(Tracer& tracer, PyObject* stream) {
  PyTypeObject* type = Py_TYPE(stream);
  const bool is_outside = tracer.world.source_of(stream) != nullptr;
  if (!is_outside && is_own_native(stream)) return Stream::OwnNative;
  const Ref write = lookup_in_class(tracer, type, "write"_name);
  if (!write) return Stream::Unknown;
  if (PyFunction_Check(write.get())) return Stream::Python;
  const bool is_native = is_outside && Py_IS_TYPE(write.get(), &PyMethodDescr_Type) &&
                         std::string_view(PyDescr_TYPE(write.get())->tp_name).starts_with("_io.");
  if (!is_native) return Stream::Unknown;
  if (tracer.world.is_opaque(stream)) {
    const Ref own = Ref::steal(PyObject_GenericGetDict(stream, nullptr));
    clear_error();
    if (own && PyDict_GET_SIZE(own.get())) return Stream::Unknown;
    return ends_in_native_code(tracer, Ref::borrow(stream)) ? Stream::Native : Stream::Unknown;
  }
  const Ref own = load_from_instance(tracer, stream, "write"_name);
  if (own || PyErr_Occurred()) return Stream::Unknown;
  return ends_in_native_code(tracer, Ref::borrow(stream)) ? Stream::Native : Stream::Unknown;
}

// True for a value that is the same at the end of the call, whatever happens until then, and of which print() makes the
// text itself.
bool stays_as_it_is(Tracer& tracer, PyObject* value) {
  auto is_plain = [&](PyObject* one) {
    return is_number(one) || one == Py_None || (tracer.symbols.active() && is_symbolic_int(one)) ||
           is_symbolic_float(one) || is_runtime_value(one);
  };
  if (tracer.identities.given_out.count(Ref::borrow(value))) return false;
  if (is_plain(value) || PyUnicode_CheckExact(value)) return true;
  if (!PyTuple_CheckExact(value) && std::string_view(Py_TYPE(value)->tp_name) != "torch.Size") return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
    if (!is_plain(PyTuple_GET_ITEM(value, i))) return false;
  return true;
}

// True if the text of a tensor may be made when the graph has run: not if something writes to it meanwhile, which only
// the end of the trace can tell.
bool may_be_shown_later(Tracer& tracer, PyObject* fake) {
  if (tracer.transforms.inside() || is_transform_wrapper(fake) || !tracer.may_assume()) return false;
  if (!is_plain_tensor_class(Py_TYPE(fake))) return false;
  tracer.assume(Assumption::Kind::Unwritten, fake);
  return true;
}

Ref text_of(Tracer& tracer, const Ref& value) {
  Ref text = PyUnicode_CheckExact(value.get()) ? value : call(tracer, as_object(&PyUnicode_Type), {value});
  if (text && !PyUnicode_CheckExact(text.get())) return refuse(tracer, "an object's text is no str");
  return text;
}

bool has_calls_since(const EffectLog& log, size_t place) {
  return std::any_of(log.effects().begin() + static_cast<ptrdiff_t>(place), log.effects().end(),
                     [](const Effect& effect) { return std::holds_alternative<DeferredCall>(effect); });
}

// Makes the values that print() is to be called with: objects as they are, or their texts. Texts of objects that print
// themselves, or that raise, are made in Python.
bool make_printable(Tracer& tracer, std::span<const Ref> values, bool as_texts, std::vector<Ref>& made) {
  for (const Ref& value : values) {
    if (!as_texts && stays_as_it_is(tracer, value.get())) {
      made.push_back(value);
      continue;
    }
    if (!as_texts && is_fake(value.get())) {
      if (!may_be_shown_later(tracer, value.get())) return refuse(tracer, "a tensor is printed") != nullptr;
      made.push_back(value);
      continue;
    }
    const size_t logged = tracer.effects.end();
    Ref text = text_of(tracer, value);
    if (tracer.is_over()) return false;
    if (!made.empty() && (!text || has_calls_since(tracer.effects, logged))) {
      clear_error();
      return refuse(tracer, "the text of an object is more than that") != nullptr;
    }
    if (!text) return false;
    made.push_back(std::move(text));
  }
  return true;
}

// The kinds of streams of C code, by whether a write of ASCII characters can fail.
enum class Destination : uint8_t {
  Unknown,  // the stream may refuse it: it is closed, or has an encoding that is not known here
  File,     // which may be a pipe whose reader has gone, or be on a full disk
  Memory
};

Destination destination_of(Tracer& tracer, PyObject* stream) {
  static constinit ImportedType wrapper{"_io.TextIOWrapper"}, texts{"_io.StringIO"}, memory{"_io.BytesIO"};
  const bool is_wrapper = PyType_IsSubtype(Py_TYPE(stream), wrapper);
  if (!is_wrapper && !PyType_IsSubtype(Py_TYPE(stream), texts)) return Destination::Unknown;
  const Ref closed = load_native_part(tracer, stream, "closed");
  if (!closed.is(Py_False)) return Destination::Unknown;
  if (!is_wrapper) return Destination::Memory;
  const Ref encoding = load_native_part(tracer, stream, "encoding");
  if (!encoding || !PyUnicode_CheckExact(encoding.get())) return Destination::Unknown;
  std::string name;
  for (const char c : std::string_view(PyUnicode_AsUTF8(encoding.get())))
    if (std::isalnum(static_cast<unsigned char>(c))) name += static_cast<char>(std::tolower(c));
  static constexpr std::string_view kKnown[] = {"ascii", "ansix341968", "iso88591", "latin1",  "usascii",
                                                "utf16", "utf32",       "utf8",     "utf8sig", "cp1252"};
  if (std::ranges::find(kKnown, name) == std::end(kKnown)) return Destination::Unknown;
  const Ref buffer = load_native_part(tracer, stream, "buffer");
  return buffer && buffer.type() == memory ? Destination::Memory : Destination::File;
}

// A write may be left for the residual code unless the program can catch its error, which has to be raised at its place
// then. A `with` block is assumed not to catch the errors of files.
bool may_be_written_later(Tracer& tracer, PyObject* stream, std::initializer_list<std::span<const Ref>> all) {
  const Handler handler = handler_around(*tracer.frame, tracer.frame->instruction);
  if (handler < Handler::With) return true;
  const Destination destination = destination_of(tracer, stream);
  if (destination == Destination::Unknown || (destination == Destination::File && handler == Handler::Clause)) {
    clear_error();
    return refuse(tracer, "a stream may refuse what is printed inside of try or with") != nullptr;
  }
  for (const std::span<const Ref> values : all)
    for (const Ref& value : values)
      if (value && PyUnicode_Check(value.get()) && !PyUnicode_IS_ASCII(value.get()))
        return refuse(tracer, "a text that not every encoding knows is printed inside of try or with") != nullptr;
  return true;
}

void write_later(Tracer& tracer, PyObject* method, std::span<const Ref> values) {
  tracer.effects.append_unordered_call({Ref::borrow(method), Arguments{values}.positional(), nullptr});
}

// As print() itself calls write(), with a piece at a time.
Ref print_by_python(Tracer& tracer, PyObject* stream, const Printed& printed, const std::vector<Ref>& texts) {
  auto write = [&](Ref text) {
    const Ref method = load_attribute(tracer, stream, "write"_name);
    return method && call(tracer, method.get(), {std::move(text)});
  };
  const Ref between = printed.separator ? Ref::borrow(printed.separator) : Ref::made(PyUnicode_InternFromString(" "));
  const Ref behind = printed.end ? Ref::borrow(printed.end) : Ref::made(PyUnicode_InternFromString("\n"));
  for (size_t i = 0; i < texts.size(); ++i)
    if ((i > 0 && !write(between)) || !write(texts[i])) return nullptr;
  if (!write(behind)) return nullptr;
  if (printed.flush && PyObject_IsTrue(printed.flush)) {
    const Ref method = load_attribute(tracer, stream, "flush"_name);
    if (!method || !call(tracer, method.get(), {})) return nullptr;
  }
  return Ref::none();
}

Ref keywords_for(const Printed& printed) {
  Ref keywords = Ref::made(PyDict_New());
  const std::pair<const char*, PyObject*> given[] = {
      {"sep", printed.separator}, {"end", printed.end}, {"file", printed.file}, {"flush", printed.flush}};
  for (const auto& [name, value] : given)
    if (value && PyDict_SetItemString(keywords.get(), name, value) < 0) return nullptr;
  return keywords;
}

}  // namespace

Ref builtin_print(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  Printed printed;
  if (!read_arguments(arguments, printed))
    return refuse(tracer, "something is printed with other arguments than known");
  const Ref stream = printed.file ? Ref::borrow(printed.file) : standard_output(tracer, printed);
  if (tracer.is_over() || PyErr_Occurred()) return nullptr;
  if (!stream || stream.is(Py_None)) return stream ? Ref::none() : refuse(tracer, "there is no sys.stdout");
  const Stream kind = kind_of_stream(tracer, stream.get());
  if (tracer.is_over() || PyErr_Occurred()) return nullptr;
  if (kind == Stream::Unknown) return refuse(tracer, "something is printed to a stream that is not known");
  std::vector<Ref> values;
  if (!make_printable(tracer, printed.values, kind != Stream::Native, values)) return nullptr;
  if (kind == Stream::Python) return print_by_python(tracer, stream.get(), printed, values);
  const Ref keywords = keywords_for(printed);
  const Ref positional = tuple_of(values);
  if (kind == Stream::OwnNative) {
    const NativeScope native;
    return adopt_result(tracer, Ref::steal(PyObject_Call(callable, positional.get(), keywords.get())));
  }
  const Ref marks[] = {Ref::borrow(printed.separator), Ref::borrow(printed.end)};
  if (!may_be_written_later(tracer, stream.get(), {values, marks})) return nullptr;
  tracer.effects.append_unordered_call({Ref::borrow(callable), positional, keywords});
  return Ref::none();
}

// _io.TextIOWrapper.write and flush.
Ref stream_write(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const std::span<const Ref> values = arguments.values;
  const bool is_plain = values.size() == 2 && !arguments.keyword_names && PyUnicode_CheckExact(values[1].get()) &&
                        tracer.world.source_of(values[0].get());
  if (!is_plain || kind_of_stream(tracer, values[0].get()) != Stream::Native)
    return tracer.is_over() ? Ref() : refuse(tracer, "something is written to a stream that is not known");
  if (!may_be_written_later(tracer, values[0].get(), {values.subspan(1)})) return nullptr;
  write_later(tracer, "_io.TextIOWrapper.write"_imported, values);
  return Ref::made(PyLong_FromSsize_t(PyUnicode_GET_LENGTH(values[1].get())));
}

Ref stream_flush(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const bool is_plain = arguments.values.size() == 1 && tracer.world.source_of(arguments.values[0].get());
  if (!is_plain || kind_of_stream(tracer, arguments.values[0].get()) != Stream::Native)
    return tracer.is_over() ? Ref() : refuse(tracer, "a stream is flushed that is not known");
  if (!may_be_written_later(tracer, arguments.values[0].get(), {})) return nullptr;
  write_later(tracer, "_io.TextIOWrapper.flush"_imported, arguments.values);
  return Ref::none();
}

}  // namespace minidynamo::handlers
