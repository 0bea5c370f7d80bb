#include "model/native/text_conventions.h"

#include <algorithm>
#include <clocale>
#include <string_view>

#include "python/cached.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/types.h"

namespace minidynamo {
namespace {

// Empty for what is no str, or one that UTF-8 does not know.
std::string_view text_of(PyObject* object) noexcept {
  Py_ssize_t size = 0;
  const char* text = object && PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : nullptr;
  if (!text) clear_error();
  return text ? std::string_view(text, static_cast<size_t>(size)) : std::string_view();
}

bool has(std::string_view text, std::string_view part) noexcept { return text.find(part) != std::string_view::npos; }

bool refuse(Tracer& tracer, std::string detail) {
  return tracer.abort(BreakReason::TextConvention, std::move(detail)) != nullptr;
}

// The form of numbers is guarded by the locale's name.
bool guard_number_locale(Tracer& tracer) {
  const Ref category = Ref::made(PyLong_FromLong(LC_NUMERIC));
  const Ref parts = Ref::made(PyTuple_Pack(2, static_cast<PyObject*>("_locale.setlocale"_imported), category.get()));
  const Ref asked = Ref::steal(PyObject_CallObject(as_object(known_types()->partial), parts.get()));
  const Ref name = asked ? Ref::steal(PyObject_CallNoArgs(asked.get())) : Ref();
  if (!name) return false;
  guard_state(tracer, asked.get(), "locale.setlocale, LC_NUMERIC", name.get());
  return true;
}

bool is_of_datetime(PyTypeObject* type) noexcept {
  for (; type; type = type->tp_base) {
    const std::string_view name = type->tp_name;
    if (name == "datetime.date" || name == "datetime.time") return true;
  }
  return false;
}

// True if a date looks the same in every locale in that format, and asks no time zone.
bool is_date_format_of_numbers(std::string_view format) noexcept {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    if (++i == format.size() || !has("YmdHMSfjyIuGVwUW%", format.substr(i, 1))) return false;
  }
  return true;
}

bool can_format_date(Tracer& tracer, PyObject* format) {
  return !format || is_date_format_of_numbers(text_of(format)) ||
         refuse(tracer, "a date is written by the conventions of the locale");
}

// The argument that a method gets, by its place behind the object or by name.
PyObject* given(PyObject* callable, const Arguments& arguments, size_t place, const char* name) noexcept {
  const size_t at = place + (PyCFunction_Check(callable) || PyType_Check(callable) ? 0 : 1);
  if (at < arguments.positional_count()) return arguments.values[at].get();
  for (size_t k = 0; k < arguments.keyword_count(); ++k)
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments.keyword_names, k), name))
      return arguments.values[arguments.positional_count() + k].get();
  return nullptr;
}

// True for encodings that CPython takes without a look into its registry of codecs, and for those of its own that the
// registry returns as C functions: it asks CPython's own encodings before the program's.
bool is_builtin_encoding(std::string_view name) noexcept {
  static constexpr std::string_view kNames[] = {
      "utf8",      "utf_8",     "utf16", "utf_16",   "utf32",  "utf_32",  "utf_16_le",  "utf_16_be",
      "utf_32_le", "utf_32_be", "ascii", "us_ascii", "latin1", "latin_1", "iso_8859_1", "iso8859_1"};
  char plain[16];
  if (name.size() > sizeof plain) return false;
  std::transform(name.begin(), name.end(), plain, [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (c == '-' || c == ' ') ? '_' : c);
  });
  return std::ranges::find(kNames, std::string_view(plain, name.size())) != std::end(kNames);
}

bool is_builtin_handler(std::string_view name) noexcept {
  static constexpr std::string_view kNames[] = {
      "strict", "ignore", "replace", "xmlcharrefreplace", "backslashreplace", "surrogateescape", "surrogatepass"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

bool can_convert(Tracer& tracer, PyObject* encoding, PyObject* errors) {
  if (encoding && PyUnicode_Check(encoding) && !is_builtin_encoding(text_of(encoding)))
    return refuse(tracer, "the codec '" + std::string(text_of(encoding)) + "' is looked up");
  if (errors && PyUnicode_Check(errors) && !is_builtin_handler(text_of(errors)))
    return refuse(tracer, "the error handler '" + std::string(text_of(errors)) + "' is looked up");
  return true;
}

// str.format: which value is written how, is not looked at.
bool can_format_all(Tracer& tracer, std::string_view text, const Arguments& arguments) {
  const bool nests = has(text, "}}");
  if ((has(text, "n}") || nests) && has(text, ":") && !guard_number_locale(tracer)) return false;
  if (!has(text, ":") || (!nests && is_date_format_of_numbers(text))) return true;
  for (const Ref& value : arguments.values)
    if (is_of_datetime(value.type()) || !is_constant(value.get()))
      return refuse(tracer, "str.format() may write a date by the conventions of the locale");
  return true;
}

std::string_view name_of(PyObject* callable) noexcept {
  if (PyCFunction_Check(callable)) return as_builtin(callable)->m_ml->ml_name;
  const bool is_method = Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyWrapperDescr_Type);
  return is_method ? text_of(PyDescr_NAME(callable)) : std::string_view();
}

// A pattern with re.LOCALE.
bool matches_by_locale(PyObject* pattern) {
  constexpr long kLocale = 4;
  if (std::string_view(Py_TYPE(pattern)->tp_name) != "re.Pattern") return false;
  const Ref flags = Ref::steal(PyObject_GetAttr(pattern, "flags"_name));
  const long value = flags ? PyLong_AsLong(flags.get()) : 0;
  clear_error();
  return value & kLocale;
}

}  // namespace

bool can_format(Tracer& tracer, PyObject* value, PyObject* spec) {
  if (!spec) return true;
  if (is_of_datetime(Py_TYPE(value))) return can_format_date(tracer, spec);
  return !text_of(spec).ends_with('n') || guard_number_locale(tracer);
}

bool can_call_text_method(Tracer& tracer, PyObject* callable, PyObject* self, const Arguments& arguments) {
  if (!self || PyType_Check(self)) return true;
  const std::string_view name = name_of(callable);
  if (PyUnicode_Check(self)) {
    if (name == "encode")
      return can_convert(tracer, given(callable, arguments, 0, "encoding"), given(callable, arguments, 1, "errors"));
    if (name == "format" || name == "format_map") return can_format_all(tracer, text_of(self), arguments);
    return true;
  }
  if (PyBytes_Check(self) || PyByteArray_Check(self))
    return name != "decode" ||
           can_convert(tracer, given(callable, arguments, 0, "encoding"), given(callable, arguments, 1, "errors"));
  if (name == "__format__") return can_format(tracer, self, given(callable, arguments, 0, ""));
  if (name == "strftime" && is_of_datetime(Py_TYPE(self)))
    return can_format_date(tracer, given(callable, arguments, 0, "format"));
  return !matches_by_locale(self) || refuse(tracer, "a pattern with re.LOCALE is used");
}

bool can_make_text(Tracer& tracer, PyTypeObject* type, const Arguments& arguments) {
  if (type != &PyUnicode_Type && type != &PyBytes_Type && type != &PyByteArray_Type) return true;
  PyObject* const callable = as_object(type);
  return can_convert(tracer, given(callable, arguments, 1, "encoding"), given(callable, arguments, 2, "errors"));
}

}  // namespace minidynamo
