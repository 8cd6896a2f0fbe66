#include "runtime/kernels/primitives/cpu/winograd.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "runtime/base/fresh_pages.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/blocked_gemm.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/winograd_tiling.h"
#include "runtime/kernels/primitives/cpu/winograd_transform.h"

namespace tessera {
namespace {

using winograd::kMaxPoints;
using winograd::TransformsForCpu;

// The smallest number of tiles per thread for which reading all filters pays. It is lower than
// kMinRowsPerThread because tiles that threads share move between caches.
constexpr int64_t kMinTiles = 48;

// Returns the distance, in floats, from one point of `rows` rows to the next. The extra cache line
// puts equal rows of different points, which are read and written together, in different sets of
// the cache.
int64_t PointStride(int64_t rows, int64_t row_stride) { return rows * row_stride + 16; }

constexpr int64_t kMaxChannels = 4096;
// The values of points beyond the edges of the input.
const float kZeros[kMaxChannels] = {};

void TransformInputTile(const WinogradTiling& tiling, const float* input, int64_t tile,
                        int64_t point_stride, float* out) {
  const ConvolutionShape& s = tiling.shape;
  const WinogradTiling::Place place = tiling.PlaceOf(tile);
  const int size = tiling.input_tile();
  const float* points[kMaxPoints];
  for (int p = 0; p < tiling.points(); ++p) {
    const int64_t row = place.row - s.pad_before[0] + p / size * s.dilations[0];
    const int64_t column = place.column - s.pad_before[1] + p % size * s.dilations[1];
    const bool inside = row >= 0 && row < s.input[0] && column >= 0 && column < s.input[1];
    points[p] =
        inside ? input + ((place.image * s.input[0] + row) * s.input[1] + column) * s.in_channels
               : kZeros;
  }
  TransformsForCpu(tiling.output_tile).input(points, s.in_channels, point_stride, out);
}

// Computes an output tile directly, for input that the transforms cannot process.
void ConvolveTile(const WinogradTiling& tiling, const Epilogue& epilogue, int64_t tile,
                  const float* input, const ScaledWeights& filter, float* output) {
  const ConvolutionShape& s = tiling.shape;
  const WinogradTiling::Place place = tiling.PlaceOf(tile);
  const int size = tiling.output_tile;
  std::vector<float> sums(s.out_channels), scratch(s.out_channels);
  for (int i = 0; i < size * size; ++i) {
    const int64_t row = place.row + i / size * s.dilations[0];
    const int64_t column = place.column + i % size * s.dilations[1];
    if (row >= s.output[0] || column >= s.output[1]) continue;
    std::fill(sums.begin(), sums.end(), 0);
    for (int position = 0; position < 9; ++position) {
      const int64_t y = row - s.pad_before[0] + position / 3 * s.dilations[0];
      const int64_t x = column - s.pad_before[1] + position % 3 * s.dilations[1];
      if (y < 0 || y >= s.input[0] || x < 0 || x >= s.input[1]) continue;
      const float* const in =
          input + ((place.image * s.input[0] + y) * s.input[1] + x) * s.in_channels;
      for (int64_t c = 0; c < s.in_channels; ++c) {
        const float* const weights =
            ScaledRow(filter, position * s.in_channels + c, s.out_channels, scratch.data());
        for (int64_t o = 0; o < s.out_channels; ++o) sums[o] += in[c] * weights[o];
      }
    }
    float* const to =
        output + ((place.image * s.output[0] + row) * s.output[1] + column) * s.out_channels;
    for (int64_t o = 0; o < s.out_channels; ++o) {
      float value = sums[o] + (epilogue.bias != nullptr ? epilogue.bias[o] : 0);
      if (epilogue.add) value += to[o];
      value = value < epilogue.low ? epilogue.low : value;
      to[o] = value > epilogue.high ? epilogue.high : value;
    }
  }
}

bool TransformOutputTile(const WinogradTiling& tiling, const Epilogue& epilogue, int64_t tile,
                         const float* in, int64_t point_stride, float* output) {
  const ConvolutionShape& s = tiling.shape;
  const WinogradTiling::Place place = tiling.PlaceOf(tile);
  const int size = tiling.output_tile;
  float* points[kMaxPoints];
  for (int i = 0; i < size * size; ++i) {
    const int64_t row = place.row + i / size * s.dilations[0];
    const int64_t column = place.column + i % size * s.dilations[1];
    points[i] =
        row < s.output[0] && column < s.output[1]
            ? output + ((place.image * s.output[0] + row) * s.output[1] + column) * s.out_channels
            : nullptr;
  }
  return TransformsForCpu(tiling.output_tile)
      .output(in, point_stride, s.out_channels, epilogue, points);
}

// The products of all points. Each point has its own rows and its own matrix.
class PointProducts {
 public:
  PointProducts(const WinogradTiling& tiling, const Tensor& filters)
      : kernel_(gemm::FmaMicroKernel()),
        points_(tiling.points()),
        in_(tiling.shape.in_channels),
        out_(tiling.shape.out_channels),
        panels_(gemm::Blocks(out_)),
        filters_(filters.raw()) {}

