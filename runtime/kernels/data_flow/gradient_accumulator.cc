#include "runtime/kernels/data_flow/gradient_accumulator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/kernels/host_values.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// to += from, over `count` elements.
absl::Status AddElements(DType dtype, const char* from, char* to, int64_t count) {
  return VisitRealType(dtype, [&]<typename T>() {
    const T* const addend = reinterpret_cast<const T*>(from);
    T* const sum = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) sum[i] = static_cast<T>(sum[i] + addend[i]);
    return absl::OkStatus();
  });
}

absl::Status DivideElements(DType dtype, char* elements, int64_t count, int32_t divisor) {
  return VisitRealType(dtype, [&]<typename T>() {
    T* const element = reinterpret_cast<T*>(elements);
    const T by = static_cast<T>(divisor);
    for (int64_t i = 0; i < count; ++i) element[i] = static_cast<T>(element[i] / by);
    return absl::OkStatus();
  });
}

// The number of elements in a row of a tensor, which may have no rows.
int64_t RowSize(const Shape& shape) { return Shape(shape.dims().subspan(1)).num_elements(); }

// The number of rows of a tensor of this shape; -1 if it is not known. As in TensorFlow, the shape
// of a scalar says nothing of it.
int64_t NumRows(const PartialShape& shape) {
  return shape.known_rank() && shape.rank() > 0 ? shape.dim(0) : -1;
}

// Returns whether the dimensions from `first` on agree with those of the shape, which may have
// fewer.
bool BeginsWith(absl::Span<const int64_t> dims, const PartialShape& shape, int first) {
  if (!shape.known_rank()) return true;
  if (shape.rank() > static_cast<int>(dims.size())) return false;
  for (int i = first; i < shape.rank(); ++i) {
    if (shape.dim(i) >= 0 && shape.dim(i) != dims[i]) return false;
  }
  return true;
}

absl::Status CheckDType(const GradientAccumulator& accumulator, const Tensor& gradient) {
  const DType dtype = accumulator.options().dtype;
  if (gradient.dtype() == dtype) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the ", accumulator.DebugString(), " takes ",
                                                 DTypeName(dtype), ", not ",
                                                 DTypeName(gradient.dtype())));
}

}  // namespace

void GradientAccumulator::SetGlobalStep(int64_t step) {
  Change([&] {
    mu_.AssertHeld();
    global_step_ = step;
    return absl::OkStatus();
  }).IgnoreError();
}

int32_t GradientAccumulator::NumAccumulated() const {
  absl::MutexLock lock(&mu_);
  return count_;
}

std::string GradientAccumulator::DebugString() const {
  return absl::StrCat("accumulator '", options_.name, "'");
}

absl::Status GradientAccumulator::Add(int64_t local_step, absl::FunctionRef<absl::Status()> add) {
  return Change([&]() -> absl::Status {
    mu_.AssertHeld();
    if (local_step < global_step_) return absl::OkStatus();
    RETURN_IF_ERROR(add());
    ++count_;
    return absl::OkStatus();
  });
}

void GradientAccumulator::TakeWhenReady(int64_t num_required, CancellationManager* cancellation,
                                        std::function<absl::Status()> take, Done done) {
  if (num_required <= 0) {
    done(absl::InvalidArgumentError(
        absl::StrCat("num_required must be positive, is ", num_required)));
    return;
  }
  auto attempt = [this, num_required, take = std::move(take)]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    if (count_ < num_required) return std::nullopt;
    absl::Status status = take();
    count_ = 0;
    ++global_step_;
    return status;
  };
  Run(0, cancellation, std::move(attempt), std::move(done));
}

absl::Status DenseAccumulator::Apply(int64_t local_step, const Tensor& gradient) {
  RETURN_IF_ERROR(CheckDType(*this, gradient));
  return Add(local_step, [&]() -> absl::Status {
    mu_.AssertHeld();
    const PartialShape expected = sum_.has_value() ? PartialShape(sum_.shape()) : options_.shape;
    if (!expected.IsCompatibleWith(gradient.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("a gradient of shape ", gradient.shape().ToString(), " was added to the ",
                       DebugString(), " of shape ", expected.ToString()));
    }
    if (!sum_.has_value()) {
      sum_ = gradient;
      return absl::OkStatus();
    }
    if (!sum_.CanWriteInPlace()) {
      ASSIGN_OR_RETURN(sum_, sum_.DeepCopy(options_.allocator));
    }
    return AddElements(sum_.dtype(), gradient.raw(), sum_.mutable_raw(), sum_.num_elements());
  });
}

void DenseAccumulator::Take(int64_t num_required, CancellationManager* cancellation, Tensor* result,
                            Done done) {
  auto take = [this, result]() -> absl::Status {
    mu_.AssertHeld();
    *result = std::exchange(sum_, Tensor());
    if (!options_.is_mean || count_ == 1) return absl::OkStatus();
    if (!result->CanWriteInPlace()) {
      ASSIGN_OR_RETURN(*result, result->DeepCopy(options_.allocator));
    }
    return DivideElements(result->dtype(), result->mutable_raw(), result->num_elements(), count_);
  };
  TakeWhenReady(num_required, cancellation, std::move(take), std::move(done));
}

absl::Status SparseAccumulator::Apply(int64_t local_step, const SparseGradient& gradient,
                                      bool has_known_shape) {
  RETURN_IF_ERROR(CheckDType(*this, gradient.values));
  return Add(local_step, [&]() -> absl::Status {
    mu_.AssertHeld();
    RETURN_IF_ERROR(Check(gradient, has_known_shape));
    if (values_.has_value()) return Merge(gradient);
    const auto indices = gradient.indices.flat<int64_t>();
    indices_.assign(indices.begin(), indices.end());
    counts_.assign(indices.size(), 1);
    values_ = gradient.values;
    return absl::OkStatus();
  });
}

