#include "tensor/dispatch/memo.h"

#include <bit>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include <ATen/Context.h>

#include "tensor/fake/fake.h"
#include "tensor/symbolic/size_node.h"
#include "tensor/symbolic/symbolic_fake.h"

namespace minidynamo {
namespace {

// Past this many entries the memo starts again from nothing: programs with so many shapes gain nothing from it.
constexpr size_t kMaximumEntries = 200'000;

enum Tag : uint64_t {
  kNone = 1,
  kBool,
  kInt,
  kDouble,
  kComplex,
  kString,
  kDevice,
  kList,
  kTensor,
  kUndefinedTensor,
  kSymbols,
  kSymbolicInt,
  kFloatOfSizes,
};

uint64_t word(Tag tag, uint64_t payload) { return tag | payload << 8; }

uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }

uint64_t hash_of(c10::ArrayRef<uint64_t> words) {
  uint64_t hash = 0x9E3779B97F4A7C15ull ^ words.size();
  for (uint64_t value : words) {
    hash = (hash ^ value) * 0xFF51AFD7ED558CCDull;
    hash ^= hash >> 32;
  }
  return hash;
}

// The global state that metadata depends on.
uint64_t global_state() {
  const at::Context& context = at::globalContext();
  return static_cast<uint64_t>(c10::get_default_dtype_as_scalartype()) |
         static_cast<uint64_t>(context.deterministicAlgorithms()) << 8 |
         static_cast<uint64_t>(context.userEnabledMkldnn()) << 9;
}

struct View {
  c10::ArrayRef<uint64_t> words;
  uint64_t hash;
};
struct Owned {
  std::vector<uint64_t> words;
  uint64_t hash;
};
struct Hash {
  using is_transparent = void;
  size_t operator()(const View& key) const noexcept { return key.hash; }
  size_t operator()(const Owned& key) const noexcept { return key.hash; }
};
struct Equal {
  using is_transparent = void;
  static bool same(c10::ArrayRef<uint64_t> a, c10::ArrayRef<uint64_t> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(uint64_t)) == 0;
  }
  bool operator()(const Owned& a, const Owned& b) const noexcept { return same(a.words, b.words); }
  bool operator()(const View& a, const Owned& b) const noexcept { return same(a.words, b.words); }
  bool operator()(const Owned& a, const View& b) const noexcept { return same(a.words, b.words); }
};

struct Memo {
  std::mutex mutex;
  std::unordered_map<Owned, std::shared_ptr<const MetadataResult>, Hash, Equal> entries;
  long hits = 0, misses = 0;

  // Leaked on purpose: operators may run while the process shuts down.
  static Memo& instance() {
    static Memo* memo = [] {
      on_operator_removed(&clear_fake_memo);
      return new Memo();
    }();
    return *memo;
  }
};

}  // namespace

bool MemoKey::build(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                    c10::ArrayRef<const at::Tensor*> tensors) {
  words_.push_back(reinterpret_cast<uintptr_t>(&info));
  words_.push_back(global_state());
  for (const c10::IValue& value : arguments) {
    if (!add(value, tensors)) return false;
  }
  if (const auto& trace = current_trace_sizes())
    if (const uint64_t unknown = trace->unknown_symbols()) words_.push_back(unknown);
  hash_ = hash_of(words_);
  return true;
}

void MemoKey::add_tensor(c10::ArrayRef<const at::Tensor*> tensors) {
  const size_t number = next_tensor_++;
  const at::Tensor& tensor = *tensors[number];
  if (!tensor.defined()) {
    words_.push_back(kUndefinedTensor);
    return;
  }
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const c10::Device device = impl->device();
  const c10::IntArrayRef sizes = impl->sizes();
  const c10::IntArrayRef strides = impl->strides();
  // Operators answer differently when arguments overlap or are one tensor.
  size_t shares = number;
  bool same_tensor = false;
  for (size_t i = 0; i < number; ++i) {
    const at::Tensor& earlier = *tensors[i];
    if (earlier.defined() && same_storage(earlier.unsafeGetTensorImpl()->unsafe_storage(), impl->unsafe_storage())) {
      shares = i;
      same_tensor = earlier.is_same(tensor);
      break;
    }
  }
  words_.push_back(word(
      kTensor, static_cast<uint64_t>(sizes.size()) << 8 |
                   static_cast<uint64_t>(c10::typeMetaToScalarType(impl->dtype())) << 16 |
                   static_cast<uint64_t>(device.type()) << 24 |
                   static_cast<uint64_t>(static_cast<uint8_t>(device.index())) << 32 |
                   static_cast<uint64_t>(impl->is_conj()) << 40 | static_cast<uint64_t>(impl->is_neg()) << 41 |
                   static_cast<uint64_t>(impl->is_wrapped_number()) << 42 | static_cast<uint64_t>(same_tensor) << 43));
  words_.push_back(shares);
  words_.append(sizes.begin(), sizes.end());
  words_.append(strides.begin(), strides.end());
  words_.push_back(static_cast<uint64_t>(impl->storage_offset()));
  add_symbols(tensor);
}

