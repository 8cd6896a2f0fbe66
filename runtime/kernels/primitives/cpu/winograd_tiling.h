// The tiles of a convolution by Winograd's minimal filtering F(m x m, 3x3), and their cost. A
// dilated convolution is a dense one of every few rows and columns, whose tiles lie between each
// other.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {

// The tiles that cover all outputs, image by image and row by row. `shape` must outlive the object.
struct WinogradTiling {
  // A tile has output_tile x output_tile outputs, where output_tile is 2 or 4.
  WinogradTiling(const ConvolutionShape& shape, int output_tile);

  int64_t count() const { return shape.batch * rows * columns; }
  int input_tile() const { return output_tile + 2; }
  int points() const { return input_tile() * input_tile(); }

  // The first row and column of a tile's outputs. The next ones are a dilation further.
  struct Place {
    int64_t image, row, column;
  };
  Place PlaceOf(int64_t tile) const {
    return {tile / (rows * columns), FirstOutput(tile / columns % rows, shape.dilations[0]),
            FirstOutput(tile % columns, shape.dilations[1])};
  }

  // Bytes of a transformed tile and its products, and of the transformed filter.
  double TileBytes() const;
  double FilterBytes() const;

  // Returns the number of tiles to process at once, out of `length`: as many as keep their
  // transforms in the `cache_bytes` of each thread, or as many as make reading the filters
  // worthwhile. The passes are equal and consist of whole row blocks.
  int64_t TilesPerPass(int64_t length, int threads, int64_t cache_bytes) const;

  // Returns the estimated time on one core.
  double Nanoseconds(const MachineSpeeds& speeds) const;

  const ConvolutionShape& shape;
  const int output_tile;
  const int64_t rows, columns;

 private:
  int64_t FirstOutput(int64_t index, int64_t dilation) const {
    return index / dilation * dilation * output_tile + index % dilation;
  }
};

}  // namespace tessera
