#include "runtime/kernels/primitives/cpu/separable_block.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/thread_share.h"
#include "runtime/kernels/primitives/cpu/ending.h"
#include "runtime/kernels/primitives/cpu/panel_loops.h"
#include "runtime/kernels/primitives/cpu/pieces.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {
namespace {

using panel_loops::Ahead;
using panel_loops::Loops;

// What one core does, about.
constexpr double kFlopsANanosecond = 140;
// Of adding what another core made to a sum.
constexpr double kNanosecondsASum = 0.3;
// Points whose sums are made together: enough to use each of the weights often.
constexpr int64_t kPointsABand = 56;
// Bytes of the depthwise convolution's outputs that are made before they are multiplied.
constexpr int64_t kBytesAGroup = 96 << 10;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr panel_loops::Bounds kUnbounded{-kInfinity, kInfinity};

int64_t Rounded(int64_t count, int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// How channels are cut into panels. The last one is filled up.
struct Panels {
  Panels() = default;
  Panels(int64_t channels, int64_t lanes) : channels(channels) {
    const int64_t all = Rounded(channels, lanes) / lanes;
    for (const int64_t wanted : {3, 4, 2}) {
      if (vectors == 0 || Rounded(all, wanted) < Rounded(all, vectors)) vectors = wanted;
    }
    if (all == 1) vectors = 1;
    size = vectors * lanes;
    count = Rounded(channels, size) / size;
  }

  int64_t channels = 0, vectors = 0, size = 0, count = 0;
};

// A filter of `terms` x channels, panel by panel, and the bias, filled up with zeros.
struct PackedLayer {
  const float* filter_of(int64_t panel) const {
    return filter.data<float>() + panel * terms * panels.size;
  }
  const float* bias_of(int64_t panel) const { return bias.data() + panel * panels.size; }

  Panels panels;
  int64_t terms = 0;
  Tensor filter;
  std::vector<float> bias;
  panel_loops::Bounds bounds;
};

absl::StatusOr<PackedLayer> Pack(KernelContext& ctx, const SeparableLayer& layer, int64_t terms,
                                 const Panels& panels) {
  PackedLayer result{.panels = panels, .terms = terms};
  const int64_t size = panels.size;
  const auto pack = [&](const float* from) -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor room, Tensor::Zeros(DType::kFloat, {panels.count, terms, size}));
    float* to = room.data<float>();
    for (int64_t first = 0; first < panels.channels; first += size) {
      const int64_t width = std::min(size, panels.channels - first);
      for (int64_t term = 0; term < terms; ++term, to += size) {
        std::copy_n(from + term * panels.channels + first, width, to);
      }
    }
    return room;
  };
  ASSIGN_OR_RETURN(result.filter,
                   layer.packed->Derived(ctx, *layer.filter, WeightsForm::kSeparable, pack));
  result.bias.resize(panels.count * size);
  std::copy_n(layer.bias->data<float>(), panels.channels, result.bias.begin());
  const Ending ending = EndingOf({.activation = layer.activation}, nullptr);
  result.bounds = {ending.low, ending.high};
  return result;
}

// A part of the work: rows [begin, end) of all images' outputs, of sums over some of the panels
// between the depthwise convolution and the last.
struct Part {
  int64_t begin_row = 0, end_row = 0;
  int64_t begin_panel = 0, end_panel = 0;
  // What the sums are added to: the bias and what the block adds, or nothing.
  bool is_first = true;
  bool is_whole = true;  // no other part adds to these sums
};

class Block {
 public:
  Block(const SeparableBlock& shape, const float* input, const Loops& loops)
      : s_(shape),
        input_(input),
        loops_(loops),
        height_(s_.depthwise.output[0]),
        width_(s_.depthwise.output[1]),
        reach_((s_.depthwise.filter[0] - 1) * s_.depthwise.dilations[0] + 1),
        band_((height_ + Bands() - 1) / Bands()),
        ring_rows_((band_ - 1) * s_.depthwise.strides[0] + reach_),
        row_points_(std::max((width_ - 1) * s_.depthwise.strides[1] +
                                 (s_.depthwise.filter[1] - 1) * s_.depthwise.dilations[1] + 1,
                             s_.depthwise.pad_before[1] + s_.depthwise.input[1])) {}

  absl::Status Pack(KernelContext& ctx, const SeparableLayer& expand,
                    const SeparableLayer& depthwise, const SeparableLayer& project) {
    const int64_t channels = s_.depthwise.in_channels;
    const Panels middle(channels, loops_.lanes);
    if (s_.expands) {
      ASSIGN_OR_RETURN(expand_, tessera::Pack(ctx, expand, s_.in_channels, middle));
    }
    const int64_t taps = s_.depthwise.filter[0] * s_.depthwise.filter[1];
    ASSIGN_OR_RETURN(depthwise_, tessera::Pack(ctx, depthwise, taps, middle));
    const Panels last(s_.out_channels, loops_.lanes);
    ASSIGN_OR_RETURN(project_, tessera::Pack(ctx, project, channels, last));
    return absl::OkStatus();
  }

