// oneDNN as the kernels use it: one engine, a stream for each thread, no OpenMP threads, and a
// cache of primitives.
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

// Returns the process's CPU engine. Thread-safe.
dnnl::engine& Engine();
// Returns the stream of the calling thread.
dnnl::stream& Stream();

// While an object of this class lives, oneDNN runs on the calling thread alone. OpenMP threads
// would compete with those of other requests. Primitives must also be created while such an object
// lives, because oneDNN chooses its blocking by the number of threads.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int previous_;
};

// Returns whether the primitives apply the activation. oneDNN's clamps, and its leaky ReLU that
// leaks nothing, would make NaN 0; FinishSums() (post_op_rows.h) does not.
bool AppliesActivation(const PostOps& post_ops);

// Returns the attributes of a primitive that applies `post_ops`, but for an activation that is left
// out. It gets the bias as an argument, finds the tensor to add in its output, and takes scratch
// memory from the caller.
dnnl::primitive_attr Attributes(const PostOps& post_ops);

// Returns a view of `data` with the given layout. oneDNN writes only to the outputs of a primitive.
dnnl::memory Wrap(const dnnl::memory::desc& layout, const void* data);

// The arguments of one execution of a primitive. dnnl::primitive::execute() would allocate a map
// and its nodes for them.
//
//   Arguments arguments;
//   arguments.Add(DNNL_ARG_SRC, layout, data);
//   arguments.Execute(primitive);
class Arguments {
 public:
  Arguments() = default;
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // Adds a view of `data` as argument `id`, DNNL_ARG_... There are kCapacity arguments at most.
  // Throws dnnl::error.
  void Add(int id, const dnnl::memory::desc& layout, const void* data);
  // Executes `primitive` on the calling thread, and waits for it. Throws dnnl::error.
  void Execute(const dnnl::primitive& primitive) const;

 private:
  static constexpr int kCapacity = 6;
  dnnl_exec_arg_t arguments_[kCapacity];
  int size_ = 0;
};

// The concatenated bytes of plain values, as a key: Key().Add(m).Add(n).Add(dtype).
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

// Appends the post-ops to `key`.
Key AddTo(Key key, const PostOps& post_ops);

// A cache of up to `capacity` objects that are costly to create. When it is full all entries are
// dropped, which bounds the memory under ever-changing shapes. Thread-safe.
template <typename T>
class PrimitiveCache {
 public:
  explicit PrimitiveCache(size_t capacity) : capacity_(capacity) {}

  // Returns the entry of `key`. If there is none, `make` creates it, outside the lock. A
  // dnnl::error thrown by `make` becomes UNIMPLEMENTED.
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
