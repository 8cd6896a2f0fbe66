#include "runtime/kernels/primitives/cpu/winograd_tiling.h"

#include <algorithm>

#include "runtime/kernels/primitives/cpu/micro_kernel.h"

namespace tessera {
namespace {

int64_t CountTiles(int64_t outputs, int64_t dilation, int64_t output_tile) {
  const int64_t step = dilation * output_tile;
  return (outputs + step - 1) / step * dilation;
}

}  // namespace

WinogradTiling::WinogradTiling(const ConvolutionShape& shape, int output_tile)
    : shape(shape),
      output_tile(output_tile),
      rows(CountTiles(shape.output[0], shape.dilations[0], output_tile)),
      columns(CountTiles(shape.output[1], shape.dilations[1], output_tile)) {}

double WinogradTiling::TileBytes() const {
  return sizeof(float) * points() * static_cast<double>(shape.in_channels + shape.out_channels);
}

double WinogradTiling::FilterBytes() const {
  return sizeof(float) * points() * static_cast<double>(shape.in_channels) * shape.out_channels;
}

int64_t WinogradTiling::TilesPerPass(int64_t length, int threads, int64_t cache_bytes) const {
  const double budget = std::max(static_cast<double>(threads * cache_bytes), FilterBytes());
  const int64_t most = std::max<int64_t>(16, static_cast<int64_t>(budget / TileBytes()));
  const int64_t times = (length + most - 1) / most, share = (length + times - 1) / times;
  const int64_t block = gemm::EqualBlocks(most, gemm::kFmaRows);
  return std::min(length, (share + block - 1) / block * block);
}

double WinogradTiling::Nanoseconds(const MachineSpeeds& speeds) const {
  const int64_t per_pass = TilesPerPass(count(), 1, speeds.product_cache_bytes);
  const int64_t passes = (count() + per_pass - 1) / per_pass;
  const double flops = 2.0 * points() * count() * shape.in_channels * shape.out_channels;
  return std::max(flops / speeds.fma_flops, passes * FilterBytes() / speeds.weight_bytes) +
         count() * TileBytes() / speeds.tile_bytes;
}

}  // namespace tessera
