#include "runtime/kernels/primitives/band_part.h"

#include <algorithm>

#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

absl::Status RunBandPart(KernelContext& ctx, const BandPart::Geometry& g, const Tensor& matrices,
                         Tensor* output) {
  const int64_t columns = g.columns;
  const DType dtype = matrices.dtype();
  const int64_t width = static_cast<int64_t>(DTypeSize(dtype));
  const int64_t all_rows = columns == 0 ? 0 : matrices.num_elements() / columns;
  const bool in_place = matrices.raw() == output->raw();
  ctx.ParallelFor(all_rows, 0.1 * static_cast<double>(columns * width),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t r = begin; r < end; ++r) {
                      const int64_t i = r % g.rows;
                      const int64_t first = std::clamp<int64_t>(i - g.lower, 0, columns);
                      const int64_t last = std::clamp<int64_t>(i + g.upper + 1, first, columns);
                      const char* const from = matrices.raw() + r * columns * width;
                      char* const to = output->mutable_raw() + r * columns * width;
                      ZeroElements(dtype, to, first);
                      if (!in_place) {
                        CopyElements(dtype, from + first * width, to + first * width, last - first);
                      }
                      ZeroElements(dtype, to + last * width, columns - last);
                    }
                  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(BandPart, kCpu, RunBandPart);

}  // namespace
}  // namespace tessera
