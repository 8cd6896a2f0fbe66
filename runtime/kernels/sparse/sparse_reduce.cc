// Sparse tensors reduced and combined: SparseReduceSum, SparseReduceMax, SparseSoftmax, SparseAdd,
// SparseSparseMaximum, SparseSparseMinimum.
#include <cmath>
#include <limits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/strides.h"
#include "runtime/kernels/primitives/wrapping.h"
#include "runtime/kernels/sparse/row_major_order.h"
#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {
namespace {

// Which dimensions stay, and what the result's shape is.
struct Reduction {
  absl::InlinedVector<int, 8> kept;
  IndexVector kept_shape;  // of the dimensions that stay
  IndexVector shape;       // of the result: with the reduced ones as 1, if they are kept
};

absl::StatusOr<Reduction> MakeReduction(const SparseTensor& input, const Tensor& axes,
                                        bool keep_dims) {
  Tensor flat = axes;
  if (axes.rank() > 1) {
    ASSIGN_OR_RETURN(flat, axes.Reshaped(Shape{axes.num_elements()}));
  }
  ASSIGN_OR_RETURN(const IndexVector named, ReadIndexVector(flat, "reduction_axes"));
  absl::InlinedVector<bool, 8> reduced(input.rank(), false);
  for (int64_t name : named) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(name, input.rank(), "reduction axis"));
    reduced[axis] = true;
  }
  Reduction reduction;
  for (int d = 0; d < input.rank(); ++d) {
    if (!reduced[d]) {
      reduction.kept.push_back(d);
      reduction.kept_shape.push_back(input.shape[d]);
    }
    if (!reduced[d] || keep_dims) reduction.shape.push_back(reduced[d] ? 1 : input.shape[d]);
  }
  return reduction;
}

// Values with equal kept indices become one: their sum or maximum. `groups` gets one entry a group,
// with the kept index, in row-major order; `values` its value. As in TensorFlow, a NaN is the
// maximum of what comes before it, and what comes next that of itself.
template <typename T>
void Reduce(const SparseTensor& input, const Reduction& reduction, bool max,
            std::vector<int64_t>* groups, std::vector<T>* values) {
  const int depth = static_cast<int>(reduction.kept.size());
  std::vector<int64_t> keys(input.count() * depth);
  for (int64_t i = 0; i < input.count(); ++i) {
    for (int d = 0; d < depth; ++d) keys[i * depth + d] = input.index(i)[reduction.kept[d]];
  }
  const std::vector<int64_t> order =
      RowMajorOrder(keys.data(), input.count(), reduction.kept_shape);
  const T* const in = input.values.data<T>();
  for (size_t n = 0; n < order.size(); ++n) {
    const int64_t* const key = keys.data() + order[n] * depth;
    const T value = in[order[n]];
    if (n > 0 && CompareIndices(key, keys.data() + order[n - 1] * depth, depth) == 0) {
      if (!max) {
        values->back() = WrappingAdd(values->back(), value);
      } else if constexpr (requires { value < value; }) {
        if (!(value < values->back())) values->back() = value;
      }
    } else {
      groups->insert(groups->end(), key, key + depth);
      values->push_back(value);
    }
  }
}

