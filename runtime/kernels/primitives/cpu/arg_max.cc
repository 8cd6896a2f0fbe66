#include "runtime/kernels/primitives/arg_max.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// The type in which elements are compared: float for halves.
template <typename T>
using Compared =
    std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>, float,
                       T>;

// Returns the index of the greatest (least) of `count` elements, which are `stride` apart.
template <typename T, bool kMax>
int64_t FindExtreme(const T* x, int64_t count, int64_t stride) {
  using C = Compared<T>;
  using Limits = std::numeric_limits<C>;
  C best = kMax ? Limits::lowest() : Limits::max();
  int64_t index = 0;
  for (int64_t i = 0; i < count; ++i) {
    const C value = static_cast<C>(x[i * stride]);
    if (kMax ? value > best : value < best) {
      best = value;
      index = i;
    }
  }
  return index;
}

// Finds the index among contiguous numbers, block by block. Vector operations find the extreme of a
// block, and a block is searched only if its extreme is a new one.
template <typename T, bool kMax>
int64_t FindInBlocks(const T* x, int64_t count) {
  constexpr int64_t kLanes = 32 / sizeof(T), kBlock = 16 * kLanes;
  typedef T Lanes __attribute__((vector_size(32)));
  const int64_t in_blocks = count / kBlock * kBlock;
  int64_t index = 0;
  T best = kMax ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  for (int64_t begin = 0; begin < in_blocks; begin += kBlock) {
    Lanes extreme[2];
    extreme[0] = extreme[1] = Lanes{} + best;
    for (int64_t i = begin; i < begin + kBlock; i += 2 * kLanes) {
#pragma GCC unroll 2
      for (int part = 0; part < 2; ++part) {
        Lanes values;
        std::memcpy(&values, x + i + part * kLanes, sizeof(values));
        const auto precedes = kMax ? values > extreme[part] : values < extreme[part];
        extreme[part] = precedes ? values : extreme[part];
      }
    }
    T of_block = best;
    for (int64_t lane = 0; lane < 2 * kLanes; ++lane) {
      const T value = extreme[lane / kLanes][lane % kLanes];
      if (kMax ? value > of_block : value < of_block) of_block = value;
    }
    if (of_block == best) continue;
    best = of_block;
    index = std::find(x + begin, x + begin + kBlock, best) - x;
  }
  for (int64_t i = in_blocks; i < count; ++i) {
    if (kMax ? x[i] > best : x[i] < best) {
      best = x[i];
      index = i;
    }
  }
  return index;
}

void Store(int64_t index, int64_t i, Tensor* y) {
  switch (y->dtype()) {
    case DType::kInt16:
      y->data<int16_t>()[i] = static_cast<int16_t>(index);
      break;
    case DType::kUint16:
      y->data<uint16_t>()[i] = static_cast<uint16_t>(index);
      break;
    case DType::kInt32:
      y->data<int32_t>()[i] = static_cast<int32_t>(index);
      break;
    default:
      y->data<int64_t>()[i] = index;
  }
}

absl::Status RunArgMax(KernelContext& ctx, ReduceKind kind, const Tensor& x, int axis, Tensor* y) {
  if (y->num_elements() == 0) return absl::OkStatus();
  const int64_t count = x.dim(axis);
  int64_t inner = 1;
  for (int d = axis + 1; d < x.rank(); ++d) inner *= x.dim(d);
  const auto find = [&]<typename T>() {
    const auto extreme = kind == ReduceKind::kMax ? FindExtreme<T, true> : FindExtreme<T, false>;
    [[maybe_unused]] int64_t (*in_blocks)(const T*, int64_t) = nullptr;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      in_blocks = kind == ReduceKind::kMax ? FindInBlocks<T, true> : FindInBlocks<T, false>;
    }
    const T* const data = x.data<T>();
    ctx.ParallelFor(y->num_elements(), static_cast<double>(count), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const T* const first = data + o / inner * count * inner + o % inner;
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
          if (inner == 1) {
            Store(in_blocks(first, count), o, y);
            continue;
          }
        }
        Store(extreme(first, count, inner), o, y);
      }
    });
    return absl::OkStatus();
  };
  if (x.dtype() == DType::kBool) return find.template operator()<bool>();
  return VisitRealType(x.dtype(), find);
}
REGISTER_PRIMITIVE(ArgMax, kCpu, RunArgMax);

}  // namespace
}  // namespace tessera
