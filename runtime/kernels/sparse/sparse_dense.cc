// Between sparse and dense tensors: SparseToDense, SparseTensorDenseMatMul, SparseTensorDenseAdd,
// SparseDenseCwise*.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/flat_position.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/ravel_multi_index.h"
#include "runtime/kernels/primitives/scatter.h"
#include "runtime/kernels/primitives/strides.h"
#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {
namespace {

// Copies int32 or int64 indices to int64.
absl::StatusOr<Tensor> Int64Indices(KernelContext& ctx, const Tensor& indices) {
  if (indices.dtype() == DType::kInt64) return indices;
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kInt64, indices.shape()));
  VisitIndexType(indices.dtype(), [&]<typename T>() {
    std::copy_n(indices.data<T>(), indices.num_elements(), wide.data<int64_t>());
  });
  return wide;
}

// Values at indices (a scalar, a vector for rank 1, or a matrix), a default elsewhere.
class SparseToDenseKernel : public OpKernel {
 public:
  explicit SparseToDenseKernel(const KernelBuild& build)
      : fill_(build),
        ravel_(build),
        scatter_(build),
        validate_(build.attr<bool>("validate_indices")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& values = ctx.input(2);
    const Tensor& fallback = ctx.input(3);
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(1), "output_shape"));
    const int64_t count = indices.rank() > 0 ? indices.dim(0) : 1;
    const int64_t depth = indices.rank() > 1 ? indices.dim(1) : 1;
    if (indices.rank() > 2 || ctx.input(1).rank() != 1 || shape.rank() != depth ||
        values.rank() > 1 || (values.rank() == 1 && values.dim(0) != count) ||
        fallback.rank() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "indices of shape ", indices.shape().ToString(), ", values of shape ",
          values.shape().ToString(), ", a dense shape ", shape.ToString(),
          " and a default of shape ", fallback.shape().ToString(), " do not fit together"));
    }
    ASSIGN_OR_RETURN(const Tensor coordinates, indices.Reshaped(Shape{count, depth}));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    RETURN_IF_ERROR(fill_(ctx, &fallback, output));
    if (validate_ && ctx.stream() == nullptr) {
      if (SetAscending(coordinates, values, output)) return absl::OkStatus();
      return CheckCoordinates(ctx, coordinates, shape);
    }
    ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemp(DType::kInt64, Shape{count}));
    // The values of a device with memory of its own are not seen.
    const bool is_seen = IsHostAccessible(coordinates.memory_kind());
    if (is_seen) {
      RETURN_IF_ERROR(ravel_(ctx, shape, coordinates, BadIndices::kSkip, &places));
      if (!AreGood(places)) RETURN_IF_ERROR(CheckCoordinates(ctx, coordinates, shape));
    }
    if (count == 0 || output->num_elements() == 0) return absl::OkStatus();
    if (!is_seen) RETURN_IF_ERROR(ravel_(ctx, shape, coordinates, BadIndices::kError, &places));
    return scatter_(ctx, ScatterOp::kUpdate, {.size = output->num_elements()}, places,
                    BadIndices::kSkip, values, output);
  }

 private:
  // Whether all places are in bounds and, if that is asked for, ascend.
  bool AreGood(const Tensor& places) const {
    const auto flat = places.flat<int64_t>();
    bool bad = !flat.empty() && flat[0] < 0;
    if (validate_) {
      for (size_t i = 1; i < flat.size(); ++i) bad |= flat[i] <= flat[i - 1];
    } else {
      for (const int64_t place : flat) bad |= place < 0;
    }
    return !bad;
  }

  // Sets elements of `output`, on the host, to the values, of which one may be for all. Returns
  // false at the first coordinates that are out of bounds or do not ascend.
  static bool SetAscending(const Tensor& coordinates, const Tensor& values, Tensor* output) {
    bool good = true;
    VisitStorageType(values.dtype(), [&]<typename T>() {
      VisitIndexType(coordinates.dtype(), [&]<typename Index>() {
        good = VisitDepth(static_cast<int>(coordinates.dim(1)), [&]<int kDepth>() {
          return SetAscendingOf<kDepth>(coordinates.data<Index>(), coordinates.dim(0), values,
                                        reinterpret_cast<const T*>(values.raw()), output);
        });
      });
    });
    return good;
  }
  template <int kDepth, typename T, typename Index>
  static bool SetAscendingOf(const Index* coordinates, int64_t count, const Tensor& values,
                             const T* from, Tensor* output) {
    const int64_t* const dims = output->shape().dims().data();
    const int depth = output->rank();
    const int64_t step = values.rank() == 0 ? 0 : 1;
    T* const to = reinterpret_cast<T*>(output->mutable_raw());
    int64_t last = -1;
    for (int64_t i = 0; i < count; ++i, coordinates += depth) {
      const int64_t place = FlatPosition<kDepth>(coordinates, depth, dims);
      if (place <= last) return false;
      to[place] = from[i * step];
      last = place;
    }
    return true;
  }

  // Names the first coordinates that are out of bounds or, if that is asked for, do not ascend.
  absl::Status CheckCoordinates(KernelContext& ctx, const Tensor& coordinates,
                                const Shape& shape) const {
    SparseTensor sparse;
    ASSIGN_OR_RETURN(sparse.indices, Int64Indices(ctx, coordinates));
    sparse.shape.assign(shape.dims().begin(), shape.dims().end());
    RETURN_IF_ERROR(sparse.CheckInBounds());
    const int64_t rank = sparse.rank();
    const int64_t* place = sparse.indices.data<int64_t>();
    for (int64_t i = 1; validate_ && i < sparse.count(); ++i, place += rank) {
      const int order = CompareIndices(place, place + rank, static_cast<int>(rank));
      if (order >= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("indices[", i, "] ", order == 0 ? "is repeated" : "is out of order"));
      }
    }
    return absl::OkStatus();
  }

  const Primitive<Fill> fill_;
  const Primitive<RavelMultiIndex> ravel_;
  const Primitive<Scatter> scatter_;
  const bool validate_;
};
constexpr KernelDevices::Predicate kToDenseDevices = DevicesOf<Fill, RavelMultiIndex, Scatter>;
REGISTER_KERNEL("SparseToDense", kToDenseDevices, SparseToDenseKernel).HostMemory("output_shape");

