#include "runtime/kernels/primitives/cpu/depthwise_convolution.h"

#include <algorithm>

#include "runtime/kernels/primitives/cpu/activation_loop.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {

namespace {

class DepthwiseImages {
 public:
  DepthwiseImages(const ConvolutionShape& shape, const Epilogue& epilogue, const float* input,
                  const float* filter, float* output, DepthwiseRowFunction compute_row)
      : s_(shape),
        epilogue_(epilogue),
        input_(input),
        filter_(filter),
        output_(output),
        compute_row_(compute_row),
        filter_row_(s_.filter[1] * s_.in_channels / s_.groups * s_.in_channels),
        channels_of_block_(shape.in_channels) {
    const int64_t image_bytes = s_.input[0] * in_size() * kFloat;
    prefetches_ = image_bytes > SpeedsForCpu().cache_bytes / 2;
    if (!SpeedsForCpu().has_avx512) return;
    // The cache size for which the number of channels is chosen, so that the rows under the filter
    // stay in the first-level cache until the next output row has read them. With AVX2 this takes
    // longer than reading all channels in order.
    constexpr int64_t kCacheBytes = 24 << 10, kMinSteps = 2;
    const int64_t step_bytes = s_.filter[0] * s_.input[1] * kDepthwiseStep * kFloat;
    channels_of_block_ = std::max(kMinSteps, kCacheBytes / step_bytes) * kDepthwiseStep;
  }

  int64_t out_size() const { return s_.output[1] * s_.in_channels; }  // of an output row

  // Returns the number of output rows that stay in the second-level cache until their activations
  // are computed.
  int64_t RowsOfBlock() const {
    const int64_t bytes = out_size() * kFloat;
    return std::max<int64_t>(1, SpeedsForCpu().cache_bytes / 4 / bytes);
  }

  // Computes the output rows [begin, end), counted over all images.
  void ComputeRows(int64_t begin, int64_t end) const {
    for (int64_t channel = 0; channel < s_.in_channels; channel += channels_of_block_) {
      const int64_t last = std::min(channel + channels_of_block_, s_.in_channels);
      for (int64_t row = begin; row < end; ++row) ComputeRow(row, channel, last);
    }
  }

 private:
  static constexpr int64_t kFloat = sizeof(float);

  int64_t in_size() const { return s_.input[1] * s_.in_channels; }

  void ComputeRow(int64_t row, int64_t begin_channel, int64_t end_channel) const {
    const int64_t height = s_.input[0], image = row / s_.output[0];
    const int64_t begin = row % s_.output[0] * s_.strides[0] - s_.pad_before[0];
    const int64_t end = begin + s_.filter[0];
    const int64_t first = std::max<int64_t>(begin, 0), last = std::min(end, height);
    const float* const from = input_ + image * height * in_size();
    const bool has_next = prefetches_ && end >= 0 && end < height;
    compute_row_({.channels = s_.in_channels,
                  .group = s_.in_channels / s_.groups,
                  .begin_channel = begin_channel,
                  .end_channel = end_channel,
                  .points = s_.input[1],
                  .outputs = s_.output[1],
                  .width = s_.filter[1],
                  .stride = s_.strides[1],
                  .pad = s_.pad_before[1],
                  .rows = std::max<int64_t>(last - first, 0),
                  .input = from + first * in_size(),
                  .filter = filter_ + (first - begin) * filter_row_,
                  .epilogue = epilogue_,
                  .output = output_ + row * out_size(),
                  .prefetch = has_next ? from + end * in_size() : nullptr});
  }

  const ConvolutionShape& s_;
  const Epilogue epilogue_;
  const float* const input_;
  const float* const filter_;
  float* const output_;
  const DepthwiseRowFunction compute_row_;
  const int64_t filter_row_;  // weights
  bool prefetches_;           // tells whether the next rows are prefetched
  int64_t channels_of_block_;
};

}  // namespace

DepthwiseRowFunction DepthwiseRowFunctionForCpu() {
  return SpeedsForCpu().has_avx512 ? avx512::ComputeDepthwiseRow : avx2::ComputeDepthwiseRow;
}

bool DepthwiseSupports(const ConvolutionShape& s) {
  constexpr int64_t kMinChannels = 16;
  if (s.filter.size() != 2 || s.channels_first || s.in_channels != s.out_channels ||
      s.in_channels < kMinChannels) {
    return false;
  }
  const bool has_width = s.groups == s.in_channels ? s.filter[1] == 3 || s.filter[1] == 5
                                                   : IsGroupedByFour(s) && s.filter[1] == 3;
  return has_width && (s.strides[1] == 1 || s.strides[1] == 2) && s.dilations[0] == 1 &&
         s.dilations[1] == 1;
}

bool IsGroupedByFour(const ConvolutionShape& s) {
  return s.in_channels == 4 * s.groups && s.out_channels == s.in_channels;
}

absl::Status ConvolveDepthwise(KernelContext& ctx, const ConvolutionShape& shape,
                               const PostOps& post_ops, const float* input, const float* filter,
                               const float* bias, float* output, DepthwiseRowFunction compute_row) {
  const DepthwiseImages images(shape, ClampEpilogue(post_ops, bias), input, filter, output,
                               compute_row);
  const ActivationLoop activate = ActivationLoopOf(post_ops.activation);
  const int64_t rows = shape.batch * shape.output[0], block = images.RowsOfBlock();
  const MachineSpeeds& speeds = SpeedsForCpu();
  const double nanoseconds =
      FlopsOf(shape) / (IsGroupedByFour(shape) ? speeds.fma_flops : speeds.depthwise_flops);
  const int64_t chunks = NumChunks(ctx, rows, nanoseconds);
  return ForEachChunk(ctx, chunks, nanoseconds / chunks, [&](int64_t i) {
    const int64_t end = rows * (i + 1) / chunks;
    for (int64_t first = rows * i / chunks; first < end; first += block) {
      const int64_t last = std::min(first + block, end);
      images.ComputeRows(first, last);
      if (activate == nullptr) continue;
      activate(post_ops.alpha, output + first * images.out_size(),
               (last - first) * images.out_size());
    }
    return absl::OkStatus();
  });
}

}  // namespace tessera