// Dense (zeros where no value is) or, for the Sparse ops, sparse.
class SparseReduceKernel : public OpKernel {
 public:
  explicit SparseReduceKernel(const KernelBuild& build)
      : max_(build.op().name.find("Max") != std::string::npos),
        sparse_(build.num_outputs() > 1),
        keep_dims_(build.attr<bool>("keep_dims")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input, SparseTensor::Input(ctx, 0));
    ASSIGN_OR_RETURN(const Reduction reduction, MakeReduction(input, ctx.input(3), keep_dims_));
    RETURN_IF_ERROR(input.CheckInBounds());
    return VisitNumericType(input.values.dtype(), [&]<typename T>() -> absl::Status {
      std::vector<int64_t> groups;
      std::vector<T> values;
      Reduce(input, reduction, max_, &groups, &values);
      return sparse_ ? SetSparse(ctx, reduction, groups, values)
                     : SetDense(ctx, reduction, groups, values);
    });
  }

 private:
  template <typename T>
  absl::Status SetDense(KernelContext& ctx, const Reduction& reduction,
                        const std::vector<int64_t>& groups, const std::vector<T>& values) const {
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(reduction.shape));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    ZeroElements(output->dtype(), output->mutable_raw(), output->num_elements());
    const auto strides = RowMajorStrides(reduction.kept_shape);
    for (size_t g = 0; g < values.size(); ++g) {
      int64_t at = 0;
      for (size_t d = 0; d < strides.size(); ++d) at += groups[g * strides.size() + d] * strides[d];
      output->data<T>()[at] = values[g];
    }
    return absl::OkStatus();
  }

  template <typename T>
  absl::Status SetSparse(KernelContext& ctx, const Reduction& reduction,
                         const std::vector<int64_t>& groups, const std::vector<T>& values) const {
    ASSIGN_OR_RETURN(const SparseOutput output,
                     AllocateSparse(ctx, 0, static_cast<int64_t>(values.size()), reduction.shape));
    std::copy(values.begin(), values.end(), output.values->data<T>());
    int64_t* index = output.indices->data<int64_t>();
    const size_t depth = reduction.kept.size(), rank = reduction.shape.size();
    for (size_t g = 0; g < values.size(); ++g, index += rank) {
      std::fill_n(index, rank, 0);
      for (size_t d = 0; d < depth; ++d) {
        index[keep_dims_ ? static_cast<size_t>(reduction.kept[d]) : d] = groups[g * depth + d];
      }
    }
    return absl::OkStatus();
  }

  const bool max_, sparse_, keep_dims_;
};
REGISTER_KERNEL("SparseReduceSum", kCpu, SparseReduceKernel);
REGISTER_KERNEL("SparseReduceMax", kCpu, SparseReduceKernel);
REGISTER_KERNEL("SparseReduceSumSparse", kCpu, SparseReduceKernel);
REGISTER_KERNEL("SparseReduceMaxSparse", kCpu, SparseReduceKernel);

// Softmax over the values of each row (all dimensions but the last fixed); missing ones count as
// minus infinity.
class SparseSoftmaxKernel : public OpKernel {
 public:
  explicit SparseSoftmaxKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input, SparseTensor::Input(ctx, 0));
    if (input.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input must have rank 2 or more, has ", input.rank()));
    }
    RETURN_IF_ERROR(input.CheckInBounds());
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, input.values.shape()));
    switch (input.values.dtype()) {
      case DType::kDouble:
        Run<double>(input, output);
        break;
      case DType::kHalf:
        Run<Eigen::half>(input, output);
        break;
      default:
        Run<float>(input, output);
        break;
    }
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static void Run(const SparseTensor& input, Tensor* output) {
    const T* const in = input.values.data<T>();
    T* const out = output->data<T>();
    const int row_rank = input.rank() - 1;
    for (int64_t begin = 0, end; begin < input.count(); begin = end) {
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (end = begin; end < input.count() &&
                        CompareIndices(input.index(begin), input.index(end), row_rank) == 0;
           ++end) {
        largest = std::max(largest, static_cast<double>(in[end]));
      }
      for (int64_t i = begin; i < end; ++i) sum += std::exp(static_cast<double>(in[i]) - largest);
      for (int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<T>(std::exp(static_cast<double>(in[i]) - largest) / sum);
      }
    }
  }
};
REGISTER_KERNEL("SparseSoftmax", kCpu, SparseSoftmaxKernel);

