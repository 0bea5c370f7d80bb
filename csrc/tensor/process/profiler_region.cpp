#include "tensor/process/profiler_region.h"

#include <ATen/record_function.h>

namespace minidynamo {

ProfilerRegion::ProfilerRegion(const std::string& name)
    : region_(std::make_unique<at::RecordFunction>(at::RecordScope::FUNCTION)) {
  if (region_->isActive()) region_->before(name);
}

ProfilerRegion::~ProfilerRegion() = default;

}  // namespace minidynamo
