#include "runtime/kernels/primitives/cpu/panel_convolution.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "runtime/kernels/primitives/cpu/convolution_split.h"

namespace tessera {
namespace {

// One of the two spatial dimensions. Padded positions with the same remainder by the stride, a
// phase, lie together; or, if each tap lies apart, the positions that one tap sees.
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

  int64_t phase(int64_t tap) const { return is_apart ? tap : tap * dilation % stride; }
  int64_t shift(int64_t tap) const { return is_apart ? 0 : tap * dilation / stride; }
  // Where the position `at` of a phase is in the input, if it is inside.
  int64_t source(int64_t phase, int64_t at) const {
    return at * stride + (is_apart ? phase * dilation : phase) - pad;
  }

  const int64_t input, output, filter, stride, dilation, pad;
  const bool is_apart;
  const int64_t phases, length;  // of positions in a phase
};

// True if lines without what lies between them are worth making one for each tap of the filter's
// width: else the rows of padding at the end of each line are multiplied, and dropped.
bool TapsLieApart(const panel::PanelKernel& kernel, const ConvolutionShape& s) {
  const int64_t width = Axis(s, 1, false).length;
  const auto whole_rows = [&](int64_t a_line) {
    const int64_t rows = (s.output[0] - 1) * a_line + s.output[1], some = kernel.rows_together();
    return (rows + some - 1) / some * some;
  };
  return whole_rows(s.output[1]) < 0.95 * whole_rows(width);
}

// How images become rows: phase by phase, image by image, point by point.
class Arrangement {
 public:
  Arrangement(const panel::PanelKernel& kernel, const ConvolutionShape& s)
      : kernel_(kernel),
        channels_(s.in_channels),
        y_(s, 0, false),
        x_(s, 1, TapsLieApart(kernel, s)) {}

  // Rows of one phase of an image, and of all.
  int64_t image_rows() const { return y_.length * x_.length; }
  int64_t all_rows() const { return y_.phases * x_.phases * image_rows(); }
  int64_t row_step() const { return x_.length; }

  // By how many rows each tap moves them, for `images` images.
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

  // Fills the rows of `images` images. False if the kernel has no products of something.
  bool Fill(KernelContext& ctx, const float* input, int64_t images, const panel::Rows& rows) const {
    const int64_t lines = y_.phases * y_.length;  // of an image
    const double cost = x_.phases * x_.length * channels_ / kPackedFloatsANanosecond;
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
  // Fills the rows of one line of image `image` of `images`. False as Fill().
  bool FillLine(const float* input, int64_t images, int64_t image, int64_t line,
                const panel::Rows& rows) const {
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
        kernel_.Clear(row, x_.length, rows);
      }
    }
    return all;
  }

  // Rows from `row` on, of the points of one phase of the line that begins at `from`.
  bool FillPhase(const float* from, int64_t phase, int64_t row, const panel::Rows& rows) const {
    int64_t begin = 0, end = x_.length;
    while (begin < end && x_.source(phase, begin) < 0) ++begin;
    while (end > begin && x_.source(phase, end - 1) >= x_.input) --end;
    kernel_.Clear(row, begin, rows);
    kernel_.Clear(row + end, x_.length - end, rows);
    if (begin == end) return true;
    return kernel_.Put(from + x_.source(phase, begin) * channels_, x_.stride * channels_,
                       row + begin, end - begin, rows);
  }

  const panel::PanelKernel& kernel_;
  const int64_t channels_;
  const Axis y_, x_;
};

}  // namespace

const panel::PanelKernel* PanelKernelFor(const ConvolutionShape& s) {
  if (s.filter.size() != 2 || s.channels_first || s.groups != 1) return nullptr;
  const int64_t taps = s.filter[0] * s.filter[1], rows = s.output[0] * s.output[1];
  const auto* const kernel = PanelKernelFor(s.out_channels, s.in_channels, taps, rows);
  const bool pays = kernel != nullptr &&
                    HasRowsEnough(*kernel, s.batch * rows, s.out_channels, s.in_channels, taps);
  return pays ? kernel : nullptr;
}

absl::Status ConvolvePanels(KernelContext& whole, const panel::PanelKernel& kernel,
                            const ConvolutionShape& s, const PostOps& post_ops, const float* input,
                            const ScaledWeights& filter, const float* bias, PackedWeights* packed,
                            float* output, ComputeItems compute_exactly) {
  const int64_t in_points = s.input[0] * s.input[1], out_points = s.output[0] * s.output[1];
  // One point each; with padding before it that one would not be the input's.
  const bool is_pointwise = s.filter[0] * s.filter[1] * in_points * out_points == 1 &&
                            s.pad_before[0] == 0 && s.pad_before[1] == 0;
  if (is_pointwise) {
    return MatMulPanels(whole, kernel, s.batch, s.out_channels, s.in_channels, false, post_ops,
                        input, filter, bias, packed, output, compute_exactly);
  }
  const Arrangement arrangement(kernel, s);
  const panel::Weights weights{.taps = s.filter[0] * s.filter[1],
                               .terms = s.in_channels,
                               .columns = s.out_channels,
                               .row_step = s.out_channels};
  ASSIGN_OR_RETURN(const Tensor matrices, PackPanels(whole, kernel, filter, weights, packed));
  if (matrices.num_elements() == 0) return compute_exactly(whole, 0, s.batch);
  return ShareItems(
      whole, s.batch, out_points, [&](KernelContext& ctx, int64_t begin, int64_t length) {
        panel::Product product{.weights = matrices.raw(),
                               .taps = weights.taps,
                               .columns = weights.columns,
                               .end_block = panel::Blocks(weights.terms)};
        const int64_t an_image = arrangement.all_rows();
        const int64_t at_once = RowsAtOnce(ctx, kernel, length * an_image, weights.taps,
                                           weights.terms, weights.columns);
        const int64_t most = std::clamp<int64_t>(at_once / an_image, 1, length);
        product.rows = {.count = most * an_image, .terms = weights.terms};
        ASSIGN_OR_RETURN(
            Tensor room,
            ctx.AllocateTemp(DType::kInt8, {kernel.RowsSize(product.rows.count, weights.terms)}));
        product.rows.data = room.data<int8_t>();
        for (int64_t first = begin; first < begin + length; first += most) {
          const int64_t images = std::min(most, begin + length - first);
          const float* const from = input + first * in_points * s.in_channels;
          if (!arrangement.Fill(ctx, from, images, product.rows)) {
            RETURN_IF_ERROR(compute_exactly(ctx, first, images));
            continue;
          }
          const std::vector<int64_t> shifts = arrangement.Shifts(images);
          product.shifts = shifts.data();
          const OutputGrid grid{.images = images,
                                .image_step = arrangement.image_rows(),
                                .height = s.output[0],
                                .row_step = arrangement.row_step(),
                                .width = s.output[1]};
          MultiplyPanels(ctx, kernel, product, grid, post_ops, bias,
                         output + first * out_points * s.out_channels);
        }
        return absl::OkStatus();
      });
}

}  // namespace tessera