  int64_t rows() const { return s_.depthwise.batch * height_; }
  int64_t row_size() const { return width_ * s_.out_channels; }  // of the output
  int64_t panels() const { return depthwise_.panels.count; }
  panel_loops::Bounds bounds() const { return project_.bounds; }

  double Nanoseconds() const {
    return s_.depthwise.batch * s_.depthwise.input[0] * ExpandNanoseconds() +
           rows() * RowNanoseconds();
  }

  // True if `count` parts are made faster each of some panels than each of some rows, of which
  // neighbours expand the same.
  bool IsBetterSharedByPanels(int64_t count) const {
    if (s_.depthwise.batch % count == 0) return false;
    const int64_t stride = s_.depthwise.strides[0];
    const int64_t part_rows = (rows() + count - 1) / count;
    const int64_t expanded =
        part_rows * stride + std::max<int64_t>(0, reach_ - stride - s_.depthwise.pad_before[0]);
    const double by_rows = part_rows * RowNanoseconds() + expanded * ExpandNanoseconds();
    const int64_t part_panels = (panels() + count - 1) / count;
    const double by_panels = Nanoseconds() * part_panels / panels() +
                             (count - 1) * rows() * row_size() * kNanosecondsASum;
    return by_panels < by_rows;
  }

  // `output` has all rows.
  absl::Status Run(KernelContext& ctx, const Part& part, float* output) const {
    const int64_t row = row_points_ * depthwise_.panels.size;
    const int64_t ring = ring_rows_ * row, panels = part.end_panel - part.begin_panel;
    const int64_t group = GroupSize() * depthwise_.panels.size;
    ASSIGN_OR_RETURN(Tensor room, ctx.AllocateTemp(DType::kFloat,
                                                   {panels * ring + row + band_ * width_ * group}));
    Scratch scratch{.ring = room.data<float>(), .zeros = room.data<float>() + panels * ring};
    scratch.points = scratch.zeros + row;
    scratch.taps.resize(band_ * s_.depthwise.filter[0]);
    std::fill_n(scratch.zeros, row, 0.0f);
    for (int64_t line = 0; line < panels * ring_rows_; ++line) ClearEnds(scratch.ring + line * row);
    for (int64_t at = part.begin_row; at < part.end_row;) {
      const int64_t image = at / height_;
      const int64_t end = std::min(part.end_row, (image + 1) * height_);
      RunImage(part, image, at - image * height_, end - image * height_, scratch, output);
      at = end;
    }
    return absl::OkStatus();
  }

 private:
  struct Scratch {
    float* ring = nullptr;    // [panels, ring_rows_, row_points_, panel]
    float* zeros = nullptr;   // a row beyond the image
    float* points = nullptr;  // [band_ * width_, group]: outputs of the depthwise convolution
    std::vector<const float*> taps;
    bool is_cold = true;  // weights may have to come from memory
  };

  // What a row of the input takes to expand, and one of the output all the rest.
  double ExpandNanoseconds() const {
    if (!s_.expands) return 0;
    const double points = s_.depthwise.input[1];
    return 2 * points * s_.in_channels * s_.depthwise.in_channels / kFlopsANanosecond;
  }
  double RowNanoseconds() const {
    const double terms = s_.out_channels + 2 * depthwise_.terms;
    return 2 * terms * width_ * s_.depthwise.in_channels / kFlopsANanosecond;
  }

  int64_t Bands() const {
    const int64_t rows = std::max<int64_t>(1, kPointsABand / std::max<int64_t>(1, width_));
    return std::max<int64_t>(1, (height_ + rows - 1) / rows);
  }

  // Panels whose depthwise outputs are multiplied together.
  int64_t GroupSize() const {
    const int64_t bytes = band_ * width_ * depthwise_.panels.size * sizeof(float);
    return std::clamp<int64_t>(kBytesAGroup / bytes, 1, panels());
  }

  // The points of a row of the ring that lie beyond the image.
  void ClearEnds(float* row) const {
    const int64_t size = depthwise_.panels.size;
    const int64_t before = s_.depthwise.pad_before[1], inside = s_.depthwise.input[1];
    std::fill_n(row, before * size, 0.0f);
    std::fill(row + (before + inside) * size, row + row_points_ * size, 0.0f);
  }