template <typename T>
T Conjugate(const T& value) {
  return value;
}
template <typename T>
std::complex<T> Conjugate(const std::complex<T>& value) {
  return std::conj(value);
}
// What products are summed in: half and bfloat16 would lose too much.
template <typename T>
struct Accumulator {
  using type = T;
};
template <>
struct Accumulator<Eigen::half> {
  using type = float;
};
template <>
struct Accumulator<Eigen::bfloat16> {
  using type = float;
};

// A sparse matrix times a dense one, each perhaps conjugated and transposed.
class SparseMatMulKernel : public OpKernel {
 public:
  explicit SparseMatMulKernel(const KernelBuild& build)
      : adjoint_a_(build.attr<bool>("adjoint_a")), adjoint_b_(build.attr<bool>("adjoint_b")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor indices, Int64Indices(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const SparseTensor a, SparseTensor::Make(indices, ctx.input(1), ctx.input(2)));
    const Tensor& b = ctx.input(3);
    if (a.rank() != 2 || b.rank() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("both operands must be matrices, b has shape ", b.shape().ToString()));
    }
    RETURN_IF_ERROR(a.CheckInBounds());
    const int64_t rows = a.shape[adjoint_a_ ? 1 : 0], inner = a.shape[adjoint_a_ ? 0 : 1];
    const int64_t b_inner = b.dim(adjoint_b_ ? 1 : 0), columns = b.dim(adjoint_b_ ? 0 : 1);
    if (inner != b_inner) {
      return absl::InvalidArgumentError(
          absl::StrCat("the inner dimensions must agree, are ", inner, " and ", b_inner));
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({rows, columns}));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return VisitNumericType(b.dtype(),
                            [&]<typename T>() { return Multiply<T>(ctx, a, b, output); });
  }

 private:
  template <typename T>
  absl::Status Multiply(KernelContext& ctx, const SparseTensor& a, const Tensor& b,
                        Tensor* output) const {
    using Sum = typename Accumulator<T>::type;
    const int64_t columns = output->dim(1);
    Tensor sums = *output;
    if constexpr (!std::is_same_v<Sum, T>) {
      ASSIGN_OR_RETURN(sums, ctx.AllocateTemp(DTypeOf<Sum>, output->shape()));
    }
    Sum* const out = sums.data<Sum>();
    std::fill_n(out, sums.num_elements(), Sum(0));
    const T* const values = a.values.data<T>();
    const T* const dense = b.data<T>();
    const int64_t b_row = adjoint_b_ ? 1 : b.dim(1), b_column = adjoint_b_ ? b.dim(1) : 1;
    // Columns are shared out among threads, so that none writes where another does.
    const double cost = static_cast<double>(a.count());
    ctx.ParallelFor(columns, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < a.count(); ++i) {
        const int64_t row = a.index(i)[adjoint_a_ ? 1 : 0], k = a.index(i)[adjoint_a_ ? 0 : 1];
        const Sum value = static_cast<Sum>(adjoint_a_ ? Conjugate(values[i]) : values[i]);
        const T* const from = dense + k * b_row;
        Sum* const to = out + row * columns;
        for (int64_t c = begin; c < end; ++c) {
          const T factor = adjoint_b_ ? Conjugate(from[c * b_column]) : from[c * b_column];
          to[c] = static_cast<Sum>(to[c] + value * static_cast<Sum>(factor));
        }
      }
    });
    if constexpr (!std::is_same_v<Sum, T>) {
      for (int64_t i = 0; i < sums.num_elements(); ++i) {
        output->data<T>()[i] = static_cast<T>(out[i]);
      }
    }
    return absl::OkStatus();
  }

  const bool adjoint_a_, adjoint_b_;
};
REGISTER_KERNEL("SparseTensorDenseMatMul", kCpu, SparseMatMulKernel);

