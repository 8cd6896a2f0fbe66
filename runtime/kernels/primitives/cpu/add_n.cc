#include "runtime/kernels/primitives/add_n.h"

#include <algorithm>

#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"

namespace tessera {
namespace {

// Elements summed over all addends before the next ones: they stay in the first-level cache.
constexpr int64_t kChunk = 2048;

void Add(DType dtype, LoopFn loop, const char* x, const char* y, char* z, int64_t count) {
  LoopBlock block;
  block.rows = 1;
  block.columns = count;
  block.data[0] = z;
  block.data[1] = const_cast<char*>(x);
  block.data[2] = const_cast<char*>(y);
  std::fill_n(block.column_stride, 3, DTypeSize(dtype));
  std::fill_n(block.row_stride, 3, 0);
  if (IsNarrowFloat(dtype)) {
    RunAsFloat(block, {dtype, dtype, dtype}, *loop);
  } else {
    loop(block);
  }
}

absl::Status RunAddN(KernelContext& ctx, DType dtype, int64_t count,
                     absl::Span<const char* const> addends, char* sum) {
  const LoopFn loop = FindElementwiseLoop("AddV2", dtype);
  const int64_t size = static_cast<int64_t>(DTypeSize(dtype));
  ctx.ParallelFor(count, 0.2 * addends.size(), [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += kChunk) {
      const int64_t chunk = std::min(kChunk, end - begin);
      const int64_t offset = begin * size;
      for (size_t i = 1; i < addends.size(); ++i) {
        Add(dtype, loop, (i == 1 ? addends[0] : sum) + offset, addends[i] + offset, sum + offset,
            chunk);
      }
    }
  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(AddN, kCpu, RunAddN);

}  // namespace
}  // namespace tessera
