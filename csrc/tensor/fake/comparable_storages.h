// Storage::is_alias_of raises for fakes: it asks for the pointer to their data, which they have not got. From
// torch 2.14 on the assignment to an item calls it, with the storages of the tensor and of the value.
#pragma once
#include <memory>
#include <span>

#include "python/ref.h"

namespace minidynamo {

// While one lives, Storage::is_alias_of works for the fakes among these objects.
class ComparableStorages {
 public:
  explicit ComparableStorages(std::span<const Ref> objects);
  ~ComparableStorages();
  ComparableStorages(const ComparableStorages&) = delete;
  ComparableStorages& operator=(const ComparableStorages&) = delete;

 private:
  struct Storages;
  const std::unique_ptr<Storages> storages_;
};

}  // namespace minidynamo
