#include "world/handled_before.h"

#include <utility>

namespace minidynamo {
namespace {

thread_local PyObject* handled_before = nullptr;

}  // namespace

HandledBefore::HandledBefore(PyObject* exception) noexcept : outer_(std::exchange(handled_before, exception)) {}

HandledBefore::~HandledBefore() { handled_before = outer_; }

bool was_handled_before(PyObject* exception) noexcept {
  return exception == handled_before && !was_nothing_handled_before();
}
bool was_nothing_handled_before() noexcept { return !handled_before || handled_before == Py_None; }

}  // namespace minidynamo
