#include "runtime/kernels/primitives/cpu/separable_block.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/epilogue.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"
#include "runtime/kernels/primitives/cpu/simd_loops.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

using simd::Loops;
using simd::PrefetchRows;

// The number of points whose sums are computed together, so that each weight is used often.
constexpr int64_t kPointsPerBand = 56;
// The bytes of depthwise outputs that are computed before they are multiplied.
constexpr int64_t kBytesPerGroup = 96 << 10;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr simd::Bounds kUnbounded{-kInfinity, kInfinity};

int64_t Rounded(int64_t count, int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// The division of channels into panels. The last panel is padded.
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

// A filter of `depth` x channels, panel by panel, and the bias. Both are padded with zeros.
struct PackedLayer {
  const float* filter_of(int64_t panel) const {
    return filter.data<float>() + panel * depth * panels.size;
  }
  const float* bias_of(int64_t panel) const { return bias.data() + panel * panels.size; }

  Panels panels;
  int64_t depth = 0;
  Tensor filter;
  std::vector<float> bias;
  simd::Bounds bounds;
};

// Returns the filter, packed; `packed` keeps it.
absl::StatusOr<Tensor> PackFilter(KernelContext& ctx, const Tensor& filter, int64_t depth,
                                  const Panels& panels, PackedWeights* packed) {
  const int64_t size = panels.size;
  const auto pack = [&](const Tensor& values) -> absl::StatusOr<Tensor> {
    const float* const from = values.data<float>();
    ASSIGN_OR_RETURN(Tensor workspace,
                     ctx.AllocateZeros(DType::kFloat, {panels.count, depth, size}));
    float* to = workspace.data<float>();
    for (int64_t first = 0; first < panels.channels; first += size) {
      const int64_t width = std::min(size, panels.channels - first);
      for (int64_t term = 0; term < depth; ++term, to += size) {
        std::copy_n(from + term * panels.channels + first, width, to);
      }
    }
    return workspace;
  };
  return packed->Get(ctx, filter, {.kind = PackedFormat::Kind::kSeparable}, pack);
}

absl::StatusOr<PackedLayer> Pack(KernelContext& ctx, const SeparableLayer& layer,
                                 PackedWeights* packed, int64_t depth, const Panels& panels) {
  PackedLayer result{.panels = panels, .depth = depth};
  PackedWeights for_this_run;
  if (packed == nullptr) packed = &for_this_run;
  ASSIGN_OR_RETURN(result.filter, PackFilter(ctx, *layer.filter, depth, panels, packed));
  result.bias.resize(panels.count * panels.size);
  std::copy_n(layer.bias->data<float>(), panels.channels, result.bias.begin());
  const Epilogue epilogue = ClampEpilogue({.activation = layer.activation}, nullptr);
  result.bounds = {epilogue.low, epilogue.high};
  return result;
}

// A part of the work: the output rows [begin, end) of all images, and partial sums over some of the
// panels between the depthwise and the last convolution.
struct Part {
  int64_t begin_row = 0, end_row = 0;
  int64_t begin_panel = 0, end_panel = 0;
  // The first part adds the bias and the residual.
  bool is_first = true;
  bool is_whole = true;  // true if no other part adds to these sums
};

class Block {
 public:
  Block(const SeparableBlockShape& shape, const float* input, const Loops& loops)
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

  absl::Status Pack(KernelContext& ctx, const SeparableLayers& layers,
                    const PackedFilters& packed) {
    const int64_t channels = s_.depthwise.in_channels;
    const Panels middle(channels, loops_.lanes);
    if (s_.expands) {
      ASSIGN_OR_RETURN(expand_,
                       tessera::Pack(ctx, layers.expand, packed.expand, s_.in_channels, middle));
    }
    const int64_t positions = s_.depthwise.filter[0] * s_.depthwise.filter[1];
    ASSIGN_OR_RETURN(depthwise_,
                     tessera::Pack(ctx, layers.depthwise, packed.depthwise, positions, middle));
    const Panels last(s_.out_channels, loops_.lanes);
    ASSIGN_OR_RETURN(project_, tessera::Pack(ctx, layers.project, packed.project, channels, last));
    return absl::OkStatus();
  }

  int64_t rows() const { return s_.depthwise.batch * height_; }
  int64_t row_size() const { return width_ * s_.out_channels; }  // floats in a row of the output
  int64_t panels() const { return depthwise_.panels.count; }
  simd::Bounds bounds() const { return project_.bounds; }

  double Nanoseconds() const {
    return s_.depthwise.batch * s_.depthwise.input[0] * ExpandNanoseconds() +
           rows() * RowNanoseconds();
  }

  // Returns true if `count` parts are faster when each takes some panels than when each takes some
  // rows. Neighbouring rows expand the same input rows twice.
  bool IsBetterSharedByPanels(int64_t count) const {
    if (s_.depthwise.batch % count == 0) return false;
    const int64_t stride = s_.depthwise.strides[0];
    const int64_t part_rows = (rows() + count - 1) / count;
    const int64_t expanded =
        part_rows * stride + std::max<int64_t>(0, reach_ - stride - s_.depthwise.pad_before[0]);
    const double by_rows = part_rows * RowNanoseconds() + expanded * ExpandNanoseconds();
    const int64_t part_panels = (panels() + count - 1) / count;
    const double by_panels =
        Nanoseconds() * part_panels / panels() +
        (count - 1) * rows() * row_size() * SpeedsForCpu().shared_sum_nanoseconds;
    return by_panels < by_rows;
  }

  // `output` has all rows.
  absl::Status Run(KernelContext& ctx, const Part& part, float* output) const {
    const int64_t row = row_points_ * depthwise_.panels.size;
    const int64_t ring = ring_rows_ * row, panels = part.end_panel - part.begin_panel;
    const int64_t group = GroupSize() * depthwise_.panels.size;
    ASSIGN_OR_RETURN(Tensor workspace, ctx.AllocateTemp(DType::kFloat, {panels * ring + row +
                                                                        band_ * width_ * group}));
    Scratch scratch{.ring = workspace.data<float>(),
                    .zeros = workspace.data<float>() + panels * ring};
    scratch.points = scratch.zeros + row;
    scratch.positions.resize(band_ * s_.depthwise.filter[0]);
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
    std::vector<const float*> positions;
    bool is_cold = true;  // the weights may not be in the cache
  };

  // The time to expand one input row, and the time for the rest of one output row.
  double ExpandNanoseconds() const {
    if (!s_.expands) return 0;
    const double points = s_.depthwise.input[1];
    return 2 * points * s_.in_channels * s_.depthwise.in_channels / SpeedsForCpu().fma_flops;
  }
  double RowNanoseconds() const {
    const double depth = s_.out_channels + 2 * depthwise_.depth;
    return 2 * depth * width_ * s_.depthwise.in_channels / SpeedsForCpu().fma_flops;
  }

  int64_t Bands() const {
    const int64_t rows = std::max<int64_t>(1, kPointsPerBand / std::max<int64_t>(1, width_));
    return std::max<int64_t>(1, (height_ + rows - 1) / rows);
  }

  // Returns the number of panels whose depthwise outputs are multiplied together.
  int64_t GroupSize() const {
    const int64_t bytes = band_ * width_ * depthwise_.panels.size * sizeof(float);
    return std::clamp<int64_t>(kBytesPerGroup / bytes, 1, panels());
  }

  // Clears the points of a ring row that lie beyond the image.
  void ClearEnds(float* row) const {
    const int64_t size = depthwise_.panels.size;
    const int64_t before = s_.depthwise.pad_before[1], inside = s_.depthwise.input[1];
    std::fill_n(row, before * size, 0.0f);
    std::fill(row + (before + inside) * size, row + row_points_ * size, 0.0f);
  }

  // Computes the rows [begin, end) of an image's output, band by band.
  void RunImage(const Part& part, int64_t image, int64_t begin, int64_t end, Scratch& scratch,
                float* output) const {
    const int64_t stride = s_.depthwise.strides[0], before = s_.depthwise.pad_before[0];
    int64_t expanded = 0;  // input rows below this one are in the ring
    for (int64_t first = begin; first < end; first += band_) {
      const int64_t last = std::min(first + band_, end) - 1;
      const int64_t size = s_.depthwise.input[0];
      const int64_t from = std::clamp(first * stride - before, expanded, size);
      const int64_t to = std::clamp(last * stride - before + reach_, from, size);
      expanded = to;
      RunBand(part, image, first, last + 1, from, to, scratch, output);
    }
  }

  // Computes the output rows [begin, end), for which the input rows [from, to) are expanded.
  void RunBand(const Part& part, int64_t image, int64_t begin, int64_t end, int64_t from,
               int64_t to, Scratch& scratch, float* output) const {
    const int64_t size = depthwise_.panels.size, row = row_points_ * size;
    const int64_t group = GroupSize(), place = (image * height_ + begin) * row_size();
    for (int64_t first = part.begin_panel; first < part.end_panel; first += group) {
      const int64_t last = std::min(first + group, part.end_panel);
      for (int64_t panel = first; panel < last; ++panel) {
        float* const ring = scratch.ring + (panel - part.begin_panel) * ring_rows_ * row;
        for (int64_t y = from; y < to; ++y) {
          PrefetchRows prefetch;
          if (s_.expands && scratch.is_cold && panel + 1 < part.end_panel) {
            // Each row prefetches its share of the next panel's weights.
            prefetch.size = (s_.in_channels * size + to - from - 1) / (to - from);
            prefetch.data = expand_.filter_of(panel + 1) + (y - from) * prefetch.size;
          }
          Fill(image, y, panel, prefetch,
               ring + y % ring_rows_ * row + s_.depthwise.pad_before[1] * size);
        }
        Convolve(panel, begin, end, ring, scratch, scratch.points + (panel - first) * size);
      }
      const float* const residual = part.is_first && s_.adds_input ? input_ + place : nullptr;
      const bool is_start = first == part.begin_panel;
      const PrefetchRows rows =
          is_start && !scratch.is_cold ? NextBandRows(image, to) : PrefetchRows();
      Project(part, first, last, (end - begin) * width_, scratch, residual, rows, output + place);
    }
    scratch.is_cold = false;
  }

  // Returns the input rows of the next band, which start at row `y`.
  PrefetchRows NextBandRows(int64_t image, int64_t y) const {
    const int64_t row = s_.depthwise.input[1] * s_.in_channels, height = s_.depthwise.input[0];
    const int64_t next = image * height + y, all = s_.depthwise.batch * height;
    return {input_ + next * row, std::min(band_ * s_.depthwise.strides[0], all - next) * row};
  }

  // Adds the products of panels [first, last) for `points` points to `out`. The first panels start
  // the sums, with `residual` unless it is null, and the last ones apply the epilogue. `prefetch`
  // is read soon after.
  void Project(const Part& part, int64_t first, int64_t last, int64_t points,
               const Scratch& scratch, const float* residual, const PrefetchRows& prefetch,
               float* out) const {
    const int64_t middle = depthwise_.panels.size, size = project_.panels.size;
    const bool is_start = first == part.begin_panel, is_end = last == part.end_panel;
    const float* const addend = is_start ? residual : out;
    simd::Multiplication m{
        .rows = points,
        .depth = std::min(last * middle, s_.depthwise.in_channels) - first * middle,
        .a = scratch.points,
        .a_stride = GroupSize() * middle,
        .weights_stride = size,
        .addend_stride = s_.out_channels,
        .bounds = is_end && part.is_whole ? project_.bounds : kUnbounded,
        .out_stride = s_.out_channels};
    for (int64_t panel = 0; panel < project_.panels.count; ++panel) {
      const int64_t column = panel * size;
      m.columns = std::min(s_.out_channels - column, size);
      m.weights = project_.filter_of(panel) + first * middle * size;
      m.bias = is_start && part.is_first ? project_.bias_of(panel) : nullptr;
      m.addend = addend == nullptr ? nullptr : addend + column;
      m.out = out + column;
      m.prefetch = panel == 0 ? prefetch : PrefetchRows();
      if (scratch.is_cold && panel + 1 < project_.panels.count) {
        m.prefetch = {m.weights + project_.depth * size, m.depth * size};
      } else if (scratch.is_cold && !is_end) {
        m.prefetch = {project_.filter_of(0) + last * middle * size, m.depth * size};
      }
      loops_.multiply(project_.panels.vectors, m);
    }
  }

  // Computes one panel of row `y` of the depthwise convolution's input.
  void Fill(int64_t image, int64_t y, int64_t panel, const PrefetchRows& prefetch,
            float* to) const {
    const int64_t points = s_.depthwise.input[1], size = depthwise_.panels.size;
    const float* from = input_ + (image * s_.depthwise.input[0] + y) * points * s_.in_channels;
    if (s_.expands) {
      loops_.multiply(depthwise_.panels.vectors, {.rows = points,
                                                  .depth = s_.in_channels,
                                                  .columns = size,
                                                  .a = from,
                                                  .a_stride = s_.in_channels,
                                                  .weights = expand_.filter_of(panel),
                                                  .weights_stride = size,
                                                  .bias = expand_.bias_of(panel),
                                                  .bounds = expand_.bounds,
                                                  .out = to,
                                                  .out_stride = size,
                                                  .prefetch = prefetch});
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

  // Computes one panel of the depthwise output rows [begin, end).
  void Convolve(int64_t panel, int64_t begin, int64_t end, const float* ring, Scratch& scratch,
                float* out) const {
    const ConvolutionShape& d = s_.depthwise;
    const int64_t size = depthwise_.panels.size, row = row_points_ * size;
    simd::DepthwiseRow task{.outputs = width_,
                            .rows = scratch.positions.data(),
                            .height = d.filter[0],
                            .width = d.filter[1],
                            .stride = d.strides[1],
                            .dilation = d.dilations[1],
                            .weights = depthwise_.filter_of(panel),
                            .bias = depthwise_.bias_of(panel),
                            .bounds = depthwise_.bounds,
                            .out_stride = GroupSize() * size};
    for (int64_t y = begin; y < end; ++y) {
      for (int64_t position = 0; position < d.filter[0]; ++position) {
        const int64_t at = y * d.strides[0] - d.pad_before[0] + position * d.dilations[0];
        const bool is_inside = at >= 0 && at < d.input[0];
        scratch.positions[position] = is_inside ? ring + at % ring_rows_ * row : scratch.zeros;
      }
      task.out = out + (y - begin) * width_ * task.out_stride;
      loops_.depthwise(depthwise_.panels.vectors, task);
    }
  }

  const SeparableBlockShape& s_;
  const float* const input_;
  const Loops& loops_;
  const int64_t height_, width_;  // the size of the output
  const int64_t reach_;           // rows that a column of the filter spans
  const int64_t band_;            // output rows that are computed together
  const int64_t ring_rows_, row_points_;
  PackedLayer expand_, depthwise_, project_;
};

// Each part computes sums over its panels for all rows. The first part's sums go to the output.
absl::Status ShareByPanels(KernelContext& ctx, const Block& block, int64_t count,
                           double nanoseconds, float* output) {
  const int64_t size = block.rows() * block.row_size();
  ASSIGN_OR_RETURN(Tensor workspace, ctx.AllocateTemp(DType::kFloat, {count - 1, size}));
  RETURN_IF_ERROR(ForEachChunk(ctx, count, nanoseconds / count, [&](int64_t i) {
    const Part part{.end_row = block.rows(),
                    .begin_panel = i * block.panels() / count,
                    .end_panel = (i + 1) * block.panels() / count,
                    .is_first = i == 0,
                    .is_whole = false};
    return block.Run(ctx, part, i == 0 ? output : workspace.data<float>() + (i - 1) * size);
  }));
  for (int64_t part = 0; part < count - 1; ++part) {
    const float* const sums = workspace.data<float>() + part * size;
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

absl::Status ComputeSeparableBlock(KernelContext& ctx, const SeparableBlockShape& shape,
                                   const SeparableLayers& layers, const PackedFilters& packed,
                                   const float* input, float* output, Numerics numerics) {
  Block block(shape, input, simd::LoopsForCpu());
  RETURN_IF_ERROR(block.Pack(ctx, layers, packed));
  const double nanoseconds = block.Nanoseconds();
  const int64_t count = NumChunks(ctx, block.rows(), nanoseconds);
  const int64_t threads = NumThreads(ctx);
  if (const int64_t parts = std::min(count, threads);
      numerics == Numerics::kFast && parts > 1 && block.IsBetterSharedByPanels(parts)) {
    return ShareByPanels(ctx, block, parts, nanoseconds, output);
  }
  return ForEachChunk(ctx, count, nanoseconds / count, [&](int64_t i) {
    const Part part{.begin_row = i * block.rows() / count,
                    .end_row = (i + 1) * block.rows() / count,
                    .end_panel = block.panels()};
    return block.Run(ctx, part, output);
  });
}

namespace {

class CpuSeparableBlock final : public SeparableBlock {
 public:
  CpuSeparableBlock(const KernelBuild& build, const FilterInputs& filters)
      : numerics_(build.numerics()),
        expand_(build, filters.expand),
        depthwise_(build, filters.depthwise),
        project_(build, filters.project) {}

  absl::Status Prepare(const PrepareContext& context, bool expands) override {
    StepContext step;
    step.intra_op_pool = context.pool;
    KernelContext ctx(step, context.device);
    if (expands) {
      RETURN_IF_ERROR(PrepareFilter(ctx, /*is_depthwise=*/false, &expand_));
    }
    RETURN_IF_ERROR(PrepareFilter(ctx, /*is_depthwise=*/true, &depthwise_));
    return PrepareFilter(ctx, /*is_depthwise=*/false, &project_);
  }

  absl::Status Run(KernelContext& ctx, const SeparableBlockShape& shape,
                   const SeparableLayers& layers, const Tensor& input, Tensor* output) override {
    if (output->num_elements() == 0) return absl::OkStatus();
    const PackedFilters packed{.expand = shape.expands ? expand_.UseFor(ctx) : nullptr,
                               .depthwise = depthwise_.UseFor(ctx),
                               .project = project_.UseFor(ctx)};
    return ComputeSeparableBlock(ctx, shape, layers, packed, input.data<float>(),
                                 output->data<float>(), numerics_);
  }

 private:
  // Packs a constant filter. Run() gets no other shapes than those that are packed here.
  static absl::Status PrepareFilter(KernelContext& ctx, bool is_depthwise, PackedWeights* packed) {
    const Tensor* const filter = packed->constant();
    if (filter == nullptr || filter->rank() != 4 || filter->num_elements() == 0) {
      return absl::OkStatus();
    }
    const int64_t channels = filter->dim(is_depthwise ? 2 : 3);
    return PackFilter(ctx, *filter, filter->num_elements() / channels,
                      Panels(channels, simd::LoopsForCpu().lanes), packed)
        .status();
  }

  const Numerics numerics_;
  PackedWeights expand_, depthwise_, project_;
};

std::unique_ptr<SeparableBlock> MakeSeparableBlock(const KernelBuild& build,
                                                   const SeparableBlock::FilterInputs& filters) {
  return std::make_unique<CpuSeparableBlock>(build, filters);
}

REGISTER_PRIMITIVE(SeparableBlock, kCpu, MakeSeparableBlock);

}  // namespace
}  // namespace tessera
