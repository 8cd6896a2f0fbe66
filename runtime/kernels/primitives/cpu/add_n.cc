#include "runtime/kernels/primitives/add_n.h"

#include <algorithm>

#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// The number of elements that are summed over all addends at a time, so that the sums stay in the
// first-level cache.
constexpr int64_t kChunk = 2048;

// Computes sum = x[0] + x[1] + ... from the left. `sum` may be x[0].
template <int kAddends, typename T>
void AddTogether(const T* const (&x)[kAddends], int64_t count, T* sum) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    T total = x[0][i];
#pragma GCC unroll 8
    for (int k = 1; k < kAddends; ++k) total = static_cast<T>(total + x[k][i]);
    sum[i] = total;
  }
}

// Adds kAddends - 1 more addends to `sum`. The first call adds them to addends[-1] instead.
template <int kAddends, typename T>
void AddNext(const char* const* addends, bool is_first, int64_t offset, int64_t count, T* sum) {
  const T* x[kAddends];
  x[0] = is_first ? reinterpret_cast<const T*>(addends[-1] + offset) : sum;
  for (int k = 1; k < kAddends; ++k) x[k] = reinterpret_cast<const T*>(addends[k - 1] + offset);
  AddTogether<kAddends>(x, count, sum);
}

// Sums as many addends at a time as fit into registers.
template <typename T>
void AddAll(absl::Span<const char* const> addends, int64_t offset, int64_t count, char* out) {
  T* const sum = reinterpret_cast<T*>(out + offset);
  for (size_t i = 1; i < addends.size();) {
    const size_t left = addends.size() - i;
    const char* const* const next = addends.data() + i;
    if (left >= 7) {
      AddNext<8>(next, i == 1, offset, count, sum);
      i += 7;
    } else if (left >= 3) {
      AddNext<4>(next, i == 1, offset, count, sum);
      i += 3;
    } else {
      AddNext<2>(next, i == 1, offset, count, sum);
      i += 1;
    }
  }
}

// Computes sum = x + y in float and rounds it.
void AddTwoNarrow(DType dtype, const char* x, const char* y, int64_t count, char* sum) {
  const LoopFn loop = FindElementwiseLoop("AddV2", dtype);
  LoopBlock block;
  block.rows = 1;
  block.columns = count;
  std::fill_n(block.column_stride, 3, DTypeSize(dtype));
  std::fill_n(block.row_stride, 3, 0);
  block.data[0] = sum;
  block.data[1] = const_cast<char*>(x);
  block.data[2] = const_cast<char*>(y);
  RunAsFloat(block, {dtype, dtype, dtype}, *loop);
}

// Adds all addends from the left, rounding each sum.
void AddNarrowInOrder(DType dtype, absl::Span<const char* const> addends, int64_t offset,
                      int64_t count, char* sum) {
  AddTwoNarrow(dtype, addends[0] + offset, addends[1] + offset, count, sum);
  for (size_t i = 2; i < addends.size(); ++i) {
    AddTwoNarrow(dtype, sum, addends[i] + offset, count, sum);
  }
}

// Adds more than nine addends in TensorFlow's order: first the sum of the first two to nine
// addends, then the sum of each further group of eight.
void AddNarrow(DType dtype, absl::Span<const char* const> addends, int64_t offset, int64_t count,
               char* out) {
  constexpr size_t kGroup = 8;
  const size_t rest = addends.size() % kGroup;
  const size_t first = std::min(addends.size(), rest < 2 ? kGroup + rest : rest);
  char* const sum = out + offset;
  AddNarrowInOrder(dtype, addends.subspan(0, first), offset, count, sum);
  for (size_t i = first; i < addends.size(); i += kGroup) {
    alignas(64) char group[kChunk * sizeof(uint16_t)];
    AddNarrowInOrder(dtype, addends.subspan(i, kGroup), offset, count, group);
    AddTwoNarrow(dtype, sum, group, count, sum);
  }
}

absl::Status RunAddN(KernelContext& ctx, DType dtype, int64_t count,
                     absl::Span<const char* const> addends, char* sum) {
  const auto run = [&](const auto& add) {
    ctx.ParallelFor(count, 0.2 * addends.size(), [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += kChunk) {
        add(begin * static_cast<int64_t>(DTypeSize(dtype)), std::min(kChunk, end - begin));
      }
    });
    return absl::OkStatus();
  };
  if (IsNarrowFloat(dtype)) {
    return run([&](int64_t offset, int64_t some) { AddNarrow(dtype, addends, offset, some, sum); });
  }
  return VisitNumericType(dtype, [&]<typename T>() {
    return run([&](int64_t offset, int64_t some) { AddAll<T>(addends, offset, some, sum); });
  });
}
REGISTER_PRIMITIVE(AddN, kCpu, RunAddN);

}  // namespace
}  // namespace tessera
