// Arena and hash table of sources. A place in the table is chosen by (parent, access, key, index, absence).
#include "guard/guard_builder.h"

#include <algorithm>

#include "guard/constants.h"
#include "python/unstable.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"

namespace minidynamo {
namespace {

size_t mix(size_t hash) noexcept {
  hash ^= hash >> 32;
  hash *= 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

size_t place_hash(Source* parent, Access access, Py_hash_t key, int32_t index, bool absent) noexcept {
  size_t hash = mix(reinterpret_cast<size_t>(parent) + static_cast<size_t>(access) * 2 + absent);
  return mix(hash ^ static_cast<size_t>(key) ^ (static_cast<size_t>(static_cast<uint32_t>(index)) << 17));
}

// True if hash(object) runs C code only.
bool hashes_natively(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!hashes_natively(PyTuple_GET_ITEM(object, i))) return false;
    return true;
  }
  return is_static_class(type) || type->tp_hash == PyBaseObject_Type.tp_hash;
}

}  // namespace

Py_hash_t build_hash(PyObject* key) noexcept {
  if (!key) return 0;
  if (PyUnicode_CheckExact(key)) {
    Py_hash_t hash = reinterpret_cast<PyASCIIObject*>(key)->hash;
    return hash != -1 ? hash : PyObject_Hash(key);
  }
  return hashes_natively(key) ? key_hash(key) : reinterpret_cast<Py_hash_t>(key);
}

Py_hash_t dict_hash(const Source& source, DictHashes& known) {
  PyObject* key = source.key.get();
  if (hashes_natively(key)) return source.hash;
  PyObject* dict = source.parent ? source.parent->value.get() : nullptr;
  if (!dict || !PyDict_Check(dict) || source.parent->inline_attributes) return key_hash(key);
  const auto [hashes, is_new] = known.try_emplace(dict);
  if (is_new) {
    Py_ssize_t at = 0;
    PyObject *stored, *value;
    Py_hash_t hash;
    while (next_with_hash(dict, at, stored, value, hash)) hashes->second.emplace(stored, hash);
  }
  const auto found = hashes->second.find(key);
  return found != hashes->second.end() ? found->second : key_hash(key);
}

GuardBuilder::GuardBuilder() : table_(1024) {}

size_t GuardBuilder::place_of(Source* parent, Access access, PyObject* key, Py_hash_t hash, int32_t index,
                              bool absent) const noexcept {
  const size_t mask = table_.size() - 1;
  for (size_t place = place_hash(parent, access, hash, index, absent) & mask;; place = (place + 1) & mask) {
    const Source* source = table_[place];
    if (!source) return place;
    if (source->parent != parent || source->access != access || source->index != index || source->absent != absent)
      continue;
    if (source->key.is(key)) return place;
    if (!key || !source->key || source->hash != hash) continue;
    if (access != Access::Pinned && constants_equal(source->key.get(), key)) return place;
  }
}

Source* GuardBuilder::find(Source* parent, Access access, PyObject* key, int32_t index, bool absent) const noexcept {
  // Pinned objects are told apart by address; many cannot be hashed.
  Py_hash_t hash = access == Access::Pinned ? reinterpret_cast<Py_hash_t>(key) : build_hash(key);
  return table_[place_of(parent, access, key, hash, index, absent)];
}

Source* GuardBuilder::find_or_make(Source* parent, Access access, PyObject* key, int32_t index, PyObject* value,
                                   bool absent) {
  Py_hash_t hash = access == Access::Pinned ? reinterpret_cast<Py_hash_t>(key) : build_hash(key);
  size_t place = place_of(parent, access, key, hash, index, absent);
  if (table_[place]) return table_[place];
  if (count_ % kChunk == 0) chunks_.push_back(std::make_unique<Source[]>(kChunk));
  Source* made = &chunks_.back()[count_ % kChunk];
  made->held_elsewhere = access == Access::InstanceDict && value && is_shared(value);
  made->access = access;
  made->parent = parent;
  made->key = Ref::borrow(key);
  made->index = index;
  made->value = Ref::borrow(value);
  made->absent = absent;
  made->id = static_cast<uint32_t>(count_++);
  made->hash = hash;
  if (access == Access::InstanceDict && !absent && parent) {
    made->inline_attributes = !value || (parent->value.is(value) && instance_dict(value) != value);
    if (!value) made->value = parent->value;
  }
  table_[place] = made;
  if (count_ * 2 > table_.size()) grow();
  return made;
}

