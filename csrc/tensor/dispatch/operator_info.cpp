#include "tensor/dispatch/operator_info.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tensor/dispatch/fallible_operators.h"
#include "tensor/dispatch/structured_kernels.h"

namespace minidynamo {
namespace {

// Keyed by the schema's address, which the dispatcher keeps for as long as the operator is registered.
class OperatorTable {
 public:
  // Leaked on purpose: operators may be called and deregistered while the process shuts down.
  static OperatorTable& instance() {
    static OperatorTable* table = new OperatorTable();
    return *table;
  }

  const OperatorInfo* find_or_make(const c10::OperatorHandle& op) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<OperatorInfo>& slot = infos_[&op.schema()];
    if (!slot) slot = describe(op);
    return slot.get();
  }

  uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  void set_callback(void (*callback)()) noexcept { callback_ = callback; }

  void remove(const c10::OperatorHandle& op) {
    {
      std::lock_guard lock(mutex_);
      auto found = infos_.find(&op.schema());
      if (found == infos_.end()) return;
      retired_.push_back(std::move(found->second));  // another thread may be inside a call of it
      infos_.erase(found);
      epoch_.fetch_add(1, std::memory_order_release);
    }
    if (callback_) callback_();
  }

 private:
  struct Listener final : c10::OpRegistrationListener {
    void onOperatorRegistered(const c10::OperatorHandle&) override {}
    void onOperatorDeregistered(const c10::OperatorHandle& op) override { instance().remove(op); }
  };

  OperatorTable() : registration_(c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>())) {}

  static std::unique_ptr<OperatorInfo> describe(const c10::OperatorHandle& op) {
    auto info = std::make_unique<OperatorInfo>();
    const c10::FunctionSchema& schema = op.schema();
    info->name = c10::toString(schema.operator_name());
    info->argument_count = schema.arguments().size();
    info->return_count = schema.returns().size();
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      const c10::Argument& argument = schema.arguments()[i];
      if (argument.alias_info() && argument.alias_info()->isWrite()) {
        info->written_arguments.push_back(static_cast<uint16_t>(i));
      }
      if (argument.name() == "pin_memory") info->pin_memory_argument = static_cast<int>(i);
    }
    const std::string_view name = info->name;
    info->builtin = name.starts_with("aten::") || name.starts_with("prims::") || name.starts_with("prim::");
    info->composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
                      !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
    info->random = op.hasTag(at::Tag::nondeterministic_seeded);
    info->communicates = name.starts_with("_c10d_functional") || name.starts_with("c10d");
    info->divides = divides(name);
    info->may_fail = !info->builtin || fails_on_values(name);
    info->changes_layout = op.hasTag(at::Tag::inplace_view);
    info->dynamic_output = op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
    // The condition of `where` stays as it is.
    info->converts_operands =
        info->builtin && op.hasTag(at::Tag::pointwise) && info->written_arguments.empty() && name != "aten::where.self";
    info->rule = rule_of(name);
    info->structured = structured_kernel(name);
    return info;
  }

  std::mutex mutex_;
  std::unordered_map<const c10::FunctionSchema*, std::unique_ptr<OperatorInfo>> infos_;
  std::vector<std::unique_ptr<OperatorInfo>> retired_;
  std::atomic<uint64_t> epoch_{1};
  void (*callback_)() = nullptr;
  c10::RegistrationHandleRAII registration_;
};

struct CacheLine {
  const c10::FunctionSchema* schema = nullptr;
  const OperatorInfo* info = nullptr;
  uint64_t epoch = 0;
};
thread_local std::array<CacheLine, 256> recent;

}  // namespace

const OperatorInfo& operator_info(const c10::OperatorHandle& op) {
  OperatorTable& table = OperatorTable::instance();
  const c10::FunctionSchema* schema = &op.schema();
  CacheLine& line = recent[(reinterpret_cast<uintptr_t>(schema) >> 6) % recent.size()];
  const uint64_t epoch = table.epoch();
  if (line.schema != schema || line.epoch != epoch) line = {schema, table.find_or_make(op), epoch};
  return *line.info;
}

void on_operator_removed(void (*callback)()) { OperatorTable::instance().set_callback(callback); }

}  // namespace minidynamo