  // Rows [begin, end) of an image's output, band by band.
  void RunImage(const Part& part, int64_t image, int64_t begin, int64_t end, Scratch& scratch,
                float* output) const {
    const int64_t stride = s_.depthwise.strides[0], before = s_.depthwise.pad_before[0];
    int64_t expanded = 0;  // rows of the input below this one are in the ring
    for (int64_t first = begin; first < end; first += band_) {
      const int64_t last = std::min(first + band_, end) - 1;
      const int64_t size = s_.depthwise.input[0];
      const int64_t from = std::clamp(first * stride - before, expanded, size);
      const int64_t to = std::clamp(last * stride - before + reach_, from, size);
      expanded = to;
      RunBand(part, image, first, last + 1, from, to, scratch, output);
    }
  }

  // Rows [begin, end) of the output, for which rows [from, to) of the input are new.
  void RunBand(const Part& part, int64_t image, int64_t begin, int64_t end, int64_t from,
               int64_t to, Scratch& scratch, float* output) const {
    const int64_t size = depthwise_.panels.size, row = row_points_ * size;
    const int64_t group = GroupSize(), place = (image * height_ + begin) * row_size();
    for (int64_t first = part.begin_panel; first < part.end_panel; first += group) {
      const int64_t last = std::min(first + group, part.end_panel);
      for (int64_t panel = first; panel < last; ++panel) {
        float* const ring = scratch.ring + (panel - part.begin_panel) * ring_rows_ * row;
        for (int64_t y = from; y < to; ++y) {
          Ahead ahead;
          if (s_.expands && scratch.is_cold && panel + 1 < part.end_panel) {
            // Each row brings its share of what the next panel is multiplied with.
            ahead.size = (s_.in_channels * size + to - from - 1) / (to - from);
            ahead.data = expand_.filter_of(panel + 1) + (y - from) * ahead.size;
          }
          Fill(image, y, panel, ahead,
               ring + y % ring_rows_ * row + s_.depthwise.pad_before[1] * size);
        }
        Convolve(panel, begin, end, ring, scratch, scratch.points + (panel - first) * size);
      }
      const float* const residual = part.is_first && s_.adds_input ? input_ + place : nullptr;
      const bool is_start = first == part.begin_panel;
      const Ahead rows = is_start && !scratch.is_cold ? NextRows(image, to) : Ahead();
      Project(part, first, last, (end - begin) * width_, scratch, residual, rows, output + place);
    }
    scratch.is_cold = false;
  }

  // What the next band reads, of which rows from `y` on are new.
  Ahead NextRows(int64_t image, int64_t y) const {
    const int64_t row = s_.depthwise.input[1] * s_.in_channels, height = s_.depthwise.input[0];
    const int64_t next = image * height + y, all = s_.depthwise.batch * height;
    return {input_ + next * row, std::min(band_ * s_.depthwise.strides[0], all - next) * row};
  }

  // Adds to `out` what panels [first, last) of `points` points come to. The first panels begin
  // sums, with `residual` unless it is null; the last ones end them. `ahead` is what else is read
  // soon.
  void Project(const Part& part, int64_t first, int64_t last, int64_t points,
               const Scratch& scratch, const float* residual, const Ahead& ahead,
               float* out) const {
    const int64_t middle = depthwise_.panels.size, size = project_.panels.size;
    const bool is_start = first == part.begin_panel, is_end = last == part.end_panel;
    const float* const addend = is_start ? residual : out;
    panel_loops::Multiplication m{
        .rows = points,
        .terms = std::min(last * middle, s_.depthwise.in_channels) - first * middle,
        .a = scratch.points,
        .a_step = GroupSize() * middle,
        .weights_step = size,
        .addend_step = s_.out_channels,
        .bounds = is_end && part.is_whole ? project_.bounds : kUnbounded,
        .out_step = s_.out_channels};
    for (int64_t panel = 0; panel < project_.panels.count; ++panel) {
      const int64_t column = panel * size;
      m.columns = std::min(s_.out_channels - column, size);
      m.weights = project_.filter_of(panel) + first * middle * size;
      m.bias = is_start && part.is_first ? project_.bias_of(panel) : nullptr;
      m.addend = addend == nullptr ? nullptr : addend + column;
      m.out = out + column;
      m.ahead = panel == 0 ? ahead : Ahead();
      if (scratch.is_cold && panel + 1 < project_.panels.count) {
        m.ahead = {m.weights + project_.terms * size, m.terms * size};
      } else if (scratch.is_cold && !is_end) {
        m.ahead = {project_.filter_of(0) + last * middle * size, m.terms * size};
      }
      loops_.multiply(project_.panels.vectors, m);
    }
  }

