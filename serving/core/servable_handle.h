// Handles: shares in a version that keep it loaded.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "serving/core/servable_id.h"

namespace tessera::serving {

// How many handles a version has. The count is spread over cache lines, so that threads that serve
// the same version do not take turns on one. A handle is counted where it was acquired and leaves
// there, on whatever thread it dies.
class HolderCount {
 public:
  struct alignas(64) Stripe {
    std::atomic<int64_t> holders{0};
  };

  // The calling thread's stripe.
  Stripe& ThreadStripe() { return stripes_[ThreadIndex() % kStripes]; }
  // True if nobody holds the version. Final only once nobody can acquire it any more.
  bool IsZero() const {
    for (const Stripe& stripe : stripes_) {
      if (stripe.holders.load(std::memory_order_acquire) != 0) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kStripes = 16;
  static size_t ThreadIndex() {
    static std::atomic<size_t> next{0};
    thread_local const size_t index = next.fetch_add(1, std::memory_order_relaxed);
    return index;
  }
  std::array<Stripe, kStripes> stripes_;
};

// A pointer that knows what it points to, without RTTI.
class AnyServable {
 public:
  AnyServable() = default;
  template <typename T>
  explicit AnyServable(T* object)
      : type_(&kTypeTag<T>), object_(const_cast<std::remove_const_t<T>*>(object)) {}
  // Null if it holds another type.
  template <typename T>
  T* get() const {
    return type_ == &kTypeTag<T> ? static_cast<T*>(object_) : nullptr;
  }

 private:
  template <typename T>
  static constexpr char kTypeTag = 0;
  const void* type_ = nullptr;
  void* object_ = nullptr;
};

// A share in a version: the servable is not unloaded while the handle lives. Movable, empty after a
// move. As thread-safe as a plain pointer; may die on another thread than it was acquired on.
// A manager waits in its destructor for the handles it gave out.
template <typename T>
class ServableHandle {
 public:
  ServableHandle() = default;
  // Takes over one count of `stripe`. For managers.
  ServableHandle(T* servable, const ServableId* id, HolderCount::Stripe* stripe)
      : servable_(servable), id_(id), stripe_(stripe) {}
  ServableHandle(ServableHandle&& other) noexcept
      : servable_(std::exchange(other.servable_, nullptr)),
        id_(std::exchange(other.id_, nullptr)),
        stripe_(std::exchange(other.stripe_, nullptr)) {}
  ServableHandle& operator=(ServableHandle&& other) noexcept {
    std::swap(servable_, other.servable_);
    std::swap(id_, other.id_);
    std::swap(stripe_, other.stripe_);
    return *this;
  }
  ~ServableHandle() {
    if (stripe_) stripe_->holders.fetch_sub(1, std::memory_order_release);
  }

  T* get() const { return servable_; }
  T* operator->() const { return servable_; }
  T& operator*() const { return *servable_; }
  explicit operator bool() const { return servable_ != nullptr; }
  // Lives as long as the handle.
  const ServableId& id() const { return *id_; }
  int64_t version() const { return id_->version; }

 private:
  T* servable_ = nullptr;
  const ServableId* id_ = nullptr;
  HolderCount::Stripe* stripe_ = nullptr;
};

}  // namespace tessera::serving
