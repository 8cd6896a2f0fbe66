// Joining strings: StringJoin, ReduceJoin, UnsortedSegmentJoin.
#include "absl/strings/str_join.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/strides.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// Element by element over tensors of one shape; scalars go with all elements.
class StringJoinKernel : public OpKernel {
 public:
  explicit StringJoinKernel(const KernelBuild& build)
      : separator_(build.attr<std::string>("separator")) {}
  absl::Status Compute(KernelContext& ctx) override {
    Shape shape;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Shape& other = ctx.input(i).shape();
      if (other.IsScalar()) continue;
      if (!shape.IsScalar() && !(shape == other)) {
        return absl::InvalidArgumentError(
            absl::StrCat("inputs must be scalars or have one shape: input ", i, " has ",
                         other.ToString(), ", one before it has ", shape.ToString()));
      }
      shape = other;
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    auto out = output->flat<std::string>();
    for (size_t i = 0; i < out.size(); ++i) {
      for (int k = 0; k < ctx.num_inputs(); ++k) {
        if (k > 0) out[i] += separator_;
        const auto part = ctx.input(k).flat<std::string>();
        out[i] += ctx.input(k).rank() == 0 ? part[0] : part[i];
      }
    }
    return absl::OkStatus();
  }

 private:
  const std::string separator_;
};
REGISTER_KERNEL("StringJoin", kCpu, StringJoinKernel);

// Joins along some dimensions: along the first named one first, then along the next.
class ReduceJoinKernel : public OpKernel {
 public:
  explicit ReduceJoinKernel(const KernelBuild& build)
      : separator_(build.attr<std::string>("separator")),
        keep_dims_(build.attr<bool>("keep_dims")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int rank = input.rank();
    ASSIGN_OR_RETURN(const IndexVector named, ReadIndexVector(ctx.input(1), "reduction_indices"));
    absl::InlinedVector<bool, 8> reduced(rank, false);
    const auto strides = RowMajorStrides(input.shape().dims());
    // The kept dimensions in order, then the reduced ones in theirs.
    IndexVector dims, from_strides, result_dims;
    IndexVector reduced_dims, reduced_strides;
    for (int64_t name : named) {
      const absl::StatusOr<int> axis_or = NormalizeAxis(name, rank, "reduction dimension");
      if (!axis_or.ok()) return absl::OutOfRangeError(axis_or.status().message());
      const int axis = *axis_or;
      if (reduced[axis]) {
        return absl::InvalidArgumentError(
            absl::StrCat("reduction dimension ", axis, " is named twice"));
      }
      reduced[axis] = true;
      // The first named dimension moves fastest.
      reduced_dims.insert(reduced_dims.begin(), input.dim(axis));
      reduced_strides.insert(reduced_strides.begin(), strides[axis]);
    }
    // Strings a result. Only an input without elements has dimensions whose product overflows.
    int64_t joined = 1;
    for (int64_t dim : reduced_dims) {
      if (__builtin_mul_overflow(joined, dim, &joined)) joined = 0;
    }
    for (int d = 0; d < rank; ++d) {
      if (!reduced[d]) {
        dims.push_back(input.dim(d));
        from_strides.push_back(strides[d]);
      }
      if (!reduced[d] || keep_dims_) result_dims.push_back(reduced[d] ? 1 : input.dim(d));
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(result_dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    const std::string* const from = input.data<std::string>();
    auto out = output->flat<std::string>();
    IndexVector position(dims.size(), 0), inner(reduced_dims.size(), 0);
    for (std::string& result : out) {
      int64_t offset = 0;
      for (size_t d = 0; d < dims.size(); ++d) offset += position[d] * from_strides[d];
      std::fill(inner.begin(), inner.end(), 0);
      for (int64_t j = 0; j < joined; ++j) {
        if (j > 0) result += separator_;
        int64_t at = offset;
        for (size_t d = 0; d < inner.size(); ++d) at += inner[d] * reduced_strides[d];
        result += from[at];
        Advance(reduced_dims, &inner);
      }
      Advance(dims, &position);
    }
    return absl::OkStatus();
  }

 private:
  static void Advance(const IndexVector& dims, IndexVector* position) {
    for (size_t d = dims.size(); d-- > 0;) {
      if (++(*position)[d] < dims[d]) return;
      (*position)[d] = 0;
    }
  }

  const std::string separator_;
  const bool keep_dims_;
};
REGISTER_KERNEL("ReduceJoin", kCpu, ReduceJoinKernel);

// Joins the slices of each segment; negative segment ids are left out.
class SegmentJoinKernel : public OpKernel {
 public:
  explicit SegmentJoinKernel(const KernelBuild& build)
      : separator_(build.attr<std::string>("separator")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& ids = ctx.input(1);
    ASSIGN_OR_RETURN(const int64_t segments, ReadIntegerOfScalar(ctx.input(2), "num_segments"));
    if (segments < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_segments must be non-negative, is ", segments));
    }
    bool fits = ids.rank() > 0 && ids.rank() <= input.rank();
    for (int d = 0; fits && d < ids.rank(); ++d) fits = ids.dim(d) == input.dim(d);
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("segment_ids of shape ", ids.shape().ToString(),
                       " must begin the shape of the inputs, ", input.shape().ToString()));
    }
    IndexVector dims(input.shape().dims().begin() + ids.rank(), input.shape().dims().end());
    dims.insert(dims.begin(), segments);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    const int64_t slice = DimProduct(input.shape(), ids.rank(), input.rank());
    const auto from = input.flat<std::string>();
    auto to = output->flat<std::string>();
    return VisitIndexType(ids.dtype(), [&]<typename Index>() -> absl::Status {
      const auto id = ids.flat<Index>();
      for (size_t i = 0; i < id.size(); ++i) {
        const int64_t segment = static_cast<int64_t>(id[i]);
        if (segment < 0 || segment >= segments) {
          return absl::InvalidArgumentError(absl::StrCat("segment_ids[", i, "] = ", segment,
                                                         " does not lie in [0, ", segments, ")"));
        }
        for (int64_t j = 0; j < slice; ++j) {
          std::string& joined = to[segment * slice + j];
          if (!joined.empty()) joined += separator_;
          joined += from[static_cast<int64_t>(i) * slice + j];
        }
      }
      return absl::OkStatus();
    });
  }

 private:
  const std::string separator_;
};
REGISTER_KERNEL("UnsortedSegmentJoin", kCpu, SegmentJoinKernel);

}  // namespace
}  // namespace tessera
