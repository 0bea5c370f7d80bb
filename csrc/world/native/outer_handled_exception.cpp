#include "world/native/outer_handled_exception.h"

#include <utility>

namespace minidynamo {
namespace {

thread_local PyObject* outer_handled_exception = nullptr;

}  // namespace

HandledBefore::HandledBefore(PyObject* exception) noexcept
    : outer_(std::exchange(outer_handled_exception, exception)) {}

HandledBefore::~HandledBefore() { outer_handled_exception = outer_; }

bool was_handled_before(PyObject* exception) noexcept {
  return exception == outer_handled_exception && !was_nothing_handled_before();
}
bool was_nothing_handled_before() noexcept { return !outer_handled_exception || outer_handled_exception == Py_None; }

}  // namespace minidynamo