// Calls visit(i, j) for all indices of either operand in row-major order: i and j number the values
// there, -1 where an operand has none.
template <typename Visit>
void ForEachInUnion(const SparseTensor& a, const SparseTensor& b, Visit visit) {
  int64_t i = 0, j = 0;
  while (i < a.count() || j < b.count()) {
    const int order = i >= a.count()   ? 1
                      : j >= b.count() ? -1
                                       : CompareIndices(a.index(i), b.index(j), a.rank());
    visit(order <= 0 ? i : -1, order >= 0 ? j : -1);
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
}

absl::Status CheckSameShape(const SparseTensor& a, const SparseTensor& b) {
  if (a.shape == b.shape) return absl::OkStatus();
  return absl::InvalidArgumentError("the operands must have one dense shape");
}

// The sum of two sparse tensors in row-major order, without sums smaller than `thresh`; what one of
// them has alone is kept whatever its size.
class SparseAddKernel : public OpKernel {
 public:
  explicit SparseAddKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor a, SparseTensor::Input(ctx, 0));
    ASSIGN_OR_RETURN(const SparseTensor b, SparseTensor::Input(ctx, 3));
    RETURN_IF_ERROR(CheckSameShape(a, b));
    if (a.rank() == 0) return absl::InvalidArgumentError("the tensors must have dimensions");
    const Tensor& threshold = ctx.input(6);
    if (threshold.rank() != 0) return absl::InvalidArgumentError("thresh must be a scalar");
    double least = 0;
    RETURN_IF_ERROR(VisitRealType(threshold.dtype(), [&]<typename T>() {
      least = static_cast<double>(threshold.scalar<T>());
      return absl::OkStatus();
    }));
    // Numbers of one type are compared in it: not all integers of 64 bits are doubles.
    const auto reaches_threshold = [&]<typename M>(M magnitude) {
      return threshold.dtype() == DTypeOf<M> ? magnitude >= threshold.scalar<M>()
                                             : static_cast<double>(magnitude) >= least;
    };
    return VisitNumericType(a.values.dtype(), [&]<typename T>() -> absl::Status {
      std::vector<std::pair<const int64_t*, T>> sums;
      ForEachInUnion(a, b, [&](int64_t i, int64_t j) {
        if (i < 0) {
          sums.emplace_back(b.index(j), b.values.data<T>()[j]);
        } else if (j < 0) {
          sums.emplace_back(a.index(i), a.values.data<T>()[i]);
        } else {
          const T sum = WrappingAdd(a.values.data<T>()[i], b.values.data<T>()[j]);
          if (reaches_threshold(Magnitude(sum))) sums.emplace_back(a.index(i), sum);
        }
      });
      ASSIGN_OR_RETURN(const SparseOutput output,
                       AllocateSparse(ctx, 0, static_cast<int64_t>(sums.size()), a.shape));
      for (size_t n = 0; n < sums.size(); ++n) {
        std::copy_n(sums[n].first, a.rank(), output.indices->data<int64_t>() + n * a.rank());
        output.values->data<T>()[n] = sums[n].second;
      }
      return absl::OkStatus();
    });
  }

 private:
  // The smallest int32 and int64 have themselves as magnitude, as in TensorFlow.
  template <typename T>
  static auto Magnitude(const T& value) {
    if constexpr (!std::is_integral_v<T>) {
      return std::abs(static_cast<double>(value));
    } else if constexpr (std::is_unsigned_v<T>) {
      return value;
    } else if constexpr (sizeof(T) < sizeof(int)) {
      return std::abs(int{value});
    } else {
      return value < 0 ? WrappingMultiply(value, T{-1}) : value;
    }
  }
  template <typename T>
  static T Magnitude(const std::complex<T>& value) {
    return std::abs(value);
  }
};
REGISTER_KERNEL("SparseAdd", kCpu, SparseAddKernel);

// The larger (smaller) of two sparse tensors at each index of either; missing values are zeros. A
// NaN of either is the result.
class SparseExtremumKernel : public OpKernel {
 public:
  explicit SparseExtremumKernel(const KernelBuild& build)
      : max_(build.op().name == "SparseSparseMaximum") {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor a, SparseTensor::Input(ctx, 0));
    ASSIGN_OR_RETURN(const SparseTensor b, SparseTensor::Input(ctx, 3));
    RETURN_IF_ERROR(CheckSameShape(a, b));
    if (a.rank() == 0) return absl::InvalidArgumentError("the tensors must not be scalars");
    RETURN_IF_ERROR(a.CheckInBounds());
    RETURN_IF_ERROR(b.CheckInBounds());
    int64_t count = 0;
    ForEachInUnion(a, b, [&](int64_t, int64_t) { ++count; });
    ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(0, Shape{count, a.rank()}));
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(1, Shape{count}));
    return VisitRealType(a.values.dtype(), [&]<typename T>() {
      int64_t n = 0;
      ForEachInUnion(a, b, [&](int64_t i, int64_t j) {
        const T x = i >= 0 ? a.values.data<T>()[i] : T(0);
        const T y = j >= 0 ? b.values.data<T>()[j] : T(0);
        std::copy_n(i >= 0 ? a.index(i) : b.index(j), a.rank(),
                    indices->data<int64_t>() + n * a.rank());
        values->data<T>()[n++] = y != y || (max_ ? x < y : y < x) ? y : x;
      });
      return absl::OkStatus();
    });
  }

 private:
  const bool max_;
};
REGISTER_KERNEL("SparseSparseMaximum", kCpu, SparseExtremumKernel);
REGISTER_KERNEL("SparseSparseMinimum", kCpu, SparseExtremumKernel);

}  // namespace
}  // namespace tessera
