#include "runtime/kernels/cpu/softmax_avx512.h"

#define TESSERA_VECTOR_ABI avx512
#include "runtime/kernels/cpu/vector_math.h"

namespace tessera {
namespace {

typedef float Vector __attribute__((vector_size(64)));
constexpr int kLanes = 16;

// reduce(reduce(x[0], x[1]), ...) in some order; for vectors too.
template <typename Reduce>
float Reduced(const float* x, int64_t count, float neutral, Reduce reduce) {
  Vector all = Vector{} + neutral;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vector next;
    __builtin_memcpy(&next, x + i, sizeof(next));
    all = reduce(all, next);
  }
  float lanes[kLanes];
  __builtin_memcpy(lanes, &all, sizeof(lanes));
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] = reduce(lanes[lane], x[i]);
#pragma GCC unroll 4
  for (int half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int lane = 0; lane < half; ++lane) {
      lanes[lane] = reduce(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

}  // namespace

void SoftmaxRowAvx512(const float* x, int64_t count, float* out) {
  // A NaN is passed over here, and found again below.
  const float greatest =
      Reduced(x, count, -__builtin_inff(), [](auto a, auto b) { return b > a ? b : a; });
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = math::ExpOfNegative(x[i] - greatest);
  const float factor = 1.0f / Reduced(out, count, 0.0f, [](auto a, auto b) { return a + b; });
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] *= factor;
}

}  // namespace tessera
