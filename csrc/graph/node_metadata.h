// The metadata of an exported node in node.meta: where it comes from, and what its tensor looks like.
#pragma once
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "graph/graph.h"
#include "python/ref.h"

namespace minidynamo {

// Stack traces in the format of Python's traceback module, outermost frame first. Pieces are formatted once per line.
class StackTraces {
 public:
  // Null with a Python error set on failure.
  Ref of(const std::shared_ptr<const CallSite>& site);

 private:
  std::unordered_map<const CallSite*, Ref> whole_;
  std::map<std::pair<PyCodeObject*, int32_t>, Ref> pieces_;
  Ref getline_;
  Ref piece(const CallSite& site);
};

// torch.fx.passes.shape_prop.TensorMetadata of a dense tensor; null with a Python error set on failure.
class TensorMetadata {
 public:
  Ref of(PyObject* tensor);

 private:
  Ref class_, formats_[3];
  bool load();
};

}  // namespace minidynamo