void GuardBuilder::grow() {
  table_.assign(table_.size() * 2, nullptr);
  const size_t mask = table_.size() - 1;
  for (size_t id = 0; id < count_; ++id) {
    Source& made = source(id);
    size_t place = place_hash(made.parent, made.access, made.hash, made.index, made.absent) & mask;
    while (table_[place]) place = (place + 1) & mask;
    table_[place] = &made;
  }
}

void GuardBuilder::name_pinned(Source* source, const std::string& text) {
  if (!source->text) source->text = &texts_.emplace_back(text);
}

uint32_t GuardBuilder::origin_index(PyCodeObject* code) {
  if (code == last_code_ && !origins_.empty()) return last_origin_;
  auto [found, is_new] = origin_of_.try_emplace(code, static_cast<uint32_t>(origins_.size()));
  if (is_new) {
    origin_codes_.push_back(Ref::borrow(as_object(code)));
    origins_.push_back(code ? OriginName{Ref::borrow(code->co_filename), Ref::borrow(code->co_name)} : OriginName{});
  }
  last_code_ = code;
  return last_origin_ = found->second;
}

void GuardBuilder::add(Source* source, GuardKind kind, Source* other, GuardOrigin origin) {
  if (other) {
    // SameAs and NotSameAs are symmetric.
    uint64_t low = std::min(source->id, other->id), high = std::max(source->id, other->id);
    if (!relations_.insert(high << 33 | low << 1 | (kind == GuardKind::SameAs)).second) return;
  } else {
    const auto bit = static_cast<uint16_t>(1u << static_cast<unsigned>(kind));
    if (source->guarded & bit) return;
    source->guarded |= bit;
  }
  requests_.push_back({source, other, kind, origin_index(origin.code), origin.line});
}

void GuardBuilder::keep(const std::vector<bool>& requests) {
  size_t position = 0;
  std::erase_if(requests_, [&](const GuardRequest&) { return !requests[position++]; });
}

void GuardBuilder::add_size_guard(const SizeGuard& guard) {
  sizes.push_back({guard.condition, origin_index(guard.origin.code), guard.origin.line});
}

void GuardBuilder::require_disjoint(std::vector<Source*> written, std::vector<Source*> others) {
  // In the order of making, and each source once: it may stand for several objects of the trace.
  auto in_order = [](std::vector<Source*>& sources) {
    std::sort(sources.begin(), sources.end(), [](const Source* a, const Source* b) { return a->id < b->id; });
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  };
  in_order(written);
  in_order(others);
  std::erase_if(others, [&](Source* other) {
    return std::binary_search(written.begin(), written.end(), other,
                              [](const Source* a, const Source* b) { return a->id < b->id; });
  });
  const size_t count = written.size();
  written.insert(written.end(), others.begin(), others.end());
  if (written.size() > 1) apart.push_back({std::move(written), count});
}

uint32_t GuardBuilder::gather(Source* source) {
  if (source->slot < 0) {
    source->slot = static_cast<int32_t>(gathered_.size());
    gathered_.push_back(source);
  }
  return static_cast<uint32_t>(source->slot);
}

int GuardBuilder::traverse(visitproc visit, void* arg) const {
  for (size_t id = 0; id < count_; ++id) {
    Py_VISIT(source(id).key.get());
    Py_VISIT(source(id).value.get());
  }
  for (const Ref& code : origin_codes_) Py_VISIT(code.get());
  return 0;
}

std::string number_path(std::string path, int32_t dimension) {
  return dimension >= 0 ? path + ".size(" + std::to_string(dimension) + ")" : path;
}

std::string OpenNumber::to_text() const { return number_path(source->to_text(), dimension); }

std::string Source::to_text() const {
  std::vector<PathStep> path;
  for (const Source* source = this; source; source = source->parent)
    path.insert(path.begin(), {source->access, source->key.get(), source->index, source->text});
  return path_text(path);
}

}  // namespace minidynamo
