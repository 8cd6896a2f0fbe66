#include "runtime/kernels/primitives/non_zero.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// How many elements are looked at together.
constexpr int64_t kSome = 64;

// Returns a bit for each of up to kSome elements: whether it is not zero.
template <typename T>
uint64_t NonZeroBits(const T* values, int64_t count) {
  alignas(32) uint8_t bytes[kSome];  // of which the highest bits count
  if (count == kSome) {
    for (int64_t i = 0; i < kSome; ++i) bytes[i] = values[i] != T(0) ? 0xFF : 0;
  } else {
    std::memset(bytes, 0, sizeof(bytes));
    for (int64_t i = 0; i < count; ++i) bytes[i] = values[i] != T(0) ? 0xFF : 0;
  }
  const auto bits_of_half = [&](int half) {
    return static_cast<uint32_t>(_mm256_movemask_epi8(
        _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes + half * kSome / 2))));
  };
  return bits_of_half(0) | static_cast<uint64_t>(bits_of_half(1)) << 32;
}

template <typename T>
absl::StatusOr<Tensor> Find(KernelContext& ctx, const Tensor& input) {
  const auto values = input.flat<T>();
  const int64_t size = input.num_elements();
  const auto bits_from = [&](int64_t first) {
    return NonZeroBits(values.data() + first, std::min(kSome, size - first));
  };
  int64_t count = 0;
  for (int64_t first = 0; first < size; first += kSome) count += std::popcount(bits_from(first));
  const int rank = input.rank();
  ASSIGN_OR_RETURN(Tensor found, ctx.AllocateTemp(DType::kInt64, {count, rank}));
  if (count == 0) return found;
  int64_t* out = found.data<int64_t>();
  // The elements of a row share all coordinates but the last one.
  const int64_t columns = input.dim(rank - 1);
  absl::InlinedVector<int64_t, 6> position(rank - 1, 0);
  int64_t row_begin = 0;
  for (int64_t first = 0; first < size; first += kSome) {
    for (uint64_t bits = bits_from(first); bits != 0; bits &= bits - 1) {
      const int64_t element = first + std::countr_zero(bits);
      for (; element >= row_begin + columns; row_begin += columns) {
        for (int d = rank - 2; d >= 0; --d) {
          if (++position[d] < input.dim(d)) break;
          position[d] = 0;
        }
      }
      for (const int64_t coordinate : position) *out++ = coordinate;
      *out++ = element - row_begin;
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
