// Sparse tensors that wait under a number, by which queues pass them: AddSparseToTensorsMap,
// AddManySparseToTensorsMap, TakeManySparseFromTensorsMap.
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/sparse/sparse_batch.h"
#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {
namespace {

// The tensors that were added and not taken yet. Thread-safe.
class SparseTensorsMap : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "SparseTensorsMap";
  std::string DebugString() const override {
    absl::MutexLock lock(&mu_);
    return absl::StrCat("map of ", tensors_.size(), " sparse tensors");
  }

  // Returns the number of the tensor.
  int64_t Add(SparseTensor sparse) {
    absl::MutexLock lock(&mu_);
    tensors_[next_] = std::move(sparse);
    return next_++;
  }
  // Errors: INVALID_ARGUMENT if there is no such tensor.
  absl::StatusOr<SparseTensor> Take(int64_t number) {
    absl::MutexLock lock(&mu_);
    const auto found = tensors_.find(number);
    if (found == tensors_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Unable to find SparseTensor: ", number, " in map"));
    }
    SparseTensor sparse = std::move(found->second);
    tensors_.erase(found);
    return sparse;
  }

 private:
  mutable absl::Mutex mu_;
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<int64_t, SparseTensor> tensors_ ABSL_GUARDED_BY(mu_);
};

// Finds the map of a node by the attributes `container` and `shared_name`.
class MapFinder {
 public:
  explicit MapFinder(const KernelBuild& build)
      : container_(build.attr<std::string>("container")),
        name_(build.attr<std::string>("shared_name").empty()
                  ? build.node_name()
                  : build.attr<std::string>("shared_name")) {}

  absl::StatusOr<IntrusivePtr<SparseTensorsMap>> Find(KernelContext& ctx) const {
    ASSIGN_OR_RETURN(const IntrusivePtr<Resource> found,
                     ctx.resources().LookupOrCreate(container_, SparseTensorsMap::kTypeName, name_,
                                                    []() -> absl::StatusOr<IntrusivePtr<Resource>> {
                                                      return IntrusivePtr<Resource>(
                                                          MakeRefCounted<SparseTensorsMap>());
                                                    }));
    return IntrusivePtr<SparseTensorsMap>(static_cast<SparseTensorsMap*>(found.get()));
  }

 private:
  const std::string container_, name_;
};

class AddKernel : public OpKernel {
 public:
  explicit AddKernel(const KernelBuild& build) : finder_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(SparseTensor sparse, SparseTensor::Input(ctx, 0));
    ASSIGN_OR_RETURN(const auto map, finder_.Find(ctx));
    return SetScalarOutput<int64_t>(ctx, 0, map->Add(std::move(sparse)));
  }

 private:
  const MapFinder finder_;
};
REGISTER_KERNEL("AddSparseToTensorsMap", kCpu, AddKernel);

// Adds each row for itself. Output: a number for each. As in TensorFlow, rows without elements get
// the last numbers. Errors: INVALID_ARGUMENT for indices out of range, repeated or out of order.
class AddManyKernel : public OpKernel {
 public:
  explicit AddManyKernel(const KernelBuild& build) : finder_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor sparse, SparseTensor::Input(ctx, 0));
    RETURN_IF_ERROR(sparse.CheckOrdered());
    ASSIGN_OR_RETURN(std::vector<SparseTensor> rows, SplitRows(ctx, sparse));
    ASSIGN_OR_RETURN(const auto map, finder_.Find(ctx));
    ASSIGN_OR_RETURN(Tensor* const numbers,
                     ctx.AllocateOutput(0, Shape{static_cast<int64_t>(rows.size())}));
    int64_t* const to = numbers->data<int64_t>();
    for (const bool is_empty : {false, true}) {
      for (size_t i = 0; i < rows.size(); ++i) {
        if ((rows[i].count() == 0) == is_empty) to[i] = map->Add(rows[i]);
      }
    }
    return absl::OkStatus();
  }

 private:
  const MapFinder finder_;
};
REGISTER_KERNEL("AddManySparseToTensorsMap", kCpu, AddManyKernel);

// Joins the tensors of these numbers to one, and takes them out of the map.
// Errors: INVALID_ARGUMENT for a number that is not there, and for different ranks or dtypes.
class TakeManyKernel : public OpKernel {
 public:
  explicit TakeManyKernel(const KernelBuild& build)
      : finder_(build), dtype_(build.attr<DType>("dtype")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& numbers = ctx.input(0);
    if (!numbers.shape().IsVector() || numbers.num_elements() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("sparse_handles must be a vector with at least one handle, has shape ",
                       numbers.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const auto map, finder_.Find(ctx));
    std::vector<SparseTensor> parts;
    for (const int64_t number : numbers.flat<int64_t>()) {
      ASSIGN_OR_RETURN(parts.emplace_back(), map->Take(number));
      if (parts.back().values.dtype() == dtype_) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Requested SparseTensor of type ", DTypeName(dtype_), " but SparseTensor ",
                       number, " has dtype ", DTypeName(parts.back().values.dtype())));
    }
    return JoinSparse(ctx, parts, {numbers.num_elements()});
  }

 private:
  const MapFinder finder_;
  const DType dtype_;
};
REGISTER_KERNEL("TakeManySparseFromTensorsMap", kCpu, TakeManyKernel);

}  // namespace
}  // namespace tessera