absl::Status SparseAccumulator::Check(const SparseGradient& gradient, bool has_known_shape) const {
  const Tensor &indices = gradient.indices, &values = gradient.values;
  if (indices.rank() != 1 || values.rank() < 1 || indices.dim(0) != values.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sparse gradient must have as many indices as values; they have the shapes ",
                     indices.shape().ToString(), " and ", values.shape().ToString()));
  }
  // As in TensorFlow, the accumulator's shape may be the beginning of that of a gradient.
  if (has_known_shape && !BeginsWith(gradient.shape.flat<int64_t>(), options_.shape, 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a gradient of shape [", absl::StrJoin(gradient.shape.flat<int64_t>(), ","),
        "] was added to the ", DebugString(), " of shape ", options_.shape.ToString()));
  }
  if (!values_.has_value() && !BeginsWith(values.shape().dims(), options_.shape, 1)) {
    return absl::InvalidArgumentError(absl::StrCat("rows of shape ", values.shape().ToString(),
                                                   " were added to the ", DebugString(),
                                                   " of shape ", options_.shape.ToString()));
  }
  if (values_.has_value() &&
      (values.rank() != values_.rank() ||
       values.shape().dims().subspan(1) != values_.shape().dims().subspan(1))) {
    return absl::InvalidArgumentError(absl::StrCat("rows of shape ", values.shape().ToString(),
                                                   " were added to rows of shape ",
                                                   values_.shape().ToString()));
  }
  const int64_t limit = NumRows(options_.shape);
  for (const int64_t index : indices.flat<int64_t>()) {
    if (index < 0 || (limit >= 0 && index >= limit)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "index ", index, " is not in [0, ", limit >= 0 ? absl::StrCat(limit) : "inf", ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status SparseAccumulator::Merge(const SparseGradient& gradient) {
  const auto added = gradient.indices.flat<int64_t>();
  // The rows of the result: each comes from the sum, from the gradient, or from both.
  struct Row {
    int64_t from_sum = -1, from_gradient = -1;
  };
  std::vector<Row> rows;
  size_t i = 0, j = 0;
  while (i < indices_.size() || j < added.size()) {
    Row row;
    const bool take_sum = j == added.size() || (i < indices_.size() && indices_[i] <= added[j]);
    const bool take_gradient =
        i == indices_.size() || (j < added.size() && added[j] <= indices_[i]);
    if (take_sum) row.from_sum = static_cast<int64_t>(i++);
    if (take_gradient) row.from_gradient = static_cast<int64_t>(j++);
    rows.push_back(row);
  }
  Shape shape = values_.shape();
  shape.SetDim(0, static_cast<int64_t>(rows.size()));
  ASSIGN_OR_RETURN(Tensor merged, Tensor::Allocate(options_.dtype, shape, options_.allocator));
  const int64_t row_size = RowSize(shape);
  const size_t bytes = row_size * DTypeSize(options_.dtype);
  std::vector<int64_t> indices;
  std::vector<int32_t> counts;
  char* to = merged.mutable_raw();
  for (const Row& row : rows) {
    const char* const sum = row.from_sum < 0 ? nullptr : values_.raw() + row.from_sum * bytes;
    const char* const addend =
        row.from_gradient < 0 ? nullptr : gradient.values.raw() + row.from_gradient * bytes;
    if (bytes > 0) std::memcpy(to, sum != nullptr ? sum : addend, bytes);
    if (sum != nullptr && addend != nullptr) {
      RETURN_IF_ERROR(AddElements(options_.dtype, addend, to, row_size));
    }
    indices.push_back(sum != nullptr ? indices_[row.from_sum] : added[row.from_gradient]);
    counts.push_back((sum != nullptr ? counts_[row.from_sum] : 0) + (addend != nullptr ? 1 : 0));
    to += bytes;
  }
  indices_ = std::move(indices);
  counts_ = std::move(counts);
  values_ = std::move(merged);
  return absl::OkStatus();
}

void SparseAccumulator::Take(int64_t num_required, CancellationManager* cancellation,
                             SparseGradient* result, Done done) {
  TakeWhenReady(
      num_required, cancellation,
      [this, result] {
        mu_.AssertHeld();
        return MakeResult(result);
      },
      std::move(done));
}

absl::Status SparseAccumulator::MakeResult(SparseGradient* result) {
  result->values = std::exchange(values_, Tensor());
  ASSIGN_OR_RETURN(result->indices, VectorIn<int64_t>(options_.allocator, indices_));
  const Shape& rows = result->values.shape();
  std::vector<int64_t> dims(rows.dims().begin(), rows.dims().end());
  dims[0] = NumRows(options_.shape);
  ASSIGN_OR_RETURN(result->shape, VectorIn<int64_t>(options_.allocator, dims));
  if (!options_.is_mean) return absl::OkStatus();
  if (!result->values.CanWriteInPlace()) {
    ASSIGN_OR_RETURN(result->values, result->values.DeepCopy(options_.allocator));
  }
  const int64_t row_size = RowSize(rows);
  const size_t bytes = row_size * DTypeSize(options_.dtype);
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 1) continue;
    RETURN_IF_ERROR(DivideElements(options_.dtype, result->values.mutable_raw() + i * bytes,
                                   row_size, counts_[i]));
  }
  return absl::OkStatus();
}

}  // namespace tessera
