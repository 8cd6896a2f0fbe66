// Sorting slices into tensors and back: DynamicPartition, DynamicStitch, ParallelDynamicStitch.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/device_constant.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/scatter.h"

namespace tessera {
namespace {

// Output p holds the slices of the data whose partition is p, in order.
class DynamicPartitionKernel : public OpKernel {
 public:
  explicit DynamicPartitionKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& data = ctx.input(0);
    const Tensor& partitions = ctx.input(1);
    const int num_partitions = ctx.num_outputs();
    bool fits = partitions.rank() <= data.rank();
    for (int d = 0; fits && d < partitions.rank(); ++d) fits = partitions.dim(d) == data.dim(d);
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("partitions of shape ", partitions.shape().ToString(),
                       " must begin the shape of the data, ", data.shape().ToString()));
    }
    const auto partition = partitions.flat<int32_t>();
    std::vector<int64_t> counts(num_partitions, 0);
    for (size_t i = 0; i < partition.size(); ++i) {
      if (partition[i] < 0 || partition[i] >= num_partitions) {
        return absl::InvalidArgumentError(absl::StrCat("partitions[", i, "] = ", partition[i],
                                                       " is not in [0, ", num_partitions, ")"));
      }
      ++counts[partition[i]];
    }
    const auto rest = data.shape().dims().subspan(partitions.rank());
    std::vector<char*> to;
    for (int p = 0; p < num_partitions; ++p) {
      Shape shape(rest);
      shape.InsertDim(0, counts[p]);
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(p, shape));
      to.push_back(output->mutable_raw());
    }
    // The rows of no data may have more elements than memory has bytes.
    if (data.num_elements() == 0) return absl::OkStatus();
    const int64_t slice = Shape(rest).num_elements();
    const int64_t bytes = slice * static_cast<int64_t>(DTypeSize(data.dtype()));
    for (size_t i = 0; i < partition.size(); ++i) {
      char*& target = to[partition[i]];
      CopyElements(data.dtype(), data.raw() + static_cast<int64_t>(i) * bytes, target, slice);
      target += bytes;
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("DynamicPartition", kCpu, DynamicPartitionKernel);

// merged[indices[k][i]] = data[k][i]; where several name one place, the last wins, and places that
// nobody names are zero.
class DynamicStitchKernel : public OpKernel {
 public:
  explicit DynamicStitchKernel(const KernelBuild& build)
      : fill_(build),
        scatter_(build),
        indices_(build.inputs("indices")),
        data_(build.inputs("data")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& first = ctx.input(data_.begin);
    if (first.rank() < ctx.input(indices_.begin).rank()) return Mismatch(ctx, 0);
    const auto rest = first.shape().dims().subspan(ctx.input(indices_.begin).rank());
    int64_t size = 0;
    for (int k = 0; k < indices_.size(); ++k) {
      const Tensor& indices = ctx.input(indices_.begin + k);
      const Tensor& data = ctx.input(data_.begin + k);
      bool fits = data.rank() == indices.rank() + static_cast<int>(rest.size());
      for (int d = 0; fits && d < data.rank(); ++d) {
        fits = data.dim(d) == (d < indices.rank() ? indices.dim(d) : rest[d - indices.rank()]);
      }
      if (!fits) return Mismatch(ctx, k);
      for (int32_t index : indices.flat<int32_t>()) {
        if (index < 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("indices[", k, "] holds ", index, ", which is negative"));
        }
        size = std::max<int64_t>(size, int64_t{index} + 1);
      }
    }
    if (size > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices hold ", size - 1, ", but the output has less than 2^31 rows"));
    }
    IndexVector dims(rest.begin(), rest.end());
    dims.insert(dims.begin(), size);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    if (!NamesAllPlaces(ctx, size)) RETURN_IF_ERROR(fill_(ctx, nullptr, output));
    const int64_t slice = Shape(rest).num_elements();
    if (output->num_elements() == 0) return absl::OkStatus();
    const LastPlaces last(*this, ctx);
    for (int k = 0; k < indices_.size(); ++k) {
      ASSIGN_OR_RETURN(Tensor places, last.Of(ctx, k));
      RETURN_IF_ERROR(MoveToDevice(ctx.device(), &places));
      RETURN_IF_ERROR(scatter_(ctx, ScatterOp::kUpdate, {.size = size, .slice = slice}, places,
                               BadIndices::kSkip, ctx.input(data_.begin + k), output));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Mismatch(const KernelContext& ctx, int k) const {
    return absl::InvalidArgumentError(
        absl::StrCat("data[", k, "] of shape ", ctx.input(data_.begin + k).shape().ToString(),
                     " must have the shape of indices[", k, "], ",
                     ctx.input(indices_.begin + k).shape().ToString(),
                     ", followed by one that is the same for all inputs"));
  }

  // Whether the indices name every place of the output, which then need not be filled before.
  bool NamesAllPlaces(const KernelContext& ctx, int64_t size) const {
    int64_t count = 0;
    for (int k = 0; k < indices_.size(); ++k) count += ctx.input(indices_.begin + k).num_elements();
    if (count < size) return false;
    std::vector<bool> named(size, false);
    for (int k = 0; k < indices_.size(); ++k) {
      for (const int32_t index : ctx.input(indices_.begin + k).flat<int32_t>()) {
        named[index] = true;
      }
    }
    return std::all_of(named.begin(), named.end(), [](bool is_named) { return is_named; });
  }

  // Of several slices for one place, a device that works on several at once keeps any: it gets the
  // last one alone.
  class LastPlaces {
   public:
    LastPlaces(const DynamicStitchKernel& kernel, const KernelContext& ctx)
        : first_input_(kernel.indices_.begin),
          is_needed_(ctx.device() != nullptr && ctx.device()->type() != kCpu) {
      for (int k = 0; is_needed_ && k < kernel.indices_.size(); ++k) {
        const auto indices = ctx.input(first_input_ + k).flat<int32_t>();
        for (size_t i = 0; i < indices.size(); ++i) last_[indices[i]] = {k, i};
      }
    }
    // The indices of input k, and -1 for slices that others replace.
    absl::StatusOr<Tensor> Of(KernelContext& ctx, int k) const {
      const Tensor& given = ctx.input(first_input_ + k);
      if (!is_needed_) return given;
      ASSIGN_OR_RETURN(Tensor places,
                       ctx.AllocateTemp(DType::kInt32, given.shape(), MemoryKind::kHost));
      const auto indices = given.flat<int32_t>();
      for (size_t i = 0; i < indices.size(); ++i) {
        const bool is_last = last_.at(indices[i]) == std::pair(k, i);
        places.data<int32_t>()[i] = is_last ? indices[i] : -1;
      }
      return places;
    }

   private:
    const int first_input_;
    const bool is_needed_;
    absl::flat_hash_map<int32_t, std::pair<int, size_t>> last_;
  };

  const Primitive<Fill> fill_;
  const Primitive<Scatter> scatter_;
  const ArgRange indices_, data_;
};
REGISTER_KERNEL("DynamicStitch", (DevicesOf<Fill, Scatter>), DynamicStitchKernel)
    .HostMemory("indices");
REGISTER_KERNEL("ParallelDynamicStitch", (DevicesOf<Fill, Scatter>), DynamicStitchKernel)
    .HostMemory("indices");

}  // namespace
}  // namespace tessera
