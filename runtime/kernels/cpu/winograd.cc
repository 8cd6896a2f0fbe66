#include "runtime/kernels/cpu/winograd.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cpu/convolution_split.h"
#include "runtime/kernels/cpu/onednn.h"
#include "runtime/kernels/cpu/pieces.h"
#include "runtime/kernels/cpu/winograd_transform.h"

namespace tessera {
namespace {

using winograd::kInputTile;
using winograd::kOutputTile;
using winograd::kPoints;

// What one core does, about: operations a nanosecond of matrix products, bytes a nanosecond of
// weights and of transformed tiles.
constexpr double kFlopsANanosecond = 190;
constexpr double kWeightBytesANanosecond = 15;
constexpr double kTileBytesANanosecond = 20;

// 36 of these products make a block of tiles.
struct Product {
  dnnl::matmul::primitive_desc desc;
  dnnl::primitive primitive;
};

std::shared_ptr<const Product> MakeProduct(int64_t count, int64_t rows, int64_t in, int64_t out) {
  using dnnl::memory;
  const auto layout = [](int64_t n, int64_t r, int64_t c) {
    return memory::desc({n, r, c}, memory::data_type::f32, memory::format_tag::abc);
  };
  auto made = std::make_shared<Product>();
  made->desc = dnnl::matmul::primitive_desc(
      dnnl::matmul::desc(layout(count, rows, in), layout(count, in, out), layout(count, rows, out)),
      onednn::Attributes(PostOps()), onednn::Engine());
  made->primitive = dnnl::matmul(made->desc);
  return made;
}

// products[i] = tiles[i] * filters[i] for `count` matrices, on the calling thread.
absl::Status Multiply(KernelContext& ctx, int64_t count, int64_t rows, int64_t in, int64_t out,
                      const float* tiles, const float* filters, float* products) {
  static auto* const primitives = new onednn::PrimitiveCache<Product>(256);
  onednn::ThreadBound bound(nullptr);
  ASSIGN_OR_RETURN(const std::shared_ptr<const Product> product,
                   primitives->Get(onednn::Key().Add(count).Add(rows).Add(in).Add(out),
                                   [&] { return MakeProduct(count, rows, in, out); }));
  const auto& desc = product->desc;
  ASSIGN_OR_RETURN(
      Tensor scratch,
      ctx.AllocateTemp(DType::kUint8, {static_cast<int64_t>(desc.scratchpad_desc().get_size())}));
  try {
    product->primitive.execute(
        onednn::Stream(),
        {{DNNL_ARG_SRC, onednn::Wrap(desc.src_desc(), tiles)},
         {DNNL_ARG_WEIGHTS, onednn::Wrap(desc.weights_desc(), filters)},
         {DNNL_ARG_DST, onednn::Wrap(desc.dst_desc(), products)},
         {DNNL_ARG_SCRATCHPAD, onednn::Wrap(desc.scratchpad_desc(), scratch.raw())}});
    onednn::Stream().wait();
  } catch (const dnnl::error& e) {
    return absl::InternalError(absl::StrCat("oneDNN failed in a convolution: ", e.what()));
  }
  return absl::OkStatus();
}

// The tiles that cover all outputs, image by image and row by row.
struct Tiling {
  explicit Tiling(const ConvolutionShape& s)
      : shape(s),
        rows((s.output[0] + kOutputTile - 1) / kOutputTile),
        columns((s.output[1] + kOutputTile - 1) / kOutputTile) {}
  int64_t count() const { return shape.batch * rows * columns; }

  // First row and column of a tile's outputs.
  struct Place {
    int64_t image, row, column;
  };
  Place PlaceOf(int64_t tile) const {
    return {tile / (rows * columns), tile / columns % rows * kOutputTile,
            tile % columns * kOutputTile};
  }

