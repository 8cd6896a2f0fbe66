// Intrusive reference counting: the count is a member of the object, and an owner is one pointer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tessera {

// Base class of objects that IntrusivePtr owns. A new object has no owner; the object is deleted
// when its last owner releases it. Ref() and Unref() are thread-safe.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void Ref() const { count_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() const {
    // The only owner needs no atomic read-modify-write, since nobody else can add a reference.
    if (count_.load(std::memory_order_acquire) == 1 ||
        count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      Destroy();
    }
  }
  // Returns whether there is exactly one owner, which may then modify the object in place.
  bool HasOneOwner() const { return count_.load(std::memory_order_acquire) == 1; }

 protected:
  virtual ~RefCounted() = default;
  // Frees the object. A class that allocates its memory in another way overrides this.
  virtual void Destroy() const { delete this; }

 private:
  mutable std::atomic<int32_t> count_{0};
};

// Owning pointer to a RefCounted object. As thread-safe as a plain pointer.
template <typename T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  IntrusivePtr(std::nullptr_t) {}
  explicit IntrusivePtr(T* object) : object_(object) {
    if (object_) object_->Ref();
  }
  IntrusivePtr(const IntrusivePtr& other) : IntrusivePtr(other.object_) {}
  IntrusivePtr(IntrusivePtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <typename U>
  IntrusivePtr(const IntrusivePtr<U>& other) : IntrusivePtr(other.get()) {}
  template <typename U>
  IntrusivePtr(IntrusivePtr<U>&& other) noexcept : object_(other.release()) {}
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~IntrusivePtr() {
    if (object_) object_->Unref();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  void reset() { *this = IntrusivePtr(); }
  // Returns the pointer and gives up ownership, without a call of Unref().
  T* release() { return std::exchange(object_, nullptr); }

  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) {
    return a.object_ == b.object_;
  }

 private:
  T* object_ = nullptr;
};

template <typename T, typename... Args>
IntrusivePtr<T> MakeRefCounted(Args&&... args) {
  return IntrusivePtr<T>(new T(std::forward<Args>(args)...));
}

}  // namespace tessera
