// Products of rows with one head's matrix of an attention.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "runtime/kernels/primitives/cpu/panel_loops.h"

namespace tessera {

// A matrix that is cut into panels (panel_loops.h), to multiply many rows by.
//
//   HeadMatrix keys(loops, features, num_keys);
//   keys.PackTransposed(key, key_step, room);  // room for keys.size() floats
//   keys.Multiply(query, query_step, num_queries, scores, scores_step);
class HeadMatrix {
 public:
  HeadMatrix(const panel_loops::Loops& loops, int64_t terms, int64_t columns);

  // Floats that it takes packed.
  int64_t size() const { return terms_ * vectors_ * loops_.lanes; }

  // Where the matrix is: its rows, or, transposed, its columns lie in `from`, each `step` floats
  // from the next. What is packed is copied to `room`. What is not must outlive the products.
  void Pack(const float* from, int64_t step, float* room);
  void PackTransposed(const float* from, int64_t step, float* room);
  // For few rows, which packing does not pay for. False if it has to be packed, as columns that
  // fill no vector have to be.
  bool Take(const float* from, int64_t step);

  // out = rows * matrix, for `count` rows. `ahead` is brought into the cache meanwhile, each part
  // by another panel, as far as there are panels and rows enough.
  void Multiply(const float* rows, int64_t row_step, int64_t count, float* out, int64_t out_step,
                std::initializer_list<panel_loops::Ahead> ahead = {}) const;

 private:
  // Some neighbouring columns.
  struct Panel {
    int64_t column = 0, vectors = 0;
  };
  Panel PanelAt(int64_t index) const;

  const panel_loops::Loops& loops_;
  const int64_t terms_, columns_;
  const int64_t vectors_, panels_;
  bool is_packed_ = false;
  const float* data_ = nullptr;
  int64_t step_ = 0;  // unless it is packed
};

}  // namespace tessera