  // One panel of row `y` of the depthwise convolution's input.
  void Fill(int64_t image, int64_t y, int64_t panel, const Ahead& ahead, float* to) const {
    const int64_t points = s_.depthwise.input[1], size = depthwise_.panels.size;
    const float* from = input_ + (image * s_.depthwise.input[0] + y) * points * s_.in_channels;
    if (s_.expands) {
      loops_.multiply(depthwise_.panels.vectors, {.rows = points,
                                                  .terms = s_.in_channels,
                                                  .columns = size,
                                                  .a = from,
                                                  .a_step = s_.in_channels,
                                                  .weights = expand_.filter_of(panel),
                                                  .weights_step = size,
                                                  .bias = expand_.bias_of(panel),
                                                  .bounds = expand_.bounds,
                                                  .out = to,
                                                  .out_step = size,
                                                  .ahead = ahead});
      return;
    }
    if (s_.in_channels == size) {
      std::copy_n(from, points * size, to);
      return;
    }
    const int64_t width = std::min(size, s_.in_channels - panel * size);
    from += panel * size;
    for (int64_t x = 0; x < points; ++x, from += s_.in_channels, to += size) {
      std::copy_n(from, width, to);
      std::fill(to + width, to + size, 0.0f);
    }
  }

  // One panel of the depthwise convolution's output rows [begin, end).
  void Convolve(int64_t panel, int64_t begin, int64_t end, const float* ring, Scratch& scratch,
                float* out) const {
    const ConvolutionShape& d = s_.depthwise;
    const int64_t size = depthwise_.panels.size, row = row_points_ * size;
    panel_loops::DepthwiseRow task{.outputs = width_,
                                   .rows = scratch.taps.data(),
                                   .height = d.filter[0],
                                   .width = d.filter[1],
                                   .stride = d.strides[1],
                                   .dilation = d.dilations[1],
                                   .weights = depthwise_.filter_of(panel),
                                   .bias = depthwise_.bias_of(panel),
                                   .bounds = depthwise_.bounds,
                                   .out_step = GroupSize() * size};
    for (int64_t y = begin; y < end; ++y) {
      for (int64_t tap = 0; tap < d.filter[0]; ++tap) {
        const int64_t at = y * d.strides[0] - d.pad_before[0] + tap * d.dilations[0];
        const bool is_inside = at >= 0 && at < d.input[0];
        scratch.taps[tap] = is_inside ? ring + at % ring_rows_ * row : scratch.zeros;
      }
      task.out = out + (y - begin) * width_ * task.out_step;
      loops_.depthwise(depthwise_.panels.vectors, task);
    }
  }

  const SeparableBlock& s_;
  const float* const input_;
  const Loops& loops_;
  const int64_t height_, width_;  // of the output
  const int64_t reach_;           // rows that a column of the filter spans
  const int64_t band_;            // rows of the output that are made together
  const int64_t ring_rows_, row_points_;
  PackedLayer expand_, depthwise_, project_;
};

// Each part makes sums over its panels for all rows, the first of them in the output.
absl::Status ShareByPanels(KernelContext& ctx, const Block& block, int64_t count,
                           double nanoseconds, float* output) {
  const int64_t size = block.rows() * block.row_size();
  ASSIGN_OR_RETURN(Tensor room, ctx.AllocateTemp(DType::kFloat, {count - 1, size}));
  RETURN_IF_ERROR(ForEachPiece(ctx, count, nanoseconds / count, [&](int64_t i) {
    const Part part{.end_row = block.rows(),
                    .begin_panel = i * block.panels() / count,
                    .end_panel = (i + 1) * block.panels() / count,
                    .is_first = i == 0,
                    .is_whole = false};
    return block.Run(ctx, part, i == 0 ? output : room.data<float>() + (i - 1) * size);
  }));
  for (int64_t part = 0; part < count - 1; ++part) {
    const float* const sums = room.data<float>() + part * size;
    const auto [low, high] = part == count - 2 ? block.bounds() : kUnbounded;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const float sum = output[i] + sums[i];
      const float above = sum < low ? low : sum;
      output[i] = above > high ? high : above;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ComputeSeparableBlock(KernelContext& ctx, const SeparableBlock& shape,
                                   const SeparableLayer& expand, const SeparableLayer& depthwise,
                                   const SeparableLayer& project, const float* input,
                                   float* output) {
  Block block(shape, input, panel_loops::LoopsOfMachine());
  RETURN_IF_ERROR(block.Pack(ctx, expand, depthwise, project));
  const double nanoseconds = block.Nanoseconds();
  const int64_t count = NumPieces(ctx, block.rows(), nanoseconds);
  const int64_t threads = ctx.pool() == nullptr ? 1 : ThreadShare(ctx.pool()->num_threads());
  if (const int64_t parts = std::min(count, threads);
      parts > 1 && block.IsBetterSharedByPanels(parts)) {
    return ShareByPanels(ctx, block, parts, nanoseconds, output);
  }
  return ForEachPiece(ctx, count, nanoseconds / count, [&](int64_t i) {
    const Part part{.begin_row = i * block.rows() / count,
                    .end_row = (i + 1) * block.rows() / count,
                    .end_panel = block.panels()};
    return block.Run(ctx, part, output);
  });
}

}  // namespace tessera
