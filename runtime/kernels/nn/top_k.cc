// The greatest elements of each row: TopKV2, ApproxTopK (exact here), InTopK, NthElement.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Halves compare as floats.
template <typename T>
using Compared =
    std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>, float,
                       T>;

// A total order: NaN comes after all numbers, equal elements in order of their index.
template <typename T>
struct Element {
  T value;
  int32_t index;
};
template <typename T, bool kGreatest>
bool Precedes(const Element<T>& a, const Element<T>& b) {
  if (a.value != b.value) {
    if (b.value != b.value) return a.value == a.value || a.index < b.index;
    return kGreatest ? a.value > b.value : a.value < b.value;
  }
  return a.index < b.index;
}

// The `k` first of `count` elements in that order, `stride` apart.
template <typename T, bool kGreatest>
void SelectFirst(const T* row, int64_t count, int64_t stride, int64_t k,
                 std::vector<Element<Compared<T>>>* chosen) {
  using E = Element<Compared<T>>;
  constexpr auto kPrecedes = Precedes<Compared<T>, kGreatest>;
  auto at = [&](int64_t i) {
    return E{static_cast<Compared<T>>(row[i * stride]), static_cast<int32_t>(i)};
  };
  chosen->clear();
  if (k == 0) return;
  // A heap with the last of the chosen on top: most elements are turned away at the first look.
  for (int64_t i = 0; i < count; ++i) {
    const E element = at(i);
    if (i < k) {
      chosen->push_back(element);
      if (i == k - 1) std::make_heap(chosen->begin(), chosen->end(), kPrecedes);
    } else if (kPrecedes(element, chosen->front())) {
      std::pop_heap(chosen->begin(), chosen->end(), kPrecedes);
      chosen->back() = element;
      std::push_heap(chosen->begin(), chosen->end(), kPrecedes);
    }
  }
  std::sort(chosen->begin(), chosen->end(), kPrecedes);
}

// Writes the `k` first elements along `axis` and their indices.
template <bool kGreatest>
absl::Status TopK(KernelContext& ctx, const Tensor& x, int axis, int64_t k, Tensor* values,
                  Tensor* indices) {
  if (values->num_elements() == 0) return absl::OkStatus();
  const int64_t count = x.dim(axis), inner = DimProduct(x.shape(), axis + 1, x.rank());
  const int64_t rows = DimProduct(x.shape(), 0, axis) * inner;
  return VisitRealType(x.dtype(), [&]<typename T>() {
    ctx.ParallelFor(rows, 2.0 * static_cast<double>(count), [&](int64_t begin, int64_t end) {
      std::vector<Element<Compared<T>>> chosen;
      for (int64_t r = begin; r < end; ++r) {
        const T* const row = x.data<T>() + r / inner * count * inner + r % inner;
        SelectFirst<T, kGreatest>(row, count, inner, k, &chosen);
        const int64_t out = r / inner * k * inner + r % inner;
        for (int64_t i = 0; i < k; ++i) {
          values->data<T>()[out + i * inner] = row[chosen[i].index * inner];
          VisitIndexType(indices->dtype(), [&]<typename I>() {
            indices->data<I>()[out + i * inner] = static_cast<I>(chosen[i].index);
          });
        }
      }
    });
    return absl::OkStatus();
  });
}

// Errors: INVALID_ARGUMENT for a scalar input, or `k` negative or more than there are columns.
class TopKV2Kernel : public OpKernel {
 public:
  explicit TopKV2Kernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (!ctx.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'k' must be a scalar, has shape ", ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t k, ReadIndexScalar(ctx.input(1), "k"));
    if (k < 0) return absl::InvalidArgumentError(absl::StrCat("'k' must not be negative, is ", k));
    if (x.rank() < 1 || x.dim(x.rank() - 1) < k) {
      return absl::InvalidArgumentError(absl::StrCat("the input must have at least k = ", k,
                                                     " columns, has shape ", x.shape().ToString()));
    }
    Shape shape = x.shape();
    shape.SetDim(x.rank() - 1, k);
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(1, shape));
    return TopK<true>(ctx, x, x.rank() - 1, k, values, indices);
  }
};
REGISTER_KERNEL("TopKV2", kCpu, TopKV2Kernel).TypeConstraint("T", DTypeList(kReal)).HostMemory("k");

