// Sparse tensors put in order, together and apart: SparseReorder, SparseConcat, SparseSplit,
// SparseSlice.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/gather.h"
#include "runtime/kernels/primitives/ravel_multi_index.h"
#include "runtime/kernels/primitives/sort.h"
#include "runtime/kernels/primitives/wrapping.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/sparse/sparse_tensor.h"
#include "runtime/kernels/vector_output.h"

namespace tessera {
namespace {

void CopyValue(const SparseTensor& from, int64_t i, Tensor* to, int64_t at) {
  const int64_t width = static_cast<int64_t>(DTypeSize(from.values.dtype()));
  CopyElements(from.values.dtype(), from.values.raw() + i * width, to->mutable_raw() + at * width,
               1);
}

// Copies the indices and values with these numbers to the beginning of two tensors.
void CopyInOrder(const SparseTensor& from, absl::Span<const int64_t> order, Tensor* indices,
                 Tensor* values) {
  const int rank = from.rank();
  int64_t* index = indices->data<int64_t>();
  for (const int64_t i : order) {
    for (int d = 0; d < rank; ++d) *index++ = from.index(i)[d];
  }
  VisitStorageType(from.values.dtype(), [&]<typename T>() {
    const T* const old_values = reinterpret_cast<const T*>(from.values.raw());
    T* value = reinterpret_cast<T*>(values->mutable_raw());
    for (const int64_t i : order) *value++ = old_values[i];
  });
}

class SparseReorderKernel : public OpKernel {
 public:
  explicit SparseReorderKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input, SparseTensor::Input(ctx, 0));
    RETURN_IF_ERROR(input.CheckInBounds());
    const std::vector<int64_t> order = input.Order();
    ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(0, input.indices.shape()));
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(1, input.values.shape()));
    CopyInOrder(input, order, indices, values);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SparseReorder", kCpu, SparseReorderKernel);

// The same on other devices: what is sorted is the place of each value in the dense tensor, which
// must therefore have fewer than 2^63 elements. An index outside of the dense shape, which nobody
// on the host sees, comes first.
class DeviceSparseReorderKernel : public OpKernel {
 public:
  explicit DeviceSparseReorderKernel(const KernelBuild& build)
      : ravel_(build), top_k_(build), gather_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input, SparseTensor::Input(ctx, 0));
    ASSIGN_OR_RETURN(const Shape dense, Shape::Make(input.shape));
    ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(0, input.indices.shape()));
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(1, input.values.shape()));
    const int64_t count = input.count();
    if (count == 0) return absl::OkStatus();
    const Shape vector{count};
    ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemp(DType::kInt64, vector));
    RETURN_IF_ERROR(ravel_(ctx, dense, input.indices, BadIndices::kSkip, &places));
    ASSIGN_OR_RETURN(Tensor sorted, ctx.AllocateTemp(DType::kInt64, vector));
    ASSIGN_OR_RETURN(Tensor order, ctx.AllocateTemp(DType::kInt64, vector));
    RETURN_IF_ERROR(top_k_(ctx, {.k = count, .is_greatest = false}, places, &sorted, &order));
    const Gather::Geometry rows{.size = count, .picks = count, .slice = input.rank()};
    RETURN_IF_ERROR(gather_(ctx, rows, input.indices, order, BadIndices::kSkip, indices));
    const Gather::Geometry elements{.size = count, .picks = count};
    return gather_(ctx, elements, input.values, order, BadIndices::kSkip, values);
  }

 private:
  const Primitive<RavelMultiIndex> ravel_;
  const Primitive<TopK> top_k_;
  const Primitive<Gather> gather_;
};
constexpr KernelDevices::Predicate kReorderDevices = DevicesOf<RavelMultiIndex, TopK, Gather>;
REGISTER_KERNEL("SparseReorder", kReorderDevices, DeviceSparseReorderKernel)
    .HostMemory("input_shape");

// Along dimension `concat_dim`; the others must agree.
class SparseConcatKernel : public OpKernel {
 public:
  explicit SparseConcatKernel(const KernelBuild& build)
      : indices_(build.inputs("indices")),
        values_(build.inputs("values")),
        shapes_(build.inputs("shapes")),
        axis_(build.attr<int64_t>("concat_dim")) {}
  absl::Status Compute(KernelContext& ctx) override {
    std::vector<SparseTensor> inputs;
    int64_t count = 0;
    for (int k = 0; k < indices_.size(); ++k) {
      ASSIGN_OR_RETURN(SparseTensor input, SparseTensor::Make(ctx.input(indices_.begin + k),
                                                              ctx.input(values_.begin + k),
                                                              ctx.input(shapes_.begin + k)));
      count += input.count();
      inputs.push_back(std::move(input));
    }
    const int rank = inputs[0].rank();
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, rank, "concat_dim"));
    IndexVector shape = inputs[0].shape;
    shape[axis] = 0;
    for (size_t k = 0; k < inputs.size(); ++k) {
      bool fits = inputs[k].rank() == rank;
      for (int d = 0; fits && d < rank; ++d) fits = d == axis || inputs[k].shape[d] == shape[d];
      if (!fits || __builtin_add_overflow(shape[axis], inputs[k].shape[axis], &shape[axis])) {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", k, " of dense shape ",
                         ctx.input(shapes_.begin + static_cast<int>(k)).ToString(),
                         " must agree with input 0 in all dimensions but ", axis));
      }
    }
    // First one after the other, then in row-major order.
    SparseTensor joined;
    joined.shape = shape;
    ASSIGN_OR_RETURN(joined.indices, ctx.AllocateTemp(DType::kInt64, Shape{count, rank}));
    ASSIGN_OR_RETURN(joined.values, ctx.AllocateTemp(inputs[0].values.dtype(), Shape{count}));
    int64_t at = 0, offset = 0;
    for (const SparseTensor& input : inputs) {
      for (int64_t i = 0; i < input.count(); ++i, ++at) {
        int64_t* const index = joined.indices.data<int64_t>() + at * rank;
        std::copy_n(input.index(i), rank, index);
        index[axis] = WrappingAdd(index[axis], offset);  // indices outside the shape can be large
        CopyValue(input, i, &joined.values, at);
      }
      offset += input.shape[axis];
    }
    const std::vector<int64_t> order = joined.Order();
    ASSIGN_OR_RETURN(const SparseOutput output, AllocateSparse(ctx, 0, count, shape));
    CopyInOrder(joined, order, output.indices, output.values);
    return absl::OkStatus();
  }

 private:
  const ArgRange indices_, values_, shapes_;
  const int64_t axis_;
};
REGISTER_KERNEL("SparseConcat", kCpu, SparseConcatKernel);