void MemoKey::add_symbols(const at::Tensor& tensor) {
  const SymbolicFake* symbolic = SymbolicFake::of(tensor);
  if (!symbolic) return;
  words_.push_back(kSymbols);
  for (const Expression size : symbolic->symbols()->sizes) words_.push_back(static_cast<uint64_t>(size.id));
  for (const Expression stride : symbolic->symbols()->strides) words_.push_back(static_cast<uint64_t>(stride.id));
  words_.push_back(static_cast<uint64_t>(symbolic->symbols()->offset.id));
}

bool MemoKey::add(const c10::IValue& value, c10::ArrayRef<const at::Tensor*> tensors) {
  if (value.isTensor()) {
    add_tensor(tensors);
  } else if (value.isNone()) {
    words_.push_back(kNone);
  } else if (value.isInt()) {
    words_.push_back(kInt);
    words_.push_back(static_cast<uint64_t>(value.toInt()));
  } else if (value.isSymInt()) {
    const SizeNode* node = SizeNode::of(value.toSymInt());
    if (!node) return false;
    words_.push_back(word(kSymbolicInt, static_cast<uint64_t>(node->expression().id)));
    words_.push_back(static_cast<uint64_t>(node->trace()->value_of(node->expression())));
  } else if (value.isSymFloat()) {
    const SizeNode* node = SizeNode::of(value.toSymFloat());
    if (!node) return false;
    words_.push_back(word(kFloatOfSizes, static_cast<uint64_t>(node->expression().id)));
    words_.push_back(static_cast<uint64_t>(node->trace()->value_of(node->expression())));
  } else if (value.isBool()) {
    words_.push_back(word(kBool, value.toBool()));
  } else if (value.isDouble()) {
    words_.push_back(kDouble);
    words_.push_back(bits(value.toDouble()));
  } else if (value.isComplexDouble()) {
    const c10::complex<double> number = value.toComplexDouble();
    words_.push_back(kComplex);
    words_.push_back(bits(number.real()));
    words_.push_back(bits(number.imag()));
  } else if (value.isList()) {
    const c10::ArrayRef<c10::IValue> items = value.toListRef();
    words_.push_back(word(kList, items.size()));
    for (const c10::IValue& item : items) {
      if (!add(item, tensors)) return false;
    }
  } else if (value.isDevice()) {
    const c10::Device device = value.toDevice();
    words_.push_back(word(kDevice, static_cast<uint64_t>(device.type()) |
                                       static_cast<uint64_t>(static_cast<uint8_t>(device.index())) << 8));
  } else if (value.isString()) {
    const std::string& text = value.toStringRef();
    words_.push_back(word(kString, text.size()));
    for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
      uint64_t piece = 0;
      std::memcpy(&piece, text.data() + i, std::min(sizeof(piece), text.size() - i));
      words_.push_back(piece);
    }
  } else {
    return false;
  }
  return true;
}

std::shared_ptr<const MetadataResult> find_in_memo(const MemoKey& key) {
  Memo& memo = Memo::instance();
  std::lock_guard lock(memo.mutex);
  const auto found = memo.entries.find(View{key.words(), key.hash()});
  if (found == memo.entries.end()) {
    ++memo.misses;
    return nullptr;
  }
  ++memo.hits;
  return found->second;
}

void add_to_memo(const MemoKey& key, std::shared_ptr<const MetadataResult> result) {
  Memo& memo = Memo::instance();
  std::lock_guard lock(memo.mutex);
  if (memo.entries.size() >= kMaximumEntries) memo.entries.clear();
  memo.entries.insert_or_assign(Owned{key.words().vec(), key.hash()}, std::move(result));
}

FakeMemoStatistics fake_memo_statistics() noexcept {
  Memo& memo = Memo::instance();
  std::lock_guard lock(memo.mutex);
  return {memo.hits, memo.misses, static_cast<long>(memo.entries.size())};
}

void clear_fake_memo() noexcept {
  Memo& memo = Memo::instance();
  std::lock_guard lock(memo.mutex);
  memo.entries.clear();
  memo.hits = memo.misses = 0;
}

}  // namespace minidynamo
