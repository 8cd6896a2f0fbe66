// ServableHandle: a reference to a version of a servable, which keeps that version loaded.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "serving/core/servable_id.h"

namespace tessera::serving {

// Counts the handles of a version. The count is spread over stripes, one cache line each, so that
// threads that serve the same version do not contend for one line. A handle decrements the stripe
// that it incremented, on whatever thread it is destroyed.
class HolderCount {
 public:
  struct alignas(64) Stripe {
    std::atomic<int64_t> holders{0};
  };

  // Returns the stripe of the calling thread.
  Stripe& ThreadStripe() { return stripes_[ThreadIndex() % kStripes]; }
  // Returns true if there is no handle. That is final only once no more handles can be acquired.
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

// A pointer to an object of any type, which remembers the type without RTTI.
class AnyServable {
 public:
  AnyServable() = default;
  template <typename T>
  explicit AnyServable(T* object)
      : type_(&kTypeTag<T>), object_(const_cast<std::remove_const_t<T>*>(object)) {}
  // Returns null if the object is of another type.
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

// A reference to a servable, which is not unloaded while the handle exists. Movable; empty after it
// was moved from. As thread-safe as a plain pointer, and may be destroyed on another thread than
// the one that acquired it. The destructor of a manager waits for all of its handles.
template <typename T>
class ServableHandle {
 public:
  ServableHandle() = default;
  // Takes over one count of `stripe`. Only managers call this.
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
  // The reference is valid as long as the handle.
  const ServableId& id() const { return *id_; }
  int64_t version() const { return id_->version; }

 private:
  T* servable_ = nullptr;
  const ServableId* id_ = nullptr;
  HolderCount::Stripe* stripe_ = nullptr;
};

}  // namespace tessera::serving