// The dense tensor with sparse values added.
class SparseTensorDenseAddKernel : public OpKernel {
 public:
  explicit SparseTensorDenseAddKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor indices, Int64Indices(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const SparseTensor a, SparseTensor::Make(indices, ctx.input(1), ctx.input(2)));
    const Tensor& b = ctx.input(3);
    if (!(absl::Span<const int64_t>(a.shape) == b.shape().dims())) {
      return absl::InvalidArgumentError(absl::StrCat("the sparse shape ", ctx.input(2).ToString(),
                                                     " is not that of b, ", b.shape().ToString()));
    }
    RETURN_IF_ERROR(a.CheckInBounds());
    Tensor output = ctx.TakeInput(3);
    if (!output.CanWriteInPlace()) {
      ASSIGN_OR_RETURN(output, ctx.CopyOf(output));
    }
    const auto strides = RowMajorStrides(output.shape().dims());
    RETURN_IF_ERROR(VisitNumericType(output.dtype(), [&]<typename T>() {
      T* const to = output.data<T>();
      for (int64_t i = 0; i < a.count(); ++i) {
        int64_t at = 0;
        for (int d = 0; d < a.rank(); ++d) at += a.index(i)[d] * strides[d];
        to[at] = static_cast<T>(to[at] + a.values.data<T>()[i]);
      }
      return absl::OkStatus();
    }));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SparseTensorDenseAdd", kCpu, SparseTensorDenseAddKernel);

// The sparse values combined with the dense elements that stand, after broadcasting, at their
// place.
class SparseDenseCwiseKernel : public OpKernel {
 public:
  explicit SparseDenseCwiseKernel(const KernelBuild& build) : op_(build.op().name.back()) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor sparse, SparseTensor::Input(ctx, 0));
    const Tensor& dense = ctx.input(3);
    const int surplus = sparse.rank() - dense.rank();
    bool fits = surplus >= 0;
    const auto row_major = RowMajorStrides(dense.shape().dims());
    IndexVector strides(sparse.rank(), 0);
    for (int d = 0; fits && d < dense.rank(); ++d) {
      fits = dense.dim(d) == 1 || dense.dim(d) == sparse.shape[surplus + d];
      if (dense.dim(d) != 1) strides[surplus + d] = row_major[d];
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("dense of shape ", dense.shape().ToString(),
                                                     " does not broadcast to the sparse shape ",
                                                     ctx.input(2).ToString()));
    }
    RETURN_IF_ERROR(sparse.CheckInBounds());
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, sparse.values.shape()));
    return VisitNumericType(dense.dtype(), [&]<typename T>() -> absl::Status {
      for (int64_t i = 0; i < sparse.count(); ++i) {
        int64_t at = 0;
        for (int d = 0; d < sparse.rank(); ++d) at += sparse.index(i)[d] * strides[d];
        const T value = sparse.values.data<T>()[i], other = dense.data<T>()[at];
        T& result = output->data<T>()[i];
        if (op_ == 'd') {
          result = static_cast<T>(value + other);
        } else if (op_ == 'l') {
          result = static_cast<T>(value * other);
        } else if (other == T(0)) {
          return absl::InvalidArgumentError("division by a zero of the dense tensor");
        } else if constexpr (std::is_integral_v<T>) {
          // The most negative number by -1 overflows; it wraps, as in two's complement.
          result = std::is_signed_v<T> && other == static_cast<T>(-1)
                       ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(value))
                       : static_cast<T>(value / other);
        } else {
          result = static_cast<T>(value / other);
        }
      }
      return absl::OkStatus();
    });
  }

 private:
  const char op_;  // the last letter of Add, Mul or Div
};
REGISTER_KERNEL("SparseDenseCwiseAdd", kCpu, SparseDenseCwiseKernel);
REGISTER_KERNEL("SparseDenseCwiseMul", kCpu, SparseDenseCwiseKernel);
REGISTER_KERNEL("SparseDenseCwiseDiv", kCpu, SparseDenseCwiseKernel);

}  // namespace
}  // namespace tessera