  const ConvolutionShape& shape;
  const int64_t rows, columns;
};

constexpr int64_t kMaxChannels = 4096;
// What lies beyond the input's edges.
const float kZeros[kMaxChannels] = {};

void TransformInputTile(const Tiling& tiling, const float* input, int64_t tile, int64_t point_step,
                        float* out) {
  const ConvolutionShape& s = tiling.shape;
  const Tiling::Place place = tiling.PlaceOf(tile);
  const float* points[kPoints];
  for (int p = 0; p < kPoints; ++p) {
    const int64_t row = place.row - s.pad_before[0] + p / kInputTile;
    const int64_t column = place.column - s.pad_before[1] + p % kInputTile;
    const bool inside = row >= 0 && row < s.input[0] && column >= 0 && column < s.input[1];
    points[p] =
        inside ? input + ((place.image * s.input[0] + row) * s.input[1] + column) * s.in_channels
               : kZeros;
  }
  winograd::TransformInput(points, s.in_channels, point_step, out);
}

void TransformOutputTile(const Tiling& tiling, const Ending& ending, int64_t tile, const float* in,
                         int64_t point_step, float* output) {
  const ConvolutionShape& s = tiling.shape;
  const Tiling::Place place = tiling.PlaceOf(tile);
  float* points[kOutputTile * kOutputTile];
  for (int i = 0; i < kOutputTile * kOutputTile; ++i) {
    const int64_t row = place.row + i / kOutputTile, column = place.column + i % kOutputTile;
    points[i] =
        row < s.output[0] && column < s.output[1]
            ? output + ((place.image * s.output[0] + row) * s.output[1] + column) * s.out_channels
            : nullptr;
  }
  winograd::TransformOutput(in, point_step, s.out_channels, ending, points);
}

// Bytes of transformed tiles and products for each tile.
double TileBytes(const ConvolutionShape& s) {
  return sizeof(float) * kPoints * static_cast<double>(s.in_channels + s.out_channels);
}
double FilterBytes(const ConvolutionShape& s) {
  return sizeof(float) * kPoints * static_cast<double>(s.in_channels) * s.out_channels;
}

// Tiles that are worked on at once: as many as leave their transforms in the cache, or as make
// reading the filters worth it.
int64_t TilesABlock(const ConvolutionShape& s, int threads) {
  constexpr double kCacheBytes = 2 << 20;
  const double budget = std::max(threads * kCacheBytes, FilterBytes(s) / 2);
  return std::max<int64_t>(16, static_cast<int64_t>(budget / TileBytes(s)));
}

}  // namespace

bool WinogradPays(const ConvolutionShape& s, const PostOps& post_ops) {
  static const bool is_supported = __builtin_cpu_supports("avx512f");
  const auto all = [](const SpatialDims& dims, int64_t value) {
    return dims[0] == value && dims[1] == value;
  };
  if (!is_supported || s.filter.size() != 2 || s.channels_first || s.groups != 1 ||
      !all(s.filter, 3) || !all(s.strides, 1) || !all(s.dilations, 1) || s.in_channels % 16 != 0 ||
      s.out_channels % 16 != 0 || s.in_channels < 32 || s.out_channels < 32 ||
      s.in_channels > kMaxChannels || !IsClamp(post_ops.activation)) {
    return false;
  }
  const int64_t tiles = Tiling(s).count();
  const int64_t blocks = (tiles + TilesABlock(s, 1) - 1) / TilesABlock(s, 1);
  const double products =
      2.0 * kPoints * tiles * s.in_channels * s.out_channels / kFlopsANanosecond;
  const double filters = blocks * FilterBytes(s) / kWeightBytesANanosecond;
  const double transforms = tiles * TileBytes(s) / kTileBytesANanosecond;
  return std::max(products, filters) + transforms < 0.9 * FlopsOf(s) / kFlopsANanosecond;
}

absl::Status ConvolveWinograd(KernelContext& ctx, const ConvolutionShape& s,
                              const PostOps& post_ops, const float* input, const Tensor& filter,
                              const Tensor* bias, PackedWeights* packed, float* output) {
  const int64_t in = s.in_channels, out = s.out_channels;
  absl::StatusOr<Tensor> room;
  const Tensor filters = packed->Derived(filter, [&] {
    room = Tensor::Allocate(DType::kFloat, {kPoints, in, out});
    if (!room.ok()) return Tensor();
    winograd::TransformFilter(filter.data<float>(), in, out, room->data<float>());
    return *room;
  });
  if (!filters.has_value()) return room.status();

  const Tiling tiling(s);
  const Ending ending = EndingOf(post_ops, bias == nullptr ? nullptr : bias->data<float>());
  const int threads = ctx.pool() == nullptr ? 1 : ctx.pool()->num_threads();
  const int64_t block = std::min(tiling.count(), TilesABlock(s, threads));
  ASSIGN_OR_RETURN(Tensor tiles, ctx.AllocateTemp(DType::kFloat, {kPoints, block, in}));
  ASSIGN_OR_RETURN(Tensor products, ctx.AllocateTemp(DType::kFloat, {kPoints, block, out}));
  const double tile_cost = TileBytes(s) / 2 / kTileBytesANanosecond;
  for (int64_t first = 0; first < tiling.count(); first += block) {
    const int64_t rows = std::min(block, tiling.count() - first);
    ctx.ParallelFor(rows, tile_cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        TransformInputTile(tiling, input, first + i, rows * in, tiles.data<float>() + i * in);
      }
    });
    const double nanoseconds = 2.0 * kPoints * rows * in * out / kFlopsANanosecond;
    int64_t pieces = NumPieces(ctx, kPoints, nanoseconds);
    while (kPoints % pieces != 0) --pieces;
    const int64_t count = kPoints / pieces;
    RETURN_IF_ERROR(ForEachPiece(ctx, pieces, nanoseconds / pieces, [&](int64_t i) {
      return Multiply(ctx, count, rows, in, out, tiles.data<float>() + i * count * rows * in,
                      filters.data<float>() + i * count * in * out,
                      products.data<float>() + i * count * rows * out);
    }));
    ctx.ParallelFor(rows, tile_cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        TransformOutputTile(tiling, ending, first + i, products.data<float>() + i * out, rows * out,
                            output);
      }
    });
  }
  return absl::OkStatus();
}

}  // namespace tessera
