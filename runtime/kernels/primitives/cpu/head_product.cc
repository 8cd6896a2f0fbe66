#include "runtime/kernels/primitives/cpu/head_product.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tessera {
namespace {

using panel_loops::kMaxVectors;

// Terms that are added up in registers before they are added to the sums: in one go many terms
// would lose more bits, and so much of a panel stays in the first-level cache.
constexpr int64_t kTermsAtOnce = 128;

int64_t Quotient(int64_t count, int64_t divisor) { return (count + divisor - 1) / divisor; }

}  // namespace

HeadMatrix::HeadMatrix(const panel_loops::Loops& loops, int64_t terms, int64_t columns)
    : loops_(loops),
      terms_(terms),
      columns_(columns),
      vectors_(Quotient(columns, loops.lanes)),
      panels_(Quotient(vectors_, kMaxVectors)) {}

HeadMatrix::Panel HeadMatrix::PanelAt(int64_t index) const {
  const int64_t begin = vectors_ * index / panels_, end = vectors_ * (index + 1) / panels_;
  return {begin * loops_.lanes, end - begin};
}

bool HeadMatrix::Take(const float* from, int64_t step) {
  if (columns_ % loops_.lanes != 0) return false;
  data_ = from;
  step_ = step;
  is_packed_ = false;
  return true;
}

void HeadMatrix::Pack(const float* from, int64_t step, float* room) {
  data_ = room;
  is_packed_ = true;
  for (int64_t index = 0; index < panels_; ++index) {
    const Panel panel = PanelAt(index);
    const int64_t size = panel.vectors * loops_.lanes;
    const int64_t width = std::min(size, columns_ - panel.column);
    float* to = room + panel.column * terms_;
    for (int64_t term = 0; term < terms_; ++term, to += size) {
      std::copy_n(from + term * step + panel.column, width, to);
      std::fill(to + width, to + size, 0.0f);
    }
  }
}

void HeadMatrix::PackTransposed(const float* from, int64_t step, float* room) {
  data_ = room;
  is_packed_ = true;
  for (int64_t index = 0; index < panels_; ++index) {
    const Panel panel = PanelAt(index);
    for (int64_t vector = 0; vector < panel.vectors; ++vector) {
      const int64_t column = panel.column + vector * loops_.lanes;
      loops_.transpose({.rows = std::min(loops_.lanes, columns_ - column),
                        .columns = terms_,
                        .from = from + column * step,
                        .from_step = step,
                        .to = room + panel.column * terms_ + vector * loops_.lanes,
                        .to_step = panel.vectors * loops_.lanes});
    }
  }
}

void HeadMatrix::Multiply(const float* rows, int64_t row_step, int64_t count, float* out,
                          int64_t out_step, std::initializer_list<panel_loops::Ahead> ahead) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int64_t index = 0; index < panels_; ++index) {
    const Panel panel = PanelAt(index);
    const int64_t size = panel.vectors * loops_.lanes;
    const float* const weights = data_ + panel.column * (is_packed_ ? terms_ : 1);
    const int64_t weights_step = is_packed_ ? size : step_;
    float* const to = out + panel.column;
    for (int64_t term = 0; term == 0 || term < terms_; term += kTermsAtOnce) {
      loops_.multiply(panel.vectors,
                      {.rows = count,
                       .terms = std::min(kTermsAtOnce, terms_ - term),
                       .columns = std::min(size, columns_ - panel.column),
                       .a = rows + term,
                       .a_step = row_step,
                       .weights = weights + term * weights_step,
                       .weights_step = weights_step,
                       .addend = term == 0 ? nullptr : to,
                       .addend_step = out_step,
                       .bounds = {-kInfinity, kInfinity},
                       .out = to,
                       .out_step = out_step,
                       .ahead = term == 0 && index < std::ssize(ahead) ? ahead.begin()[index]
                                                                       : panel_loops::Ahead()});
    }
  }
}

}  // namespace tessera
