// A cache of what an executor makes for the shapes of a program's arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/hash/hash.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Returns whether the arguments have these shapes.
inline bool HaveShapes(absl::Span<const Tensor> args, absl::Span<const Shape> shapes) {
  return std::equal(args.begin(), args.end(), shapes.begin(), shapes.end(),
                    [](const Tensor& arg, const Shape& shape) { return arg.shape() == shape; });
}

// Keeps the last few objects, one for each combination of argument shapes. An object is made for
// shapes that come a second time, because many shapes, such as those of texts, never come again. T
// has shapes(), which do not change. Thread-safe.
template <typename T>
class ShapeCache {
 public:
  struct Choice {
    std::shared_ptr<T> found;  // null if there is none
    bool make = false;         // the caller should make one, and add it
  };
  Choice Choose(absl::Span<const Tensor> args) {
    absl::MutexLock lock(&mu_);
    for (const auto& kept : kept_) {
      if (HaveShapes(args, kept->shapes())) return {.found = kept};
    }
    // A collision of hashes only makes a run make its object too early.
    const size_t hash = HashOfShapes(args);
    const auto seen = std::find(seen_.begin(), seen_.end(), hash);
    if (seen != seen_.end()) {
      seen_.erase(seen);
      return {.make = true};
    }
    seen_.insert(seen_.begin(), hash);
    if (seen_.size() > kMaxKept) seen_.pop_back();
    return {};
  }

  // Adds an object, or replaces the one for the same shapes: concurrent runs may all make one.
  void Add(std::shared_ptr<T> made) {
    absl::MutexLock lock(&mu_);
    kept_.erase(
        std::remove_if(kept_.begin(), kept_.end(),
                       [&](const auto& other) { return other->shapes() == made->shapes(); }),
        kept_.end());
    kept_.insert(kept_.begin(), std::move(made));
    if (kept_.size() > kMaxKept) kept_.pop_back();
  }

  // Drops an object that is of no use any more. The shapes then count as never seen.
  void Remove(const T* object) {
    absl::MutexLock lock(&mu_);
    kept_.erase(std::remove_if(kept_.begin(), kept_.end(),
                               [&](const auto& other) { return other.get() == object; }),
                kept_.end());
  }

 private:
  // Models are called with a few batch sizes.
  static constexpr size_t kMaxKept = 8;

  static size_t HashOfShapes(absl::Span<const Tensor> args) {
    size_t hash = args.size();
    for (const Tensor& arg : args) hash = absl::HashOf(hash, arg.shape().dims());
    return hash;
  }

  absl::Mutex mu_;
  std::vector<std::shared_ptr<T>> kept_ ABSL_GUARDED_BY(mu_);  // newest first
  std::vector<size_t> seen_ ABSL_GUARDED_BY(mu_);  // hashes of shapes that came once, newest first
};

}  // namespace tessera
