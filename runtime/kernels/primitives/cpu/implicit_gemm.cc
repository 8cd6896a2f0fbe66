#include "runtime/kernels/primitives/cpu/implicit_gemm.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {
namespace {

// One of the two spatial dimensions. Padded positions with the same remainder modulo the stride
// form a phase and lie together. If `is_apart`, each filter column has a phase of its own, which
// holds the positions that the column reads.
struct Axis {
  Axis(const ConvolutionShape& s, int d, bool is_apart)
      : input(s.input[d]),
        output(s.output[d]),
        filter(s.filter[d]),
        stride(s.strides[d]),
        dilation(s.dilations[d]),
        pad(s.pad_before[d]),
        is_apart(is_apart),
        phases(is_apart ? filter : std::min(stride, (filter - 1) * dilation + 1)),
        length(is_apart ? output : output + (filter - 1) * dilation / stride) {}

  int64_t phase(int64_t position) const {
    return is_apart ? position : position * dilation % stride;
  }
  int64_t shift(int64_t position) const { return is_apart ? 0 : position * dilation / stride; }
  // Returns the input position of element `at` of a phase. It may be outside the input.
  int64_t source(int64_t phase, int64_t at) const {
    return at * stride + (is_apart ? phase * dilation : phase) - pad;
  }

  const int64_t input, output, filter, stride, dilation, pad;
  const bool is_apart;
  const int64_t phases, length;  // `length` is the number of positions in a phase
};

// Returns true if it pays to store the lines once for each column of the filter, without padding
// between them. Otherwise the rows of padding at the end of each line are multiplied and dropped.
bool PositionsLieApart(const gemm::MicroKernel& kernel, const ConvolutionShape& s) {
  const int64_t width = Axis(s, 1, false).length;
  const auto whole_rows = [&](int64_t a_line) {
    const int64_t rows = (s.output[0] - 1) * a_line + s.output[1], some = kernel.row_granularity();
    return (rows + some - 1) / some * some;
  };
  return whole_rows(s.output[1]) < 0.95 * whole_rows(width);
}

// The mapping of images to rows: phase by phase, image by image, point by point.
class Arrangement {
 public:
  Arrangement(const gemm::MicroKernel& kernel, const ConvolutionShape& s)
      : kernel_(kernel),
        channels_(s.in_channels),
        y_(s, 0, false),
        x_(s, 1, PositionsLieApart(kernel, s)) {}

  // The number of rows in one phase of an image, and in all its phases.
  int64_t image_rows() const { return y_.length * x_.length; }
  int64_t all_rows() const { return y_.phases * x_.phases * image_rows(); }
  int64_t row_stride() const { return x_.length; }

  // Returns the shift, in rows, of each filter position for `images` images.
  std::vector<int64_t> Shifts(int64_t images) const {
    std::vector<int64_t> shifts;
    for (int64_t y = 0; y < y_.filter; ++y) {
      for (int64_t x = 0; x < x_.filter; ++x) {
        const int64_t phase = y_.phase(y) * x_.phases + x_.phase(x);
        shifts.push_back(phase * images * image_rows() + y_.shift(y) * x_.length + x_.shift(x));
      }
    }
    return shifts;
  }

  // Packs the rows of `images` images. Returns false if the micro-kernel rejects a value.
  bool Fill(KernelContext& ctx, const float* input, int64_t images, const gemm::Rows& rows) const {
    const int64_t lines = y_.phases * y_.length;  // of an image
    const double cost = x_.phases * x_.length * channels_ / SpeedsForCpu().packed_floats;
    std::atomic<bool> has_products{true};
    ctx.ParallelFor(images * lines, cost, [&](int64_t begin, int64_t end) {
      bool all = true;
      for (int64_t i = begin; i < end; ++i) {
        all &= FillLine(input, images, i / lines, i % lines, rows);
      }
      if (!all) has_products = false;
    });
    return has_products;
  }

