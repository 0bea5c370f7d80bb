// Where torch's code asks whether two fakes share memory (Storage::is_alias_of), which looks at who frees their data,
// it would be told that a fake has none. From torch 2.14 on the assignment to an item asks that of its value.
#pragma once
#include <memory>
#include <span>

#include "python/ref.h"

namespace minidynamo {

// While one lives, it may be asked of the fakes among these objects.
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