// Errors: INVALID_ARGUMENT for a dimension out of range or smaller than `k`.
class ApproxTopKKernel : public OpKernel {
 public:
  explicit ApproxTopKKernel(const KernelBuild& build)
      : k_(build.attr<int64_t>("k")),
        dimension_(build.attr<int64_t>("reduction_dimension")),
        greatest_(build.attr<bool>("is_max_k")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(dimension_, x.rank(), "reduction_dimension"));
    if (x.dim(axis) < k_) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " of shape ",
                                                     x.shape().ToString(),
                                                     " has less than k = ", k_, " elements"));
    }
    Shape shape = x.shape();
    shape.SetDim(axis, k_);
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(1, shape));
    return greatest_ ? TopK<true>(ctx, x, axis, k_, values, indices)
                     : TopK<false>(ctx, x, axis, k_, values, indices);
  }

 private:
  const int64_t k_;
  const int64_t dimension_;
  const bool greatest_;
};
REGISTER_KERNEL("ApproxTopK", kCpu, ApproxTopKKernel);

// Whether the prediction of each row's target class is among the k greatest: fewer than k classes
// exceed it. False for a target that is no class, and for a row with a prediction that is not
// finite. Errors: INVALID_ARGUMENT for shapes other than [batch, classes] and [batch].
class InTopKKernel : public OpKernel {
 public:
  explicit InTopKKernel(const KernelBuild& build)
      : k_(build.has_attr("k") ? build.attr<int64_t>("k") : -1) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& predictions = ctx.input(0);
    const Tensor& targets = ctx.input(1);
    if (!predictions.shape().IsMatrix() || !targets.shape().IsVector() ||
        predictions.dim(0) != targets.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "predictions must be [batch, classes] and targets [batch]; they have shapes ",
          predictions.shape().ToString(), " and ", targets.shape().ToString()));
    }
    int64_t k = k_;
    if (ctx.num_inputs() > 2) {
      if (!ctx.input(2).shape().IsScalar()) {
        return absl::InvalidArgumentError(
            absl::StrCat("'k' must be a scalar, has shape ", ctx.input(2).shape().ToString()));
      }
      ASSIGN_OR_RETURN(k, ReadIndexScalar(ctx.input(2), "k"));
    }
    ASSIGN_OR_RETURN(const IndexVector classes, ReadIndexVector(targets, "targets"));
    ASSIGN_OR_RETURN(Tensor * result, ctx.AllocateOutput(0, targets.shape()));
    const int64_t columns = predictions.dim(1);
    for (size_t row = 0; row < classes.size(); ++row) {
      const float* const p = predictions.data<float>() + row * columns;
      result->data<bool>()[row] = IsIn(p, columns, classes[row], k);
    }
    return absl::OkStatus();
  }

 private:
  static bool IsIn(const float* predictions, int64_t count, int64_t target, int64_t k) {
    if (target < 0 || target >= count || !std::isfinite(predictions[target])) return false;
    int64_t greater = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (!std::isfinite(predictions[i])) return false;
      if (predictions[i] > predictions[target]) ++greater;
    }
    return greater < k;
  }

  const int64_t k_;
};
REGISTER_KERNEL("InTopK", kCpu, InTopKKernel);
REGISTER_KERNEL("InTopKV2", kCpu, InTopKKernel).HostMemory("k");

// The n-th element (from 0) of each row in ascending order, or in descending order if `reverse`.
// Errors: INVALID_ARGUMENT for a scalar input or `n` out of range.
class NthElementKernel : public OpKernel {
 public:
  explicit NthElementKernel(const KernelBuild& build) : reverse_(build.attr<bool>("reverse")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (!ctx.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'n' must be a scalar, has shape ", ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(int64_t n, ReadIndexScalar(ctx.input(1), "n"));
    if (n < 0 || x.rank() < 1 || x.dim(x.rank() - 1) <= n) {
      return absl::InvalidArgumentError(
          absl::StrCat("no element ", n, " in rows of shape ", x.shape().ToString()));
    }
    const int64_t columns = x.dim(x.rank() - 1);
    if (reverse_) n = columns - 1 - n;
    Shape shape = x.shape();
    shape.RemoveDim(x.rank() - 1);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, shape));
    return VisitRealType(x.dtype(), [&]<typename T>() {
      ctx.ParallelFor(y->num_elements(), 5.0 * columns, [&](int64_t begin, int64_t end) {
        std::vector<Element<Compared<T>>> row(columns);
        for (int64_t r = begin; r < end; ++r) {
          const T* const values = x.data<T>() + r * columns;
          for (int64_t i = 0; i < columns; ++i) {
            row[i] = {static_cast<Compared<T>>(values[i]), static_cast<int32_t>(i)};
          }
          std::nth_element(row.begin(), row.begin() + n, row.end(), Precedes<Compared<T>, false>);
          y->data<T>()[r] = values[row[n].index];
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  const bool reverse_;
};
REGISTER_KERNEL("NthElement", kCpu, NthElementKernel).HostMemory("n");

}  // namespace
}  // namespace tessera
