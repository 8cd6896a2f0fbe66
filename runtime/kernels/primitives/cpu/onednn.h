// oneDNN as kernels use it: one engine, a stream a thread, none of its OpenMP threads, and a cache
// of primitives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera::onednn {

// The process's CPU engine. Thread-safe.
dnnl::engine& Engine();
// This thread's stream.
dnnl::stream& Stream();

// While one lives, oneDNN works for this thread on this thread alone: OpenMP's would multiply those
// of requests, and know of no other request. Primitives are made under it too, for oneDNN plans
// blocking by the number of threads.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int previous_;
};

// What a primitive does beside its product: what `post_ops` says, with the bias as an argument of
// the primitive, the tensor to add in its output, and scratch memory from the caller.
dnnl::primitive_attr Attributes(const PostOps& post_ops);

// Memory at `data` that lies as `layout` says. oneDNN writes only what a primitive has as output.
dnnl::memory Wrap(const dnnl::memory::desc& layout, const void* data);

// Bytes of plain values in a row, as a key: Key().Add(m).Add(n).Add(dtype).
class Key {
 public:
  template <typename T>
  Key& Add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  template <typename Range>
  Key& AddAll(const Range& values) {
    Add(values.size());
    for (const auto& value : values) Add(value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// `key` with what a primitive does beside its product.
Key AddTo(Key key, const PostOps& post_ops);

// Keeps up to `capacity` of what is costly to make, by key; when it is full it starts anew, which
// bounds memory under ever-changing shapes. Thread-safe.
template <typename T>
class PrimitiveCache {
 public:
  explicit PrimitiveCache(size_t capacity) : capacity_(capacity) {}

  // The entry of `key`, made by `make` (outside the lock) if there is none. dnnl::error thrown by
  // `make` becomes UNIMPLEMENTED.
  absl::StatusOr<std::shared_ptr<const T>> Get(
      const Key& key, const std::function<std::shared_ptr<const T>()>& make) {
    {
      absl::ReaderMutexLock lock(&mu_);
      if (auto it = entries_.find(key.bytes()); it != entries_.end()) return it->second;
    }
    std::shared_ptr<const T> made;
    try {
      made = make();
    } catch (const dnnl::error& e) {
      return absl::UnimplementedError(std::string("oneDNN has no primitive for this: ") + e.what());
    }
    absl::MutexLock lock(&mu_);
    if (entries_.size() >= capacity_) entries_.clear();
    entries_.emplace(key.bytes(), made);
    return made;
  }

 private:
  const size_t capacity_;
  absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<const T>> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::onednn