 private:
  // Packs the rows of one line of one of the images. Returns false as Fill() does.
  bool FillLine(const float* input, int64_t images, int64_t image, int64_t line,
                const gemm::Rows& rows) const {
    const int64_t y_phase = line / y_.length, y = line % y_.length;
    const int64_t from_y = y_.source(y_phase, y);
    const bool is_inside = from_y >= 0 && from_y < y_.input;
    bool all = true;
    for (int64_t x_phase = 0; x_phase < x_.phases; ++x_phase) {
      const int64_t phase = y_phase * x_.phases + x_phase;
      const int64_t row = (phase * images + image) * image_rows() + y * x_.length;
      if (is_inside) {
        const int64_t from = (image * y_.input + from_y) * x_.input * channels_;
        all &= FillPhase(input + from, x_phase, row, rows);
      } else {
        kernel_.ClearRows(row, x_.length, rows);
      }
    }
    return all;
  }

  // Packs the points of one phase of the line at `from` into the rows that start at `row`.
  bool FillPhase(const float* from, int64_t phase, int64_t row, const gemm::Rows& rows) const {
    int64_t begin = 0, end = x_.length;
    while (begin < end && x_.source(phase, begin) < 0) ++begin;
    while (end > begin && x_.source(phase, end - 1) >= x_.input) --end;
    kernel_.ClearRows(row, begin, rows);
    kernel_.ClearRows(row + end, x_.length - end, rows);
    if (begin == end) return true;
    return kernel_.PackRows(from + x_.source(phase, begin) * channels_, x_.stride * channels_,
                            row + begin, end - begin, rows);
  }

  const gemm::MicroKernel& kernel_;
  const int64_t channels_;
  const Axis y_, x_;
};

}  // namespace

absl::Status ConvolveByImplicitGemm(KernelContext& whole, const gemm::MicroKernel& kernel,
                                    const ConvolutionShape& s, const PostOps& post_ops,
                                    const float* input, const ScaledWeights& filter,
                                    const float* bias, PackedWeights* packed, float* output,
                                    ComputeItems fallback) {
  const int64_t in_points = s.input[0] * s.input[1], out_points = s.output[0] * s.output[1];
  const Arrangement arrangement(kernel, s);
  const gemm::Weights weights{.positions = s.filter[0] * s.filter[1],
                              .depth = s.in_channels,
                              .columns = s.out_channels,
                              .row_stride = s.out_channels};
  ASSIGN_OR_RETURN(const Tensor matrices, PackWeights(whole, kernel, filter, weights, packed));
  if (matrices.num_elements() == 0) return fallback(whole, 0, s.batch);
  return ParallelItems(
      whole, s.batch, out_points, [&](KernelContext& ctx, int64_t begin, int64_t length) {
        gemm::Product product{.weights = matrices.raw(),
                              .positions = weights.positions,
                              .columns = weights.columns,
                              .end_block = gemm::Blocks(weights.depth)};
        const int64_t rows_per_image = arrangement.all_rows();
        const int64_t per_pass = RowsPerPass(ctx, kernel, length * rows_per_image,
                                             weights.positions, weights.depth, weights.columns);
        const int64_t most = std::clamp<int64_t>(per_pass / rows_per_image, 1, length);
        product.rows = {.count = most * rows_per_image, .depth = weights.depth};
        ASSIGN_OR_RETURN(Tensor workspace,
                         ctx.AllocateTemp(DType::kInt8, {kernel.PackedRowsSize(product.rows.count,
                                                                               weights.depth)}));
        product.rows.data = workspace.data<int8_t>();
        for (int64_t first = begin; first < begin + length; first += most) {
          const int64_t images = std::min(most, begin + length - first);
          const float* const from = input + first * in_points * s.in_channels;
          if (!arrangement.Fill(ctx, from, images, product.rows)) {
            RETURN_IF_ERROR(fallback(ctx, first, images));
            continue;
          }
          const std::vector<int64_t> shifts = arrangement.Shifts(images);
          product.shifts = shifts.data();
          const OutputGrid grid{.images = images,
                                .image_stride = arrangement.image_rows(),
                                .height = s.output[0],
                                .row_stride = arrangement.row_stride(),
                                .width = s.output[1]};
          BlockedGemm(ctx, kernel, product, grid, post_ops, bias,
                      output + first * out_points * s.out_channels);
        }
        return absl::OkStatus();
      });
}

}  // namespace tessera
