// Named state that outlives steps: variables, tables, queues, by container.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include "absl/strings/string_view.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Keeps resources by (container, type name, name). The empty container is "localhost".
// Thread-safe.
class ResourceManager {
 public:
  ResourceManager() = default;
  ~ResourceManager();

  // Errors: ALREADY_EXISTS.
  absl::Status Create(absl::string_view container, absl::string_view type_name,
                      absl::string_view name, IntrusivePtr<Resource> resource);
  // Errors: NOT_FOUND, naming container, type and name.
  absl::StatusOr<IntrusivePtr<Resource>> Lookup(absl::string_view container,
                                                absl::string_view type_name,
                                                absl::string_view name) const;
  // `make` runs at most once a name, under the lock: it must not call the manager.
  absl::StatusOr<IntrusivePtr<Resource>> LookupOrCreate(
      absl::string_view container, absl::string_view type_name, absl::string_view name,
      const std::function<absl::StatusOr<IntrusivePtr<Resource>>()>& make);
  // Errors: NOT_FOUND.
  absl::Status Delete(absl::string_view container, absl::string_view type_name,
                      absl::string_view name);
  // Drops all of a container; missing ones are fine.
  void ClearContainer(absl::string_view container);
  void Clear();

  // Calls `visit(container, type, name, resource)` for each, in no order, outside the lock.
  void ForEach(const std::function<void(const std::string&, const std::string&, const std::string&,
                                        Resource&)>& visit) const;

 private:
  struct Key {
    std::string container, type_name, name;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.container, k.type_name, k.name);
    }
    friend bool operator==(const Key&, const Key&) = default;
  };
  mutable absl::Mutex mu_;
  absl::flat_hash_map<Key, IntrusivePtr<Resource>> resources_ ABSL_GUARDED_BY(mu_);
};

// A variable: the state behind VarHandleOp (by handle) and VariableV2 (by reference edge).
// Reading shares the buffer; writers replace the tensor or, when they hold the only reference,
// change it in place, so that a tensor once read never changes under its reader.
class Variable : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "variable";
  // Under which v1's variables are kept: a handle and a reference of one name are two variables.
  static constexpr absl::string_view kRefTypeName = "ref_variable";

  Variable(DType dtype, PartialShape shape) : dtype_(dtype), shape_(std::move(shape)) {}

  DType dtype() const { return dtype_; }
  const PartialShape& declared_shape() const { return shape_; }

  // Shares the value. A tensor without a value if uninitialised.
  Tensor Read() const {
    absl::ReaderMutexLock lock(&mu_);
    return value_;
  }
  bool initialized() const {
    absl::ReaderMutexLock lock(&mu_);
    return value_.has_value();
  }
  void Assign(Tensor value) {
    absl::MutexLock lock(&mu_);
    std::swap(value_, value);  // the old value dies after the lock is dropped
  }
  // Runs `update(tensor)` under the lock; it may change or replace the tensor. Use
  // CanWriteInPlace() of the tensor to see whether it must be copied first.
  absl::Status Update(absl::FunctionRef<absl::Status(Tensor&)> update) {
    absl::MutexLock lock(&mu_);
    return update(value_);
  }

  std::string DebugString() const override;

 private:
  const DType dtype_;
  const PartialShape shape_;
  mutable absl::Mutex mu_;
  Tensor value_ ABSL_GUARDED_BY(mu_);
};

// The resource a handle names: the one it carries, or the manager's.
// Errors: NOT_FOUND; INVALID_ARGUMENT if it is of another C++ class.
template <typename T>
absl::StatusOr<IntrusivePtr<T>> LookupResource(const ResourceManager& manager,
                                               const ResourceHandle& handle) {
  IntrusivePtr<Resource> resource = handle.resource;
  if (!resource) {
    auto found = manager.Lookup(handle.container, handle.type_name, handle.name);
    if (!found.ok()) return found.status();
    resource = *std::move(found);
  }
  Resource& untyped = *resource;
  if (T* typed = dynamic_cast<T*>(&untyped)) return IntrusivePtr<T>(typed);
  return absl::InvalidArgumentError("resource '" + handle.name + "' is " + untyped.DebugString() +
                                    ", not what this op works on");
}

}  // namespace tessera
