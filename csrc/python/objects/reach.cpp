#include "python/objects/reach.h"

#include <frameobject.h>

#include <unordered_set>

#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "python/scoped_value.h"

namespace minidynamo {
namespace {

class Search {
 public:
  Search(const std::function<Visit(PyObject*)>& look, Reach reach) noexcept : look_(look), reach_(reach) {}

  bool reaches(PyObject* object) {
    const ScopedValue<int> deeper{depth_, depth_ + 1};
    const Visit what = look_(object);
    if (what != Visit::Enter) return what == Visit::Found;
    const traverseproc traverse = PyObject_IS_GC(object) ? Py_TYPE(object)->tp_traverse : nullptr;
    if (!traverse || leads_elsewhere(object) || !seen_.insert(object).second) return false;
    if (depth_ > reach_.depth || seen_.size() > reach_.most) return reach_.beyond;
    return traverse(object, visit, this) != 0;
  }

 private:
  const std::function<Visit(PyObject*)>& look_;
  const Reach reach_;
  int depth_ = 0;
  std::unordered_set<PyObject*> seen_;

  static int visit(PyObject* object, void* search) {
    bool reaches = true;
    try_to([&] { reaches = static_cast<Search*>(search)->reaches(object); });
    return reaches;
  }

  static bool leads_elsewhere(PyObject* object) noexcept {
    return PyFrame_Check(object) || PyTraceBack_Check(object) || PyWeakref_Check(object) ||
           (PyDict_CheckExact(object) && (named_item(object, "__builtins__") || named_item(object, "__build_class__")));
  }
};

}  // namespace

bool reaches(PyObject* object, const std::function<Visit(PyObject*)>& look, Reach reach) {
  return Search(look, reach).reaches(object);
}

}  // namespace minidynamo
