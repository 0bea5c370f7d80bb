#include "tensor/fake/comparable_storages.h"

#include <vector>

#include "tensor/fake/fake.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/fake/tensor_object.h"

namespace minidynamo {

struct ComparableStorages::Storages {
  std::vector<c10::Storage> opened;

  void open(PyObject* object) {
    if (!is_tensor(object)) return;
    const at::Tensor& tensor = unpack_tensor(object);
    if (!is_fake_tensor(tensor) || !tensor.has_storage() || !is_fake_storage(tensor.storage())) return;
    opened.push_back(tensor.storage());
    opened.back().unsafeGetStorageImpl()->clear_data_ptr_access_error_msg_();
  }
};

ComparableStorages::ComparableStorages(std::span<const Ref> objects) : storages_(std::make_unique<Storages>()) {
  for (const Ref& object : objects) storages_->open(object.get());
}

ComparableStorages::~ComparableStorages() {
  for (const c10::Storage& storage : storages_->opened) refuse_data(storage);
}

}  // namespace minidynamo