// Returns the numbers of the values whose index lies in [begin, end) of each dimension. Without a
// branch on whether one does, which is hard to predict.
std::vector<int64_t> ValuesInBox(const SparseTensor& input, absl::Span<const int64_t> begin,
                                 absl::Span<const int64_t> end) {
  const int rank = input.rank();
  const int64_t count = input.count();
  std::vector<int64_t> inside(count);
  const int64_t* index = input.indices.data<int64_t>();
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i, index += rank) {
    bool in = true;
    for (int d = 0; d < rank; ++d) in &= (index[d] >= begin[d]) & (index[d] < end[d]);
    inside[found] = i;
    found += in;
  }
  inside.resize(found);
  return inside;
}

// Outputs, at positions (indices, values, shapes), the values within a box: those whose index lies
// in [begin, begin + size) of each dimension. The box ends within the dense shape.
absl::Status SetBox(KernelContext& ctx, const SparseTensor& input, absl::Span<const int64_t> begin,
                    const IndexVector& size, int indices_at, int values_at, int shape_at) {
  const int rank = input.rank();
  IndexVector end(size);
  for (int d = 0; d < rank; ++d) end[d] += begin[d];
  const std::vector<int64_t> inside = ValuesInBox(input, begin, end);
  const int64_t count = static_cast<int64_t>(inside.size());
  ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(indices_at, Shape{count, rank}));
  ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(values_at, Shape{count}));
  RETURN_IF_ERROR(SetVectorOutput(ctx, shape_at, absl::MakeConstSpan(size)));
  CopyInOrder(input, inside, indices, values);
  int64_t* index = indices->data<int64_t>();
  for (int64_t n = 0; n < count; ++n) {
    for (int d = 0; d < rank; ++d) *index++ -= begin[d];
  }
  return absl::OkStatus();
}

// Nearly equal pieces along a dimension: the first ones take what is left over.
class SparseSplitKernel : public OpKernel {
 public:
  explicit SparseSplitKernel(const KernelBuild& build)
      : pieces_(build.attr<int64_t>("num_split")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input, SparseTensor::Input(ctx, 1));
    ASSIGN_OR_RETURN(const int64_t dim, ReadIntegerOfScalar(ctx.input(0), "split_dim"));
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(dim, input.rank(), "split_dim"));
    if (pieces_ < 1 || pieces_ > input.shape[axis]) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " of size ",
                                                     input.shape[axis], " cannot be split into ",
                                                     pieces_, " pieces"));
    }
    RETURN_IF_ERROR(input.CheckInBounds());
    IndexVector begin(input.rank(), 0), size = input.shape;
    for (int64_t piece = 0; piece < pieces_; ++piece) {
      size[axis] = input.shape[axis] / pieces_ + (piece < input.shape[axis] % pieces_ ? 1 : 0);
      const int at = static_cast<int>(piece), n = static_cast<int>(pieces_);
      RETURN_IF_ERROR(SetBox(ctx, input, begin, size, at, n + at, 2 * n + at));
      begin[axis] += size[axis];
    }
    return absl::OkStatus();
  }

 private:
  const int64_t pieces_;
};
REGISTER_KERNEL("SparseSplit", kCpu, SparseSplitKernel);

// A box, cut where it leaves the dense shape.
class SparseSliceKernel : public OpKernel {
 public:
  explicit SparseSliceKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input, SparseTensor::Input(ctx, 0));
    ASSIGN_OR_RETURN(const IndexVector begin, ReadIndexVector(ctx.input(3), "start"));
    ASSIGN_OR_RETURN(IndexVector size, ReadIndexVector(ctx.input(4), "size"));
    const size_t rank = input.rank();
    if (ctx.input(3).rank() != 1 || ctx.input(4).rank() != 1 || begin.size() != rank ||
        size.size() != rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("start and size must be vectors of ", rank, " numbers"));
    }
    for (size_t d = 0; d < rank; ++d) {
      if (begin[d] < 0 || size[d] < 0) {
        return absl::InvalidArgumentError("start and size must be non-negative");
      }
      size[d] = std::max<int64_t>(0, std::min(size[d], input.shape[d] - begin[d]));
    }
    return SetBox(ctx, input, begin, size, 0, 1, 2);
  }
};
REGISTER_KERNEL("SparseSlice", kCpu, SparseSliceKernel);

}  // namespace
}  // namespace tessera