  // Returns the distance, in floats, from one row of a point to the next.
  int64_t row_stride() const {
    return kernel_.PackedRowsSize(1, in_) / static_cast<int64_t>(sizeof(float));
  }

  // Computes products [points, rows, out] = tiles [points, rows, row_stride()] * filters.
  void Multiply(KernelContext& ctx, int64_t rows, float* tiles, float* products) const {
    const int64_t block = kernel_.RowBlockSize(rows), panel_bytes = kernel_.PackedSize(1, in_, 1);
    const double cost = 2.0 * rows * in_ * gemm::kBlock / SpeedsForCpu().fma_flops;
    ctx.ParallelFor(points_ * panels_, cost, [&](int64_t begin, int64_t end) {
      const Epilogue epilogue = ClampEpilogue(PostOps(), nullptr);
      int64_t row_offsets[gemm::kMaxRows];
      for (int64_t i = 0; i < block; ++i) row_offsets[i] = i * out_;
      for (int64_t item = begin; item < end; ++item) {
        const int64_t point = item / panels_, panel = item % panels_;
        gemm::Product product{.weights = filters_ + point * panels_ * panel_bytes,
                              .columns = out_,
                              .end_block = gemm::Blocks(in_)};
        product.rows = {tiles + point * PointStride(rows, row_stride()), rows, in_};
        // This thread usually takes the next range as well.
        const char* next = filters_ + (item + 1) * panel_bytes;
        const int64_t share = item + 1 < points_ * panels_ ? panel_bytes * block / rows : 0;
        float* const to = products + point * PointStride(rows, out_);
        for (int64_t first = 0; first < rows; first += block) {
          product.prefetch = {.at = next, .size = share};
          kernel_.MultiplyBlock(product, first, std::min(block, rows - first), panel, row_offsets,
                                epilogue, to + first * out_);
          next += share;
        }
      }
    });
  }

 private:
  const gemm::MicroKernel& kernel_;
  const int64_t points_, in_, out_, panels_;
  const char* const filters_;
};

// Returns the transformed filter, packed point by point, or an empty tensor if the filter holds
// infinities or NaNs. Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> PackFilters(KernelContext& ctx, const WinogradTiling& tiling,
                                   const ScaledWeights& filter, PackedWeights* packed) {
  const int64_t in = tiling.shape.in_channels, out = tiling.shape.out_channels;
  const gemm::MicroKernel& kernel = gemm::FmaMicroKernel();
  const auto transform = [&](const Tensor& values) -> absl::StatusOr<Tensor> {
    const int64_t size = kernel.PackedSize(1, in, out);
    ASSIGN_OR_RETURN(Tensor workspace,
                     Tensor::Allocate(DType::kInt8, {tiling.points() * size}, WeightsAllocator()));
    char* const to = reinterpret_cast<char*>(workspace.data<int8_t>());
    std::atomic<bool> is_finite{true};
    ctx.ParallelFor(tiling.points(), 10.0 * in * out, [&](int64_t begin, int64_t end) {
      const auto matrix = std::make_unique_for_overwrite<float[]>(in * out);
      PopulatePages(to + begin * size, (end - begin) * size);
      for (int64_t point = begin; point < end; ++point) {
        TransformsForCpu(tiling.output_tile)
            .filter(values.data<float>(), point, in, out, matrix.get());
        const gemm::Weights weights{
            .data = matrix.get(), .depth = in, .columns = out, .row_stride = out};
        if (!kernel.Pack(weights, 0, gemm::Blocks(out), to + point * size)) is_finite = false;
      }
    });
    if (is_finite) return workspace;
    return Tensor::Allocate(DType::kInt8, {0}, WeightsAllocator());
  };
  using Kind = PackedFormat::Kind;
  const Kind kind = tiling.output_tile == 2 ? Kind::kWinograd2 : Kind::kWinograd4;
  return packed->Get(ctx, filter, {.kind = kind}, transform);
}

}  // namespace

