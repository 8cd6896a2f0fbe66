#include "runtime/kernels/primitives/cpu/attention_gemm.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tessera {
namespace {

using simd::kMaxVectors;

// The number of terms to accumulate in registers before they are added to the sums in memory.
// Longer runs would lose accuracy, and would use more of a panel than fits in the first-level
// cache.
constexpr int64_t kDepthBlock = 128;

int64_t Quotient(int64_t count, int64_t divisor) { return (count + divisor - 1) / divisor; }

}  // namespace

HeadMatrix::HeadMatrix(const simd::Loops& loops, int64_t depth, int64_t columns)
    : loops_(loops),
      depth_(depth),
      columns_(columns),
      vectors_(Quotient(columns, loops.lanes)),
      panels_(Quotient(vectors_, kMaxVectors)) {}

HeadMatrix::Panel HeadMatrix::PanelAt(int64_t index) const {
  const int64_t begin = vectors_ * index / panels_, end = vectors_ * (index + 1) / panels_;
  return {begin * loops_.lanes, end - begin};
}

bool HeadMatrix::UseInPlace(const float* from, int64_t step) {
  if (columns_ % loops_.lanes != 0) return false;
  data_ = from;
  step_ = step;
  is_packed_ = false;
  return true;
}

void HeadMatrix::Pack(const float* from, int64_t step, float* workspace) {
  data_ = workspace;
  is_packed_ = true;
  for (int64_t index = 0; index < panels_; ++index) {
    const Panel panel = PanelAt(index);
    const int64_t size = panel.vectors * loops_.lanes;
    const int64_t width = std::min(size, columns_ - panel.column);
    float* to = workspace + panel.column * depth_;
    for (int64_t term = 0; term < depth_; ++term, to += size) {
      std::copy_n(from + term * step + panel.column, width, to);
      std::fill(to + width, to + size, 0.0f);
    }
  }
}

void HeadMatrix::PackTransposed(const float* from, int64_t step, float* workspace) {
  data_ = workspace;
  is_packed_ = true;
  for (int64_t index = 0; index < panels_; ++index) {
    const Panel panel = PanelAt(index);
    for (int64_t vector = 0; vector < panel.vectors; ++vector) {
      const int64_t column = panel.column + vector * loops_.lanes;
      loops_.transpose({.rows = std::min(loops_.lanes, columns_ - column),
                        .columns = depth_,
                        .from = from + column * step,
                        .from_stride = step,
                        .to = workspace + panel.column * depth_ + vector * loops_.lanes,
                        .to_stride = panel.vectors * loops_.lanes});
    }
  }
}

void HeadMatrix::Multiply(const float* rows, int64_t row_stride, int64_t count, float* out,
                          int64_t out_stride,
                          std::initializer_list<simd::PrefetchRows> prefetch) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int64_t index = 0; index < panels_; ++index) {
    const Panel panel = PanelAt(index);
    const int64_t size = panel.vectors * loops_.lanes;
    const float* const weights = data_ + panel.column * (is_packed_ ? depth_ : 1);
    const int64_t weights_stride = is_packed_ ? size : step_;
    float* const to = out + panel.column;
    for (int64_t term = 0; term == 0 || term < depth_; term += kDepthBlock) {
      loops_.multiply(panel.vectors, {.rows = count,
                                      .depth = std::min(kDepthBlock, depth_ - term),
                                      .columns = std::min(size, columns_ - panel.column),
                                      .a = rows + term,
                                      .a_stride = row_stride,
                                      .weights = weights + term * weights_stride,
                                      .weights_stride = weights_stride,
                                      .addend = term == 0 ? nullptr : to,
                                      .addend_stride = out_stride,
                                      .bounds = {-kInfinity, kInfinity},
                                      .out = to,
                                      .out_stride = out_stride,
                                      .prefetch = term == 0 && index < std::ssize(prefetch)
                                                      ? prefetch.begin()[index]
                                                      : simd::PrefetchRows()});
    }
  }
}

}  // namespace tessera
