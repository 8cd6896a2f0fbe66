#include "runtime/kernels/primitives/nearest_pixels.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "runtime/kernels/primitives/copy_rows.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Copies the pixels of a row at the given columns.
using RowLoop = void (*)(absl::Span<const int64_t> columns, int64_t pixel_bytes, const char* row,
                         char* to);

// The size is a constant, so that a copy is a few instructions.
template <int64_t kBytes>
void GatherShortPixels(absl::Span<const int64_t> columns, int64_t /*pixel_bytes*/, const char* row,
                       char* to) {
  for (const int64_t x : columns) {
    std::memcpy(to, row + x * kBytes, kBytes);
    to += kBytes;
  }
}

void GatherMediumPixels(absl::Span<const int64_t> columns, int64_t pixel_bytes, const char* row,
                        char* to) {
  for (const int64_t x : columns) {
    CopyMediumRow(pixel_bytes, row + x * pixel_bytes, to);
    to += pixel_bytes;
  }
}

void GatherPixels(absl::Span<const int64_t> columns, int64_t pixel_bytes, const char* row,
                  char* to) {
  for (const int64_t x : columns) {
    std::memcpy(to, row + x * pixel_bytes, static_cast<size_t>(pixel_bytes));
    to += pixel_bytes;
  }
}

RowLoop RowLoopFor(int64_t pixel_bytes) {
  switch (pixel_bytes) {
    case 1:
      return GatherShortPixels<1>;
    case 2:
      return GatherShortPixels<2>;
    case 3:
      return GatherShortPixels<3>;
    case 4:
      return GatherShortPixels<4>;
    case 6:
      return GatherShortPixels<6>;
    case 8:
      return GatherShortPixels<8>;
    case 12:
      return GatherShortPixels<12>;
    case 16:
      return GatherShortPixels<16>;
    default:
      return pixel_bytes >= kMinMediumRow && pixel_bytes <= kMaxMediumRow ? GatherMediumPixels
                                                                          : GatherPixels;
  }
}

absl::Status RunNearestPixels(KernelContext& ctx, absl::Span<const int64_t> rows,
                              absl::Span<const int64_t> columns, const Tensor& images,
                              Tensor* output) {
  constexpr double kNanosecondsAPixel = 1, kNanosecondsAByte = 0.1;
  const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
  const auto out_height = static_cast<int64_t>(rows.size()),
             out_width = static_cast<int64_t>(columns.size());
  const int64_t pixel = channels * static_cast<int64_t>(DTypeSize(images.dtype()));
  const double cost = static_cast<double>(out_width) *
                      (kNanosecondsAPixel + kNanosecondsAByte * static_cast<double>(pixel));
  const RowLoop gather = RowLoopFor(pixel);
  ctx.ParallelFor(images.dim(0) * out_height, cost, [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      const char* const row =
          images.raw() + (y / out_height * height + rows[y % out_height]) * width * pixel;
      gather(columns, pixel, row, output->mutable_raw() + y * out_width * pixel);
    }
  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(NearestPixels, kCpu, RunNearestPixels);

// The positions of each number of [0, count) in `rows`: those of `r` are the elements
// [starts[r], starts[r + 1]) of `positions`, in order.
struct RowPositions {
  RowPositions(absl::Span<const int64_t> rows, int64_t count)
      : starts(count + 1), positions(rows.size()) {
    for (const int64_t r : rows) ++starts[r + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<int64_t> next = starts;
    for (size_t y = 0; y < rows.size(); ++y) {
      positions[next[rows[y]]++] = static_cast<int64_t>(y);
    }
  }
  std::vector<int64_t> starts, positions;
};

absl::Status RunNearestPixelsGradient(KernelContext& ctx, absl::Span<const int64_t> rows,
                                      absl::Span<const int64_t> columns, const Tensor& gradients,
                                      Tensor* output) {
  constexpr double kNanosecondsAnElement = 0.5;
  const int64_t channels = gradients.dim(3), out_height = output->dim(1);
  const int64_t row_size = static_cast<int64_t>(columns.size()) * channels;
  const int64_t out_row_size = output->dim(2) * channels;
  const RowPositions taken(rows, out_height);
  const double cost = kNanosecondsAnElement * static_cast<double>(gradients.num_elements()) /
                      static_cast<double>(output->dim(0) * out_height);
  // Each row of the output gets the sums of the rows of gradients that were taken from it.
  return VisitRealType(output->dtype(), [&]<typename T>() {
    ctx.ParallelFor(output->dim(0) * out_height, cost, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t image = r / out_height, y = r % out_height;
        T* const row = output->data<T>() + r * out_row_size;
        std::fill_n(row, out_row_size, T(0));
        for (int64_t i = taken.starts[y]; i < taken.starts[y + 1]; ++i) {
          const T* g = gradients.data<T>() +
                       (image * static_cast<int64_t>(rows.size()) + taken.positions[i]) * row_size;
          for (const int64_t x : columns) {
            for (int64_t c = 0; c < channels; ++c) row[x * channels + c] += *g++;
          }
        }
      }
    });
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(NearestPixelsGradient, kCpu, RunNearestPixelsGradient);

}  // namespace
}  // namespace tessera