bool WinogradSupports(const ConvolutionShape& s, Activation activation) {
  const auto all = [](const SpatialDims& dims, int64_t value) {
    return dims[0] == value && dims[1] == value;
  };
  return s.filter.size() == 2 && !s.channels_first && s.groups == 1 && all(s.filter, 3) &&
         all(s.strides, 1) && s.in_channels % 16 == 0 && s.out_channels % 16 == 0 &&
         s.in_channels >= 32 && s.out_channels >= 32 && s.in_channels <= kMaxChannels &&
         s.dilations[0] <= s.output[0] && s.dilations[1] <= s.output[1] && IsClamp(activation);
}

absl::Status ConvolveWinograd(KernelContext& whole, const ConvolutionShape& s, int output_tile,
                              const PostOps& post_ops, const float* input,
                              const ScaledWeights& filter, const Tensor* bias,
                              PackedWeights* packed, float* output,
                              absl::FunctionRef<absl::Status()> fallback) {
  const WinogradTiling tiling(s, output_tile);
  ASSIGN_OR_RETURN(const Tensor filters, PackFilters(whole, tiling, filter, packed));
  if (filters.num_elements() == 0) return fallback();
  const PointProducts point_products(tiling, filters);
  const int64_t in_stride = point_products.row_stride(), out = s.out_channels;
  const Epilogue epilogue =
      ClampEpilogue(post_ops, bias == nullptr ? nullptr : bias->data<float>());
  const int64_t points = tiling.points();
  const double tile_cost = tiling.TileBytes() / 2 / SpeedsForCpu().tile_bytes;
  const auto compute = [&](KernelContext& ctx, int64_t begin, int64_t length) -> absl::Status {
    const int threads = NumThreads(ctx);
    const int64_t block = tiling.TilesPerPass(length, threads, SpeedsForCpu().product_cache_bytes);
    ASSIGN_OR_RETURN(Tensor tiles,
                     ctx.AllocateTemp(DType::kFloat, {points, PointStride(block, in_stride)}));
    ASSIGN_OR_RETURN(Tensor products,
                     ctx.AllocateTemp(DType::kFloat, {points, PointStride(block, out)}));
    for (int64_t first = begin; first < begin + length; first += block) {
      const int64_t rows = std::min(block, begin + length - first);
      ctx.ParallelFor(rows, tile_cost, [&](int64_t i, int64_t end) {
        for (; i < end; ++i) {
          TransformInputTile(tiling, input, first + i, PointStride(rows, in_stride),
                             tiles.data<float>() + i * in_stride);
        }
      });
      point_products.Multiply(ctx, rows, tiles.data<float>(), products.data<float>());
      ctx.ParallelFor(rows, tile_cost, [&](int64_t i, int64_t end) {
        for (; i < end; ++i) {
          if (!TransformOutputTile(tiling, epilogue, first + i, products.data<float>() + i * out,
                                   PointStride(rows, out), output)) {
            ConvolveTile(tiling, epilogue, first + i, input, filter, output);
          }
        }
      });
    }
    return absl::OkStatus();
  };
  return ParallelItems(whole, tiling.count(), 1, compute, kMinTiles);
}

}  // namespace tessera
