// Named state that outlives steps: variables, tables and queues, in containers.
#pragma once

#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A map from (container, type name, name) to resources. An empty container name means "localhost".
// Thread-safe.
class ResourceManager {
 public:
  ResourceManager() = default;
  ~ResourceManager();

  // Errors: ALREADY_EXISTS.
  absl::Status Create(absl::string_view container, absl::string_view type_name,
                      absl::string_view name, IntrusivePtr<Resource> resource);
  // Errors: NOT_FOUND, which names the container, the type and the name.
  absl::StatusOr<IntrusivePtr<Resource>> Lookup(absl::string_view container,
                                                absl::string_view type_name,
                                                absl::string_view name) const;
  // Calls `make` if the resource is missing. `make` runs under the lock, at most once for a name,
  // and must not call the manager.
  absl::StatusOr<IntrusivePtr<Resource>> LookupOrCreate(
      absl::string_view container, absl::string_view type_name, absl::string_view name,
      const std::function<absl::StatusOr<IntrusivePtr<Resource>>()>& make);
  // Errors: NOT_FOUND.
  absl::Status Delete(absl::string_view container, absl::string_view type_name,
                      absl::string_view name);

  // Calls `visit(container, type, name, resource)` for each resource, in no particular order and
  // without holding the lock.
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
// Readers share the buffer. Writers replace the tensor or, if they hold the only reference, change
// it in place, so that a tensor never changes after it was read.
class Variable : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "variable";
  // The type name of v1 variables: a handle and a reference with one name are two variables.
  static constexpr absl::string_view kRefTypeName = "ref_variable";

  Variable(DType dtype, PartialShape shape) : dtype_(dtype), shape_(std::move(shape)) {}

  DType dtype() const { return dtype_; }
  const PartialShape& declared_shape() const { return shape_; }

  // Shares the value. Returns a tensor without a value if the variable is not initialised.
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
    std::swap(value_, value);  // the old value is destroyed after the lock is released
  }
  // Runs `update(tensor)` under the lock. It may change or replace the tensor, and must copy it
  // first unless CanWriteInPlace().
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

// Returns the resource that a handle names: the one that it carries, or that of the manager.
// Errors: NOT_FOUND; INVALID_ARGUMENT if the resource is of another C++ class.
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
