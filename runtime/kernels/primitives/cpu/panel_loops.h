// Inner loops over panels: columns, or channels, come in panels of a few vectors, and what is
// worked on lies panel by panel, so that each loop reads and writes memory from end to end.
//
// Pure functions, compiled once for AVX-512 and once for what every processor here has.
#pragma once

#include <cstdint>

namespace tessera::panel_loops {

// Vectors a panel has at most.
inline constexpr int kMaxVectors = 4;

// What a sum is bounded by before it is stored, infinite where it is not. A NaN passes.
struct Bounds {
  float low = 0, high = 0;
};

// What is read next, and may not be in the cache yet: what to bring there meanwhile.
struct Ahead {
  const float* data = nullptr;
  int64_t size = 0;  // floats of a row
  int64_t rows = 1;
  int64_t step = 0;  // from row to row
};

// Rows times one panel of a matrix: out(i, j) = bound(sum of a(i, k) * weights(k, j) + bias(j) +
// addend(i, j)).
struct Multiplication {
  int64_t rows = 0, terms = 0;
  int64_t columns = 0;  // that are stored, at most the panel's
  const float* a = nullptr;
  int64_t a_step = 0;              // from row to row
  const float* weights = nullptr;  // terms x the panel's columns
  int64_t weights_step = 0;        // from term to term
  const float* bias = nullptr;     // the panel's columns; null: none
  const float* addend = nullptr;   // null: none; may be out
  int64_t addend_step = 0;
  Bounds bounds;
  float* out = nullptr;
  int64_t out_step = 0;
  Ahead ahead;
};

// One row of a depthwise convolution's outputs in one panel.
struct DepthwiseRow {
  int64_t outputs = 0;
  // The input row that each row of the filter meets. Tap x of output i is at point i * stride + x *
  // dilation.
  const float* const* rows = nullptr;
  int64_t height = 0, width = 0;  // of the filter
  int64_t stride = 1, dilation = 1;
  const float* weights = nullptr;  // [height * width, panel]
  const float* bias = nullptr;
  Bounds bounds;
  float* out = nullptr;
  int64_t out_step = 0;  // from output to output
};

// Rows that become columns: to(j, i) = from(i, j), or 0 where there is no row i.
struct Transposition {
  int64_t rows = 0;  // at most a vector's lanes
  int64_t columns = 0;
  const float* from = nullptr;
  int64_t from_step = 0;  // from row to row
  float* to = nullptr;    // columns x a vector
  int64_t to_step = 0;
};

struct Loops {
  int64_t lanes;  // floats of a vector
  // Of panels of `vectors` vectors each.
  void (*multiply)(int64_t vectors, const Multiplication& m);
  void (*depthwise)(int64_t vectors, const DepthwiseRow& row);
  void (*transpose)(const Transposition& t);
};

namespace avx512 {
extern const Loops kLoops;
}
namespace avx2 {
extern const Loops kLoops;
}

// The fastest ones that this processor can run.
const Loops& LoopsOfMachine();

}  // namespace tessera::panel_loops
