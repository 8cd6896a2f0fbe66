#include "runtime/kernels/primitives/non_zero.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

template <typename T>
absl::StatusOr<Tensor> Find(KernelContext& ctx, const Tensor& input) {
  const auto values = input.flat<T>();
  int64_t count = 0;
  for (const T& value : values) count += value != T(0);
  const int rank = input.rank();
  ASSIGN_OR_RETURN(Tensor found, ctx.AllocateTemp(DType::kInt64, {count, rank}));
  if (count == 0) return found;
  int64_t* out = found.data<int64_t>();
  // The elements of a row share all coordinates but the last one.
  const int64_t columns = input.dim(rank - 1);
  const int64_t rows = input.num_elements() / columns;
  absl::InlinedVector<int64_t, 6> position(rank - 1, 0);
  // The columns of nonzero elements are collected without a branch, which would be hard to predict.
  constexpr int64_t kSome = 512;
  int64_t chosen[kSome];
  for (int64_t row = 0; row < rows; ++row) {
    const T* const of_row = values.data() + row * columns;
    for (int64_t first = 0; first < columns; first += kSome) {
      const int64_t some = std::min(kSome, columns - first);
      int64_t num_chosen = 0;
      for (int64_t c = first; c < first + some; ++c) {
        chosen[num_chosen] = c;
        num_chosen += of_row[c] != T(0);
      }
      for (int64_t i = 0; i < num_chosen; ++i) {
        for (const int64_t coordinate : position) *out++ = coordinate;
        *out++ = chosen[i];
      }
    }
    for (int d = rank - 2; d >= 0; --d) {
      if (++position[d] < input.dim(d)) break;
      position[d] = 0;
    }
  }
  return found;
}

absl::StatusOr<Tensor> RunNonZero(KernelContext& ctx, const Tensor& input) {
  if (input.dtype() == DType::kBool) return Find<bool>(ctx, input);
  Tensor found;
  RETURN_IF_ERROR(VisitNumericType(input.dtype(), [&]<typename T>() -> absl::Status {
    ASSIGN_OR_RETURN(found, Find<T>(ctx, input));
    return absl::OkStatus();
  }));
  return found;
}
REGISTER_PRIMITIVE(NonZero, kCpu, RunNonZero);

}  // namespace
}  // namespace tessera
