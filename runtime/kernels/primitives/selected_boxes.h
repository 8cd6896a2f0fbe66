// Selected boxes of float, stored by coordinate.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kernels/primitives/box_selection.h"

namespace tessera {

// Compares a box with several selected ones at a time. The results are those of
// IntersectionOverUnion(). Box i lies at boxes + i * stride.
class SelectedFloatBoxes final : public SelectedBoxes {
 public:
  SelectedFloatBoxes(const float* boxes, int64_t stride, float threshold)
      : boxes_(boxes), stride_(stride), threshold_(threshold) {}

  void Add(int32_t box) override;
  Overlap Compare(int32_t box) const override;

 private:
  static constexpr int kLanes = 8;
  typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
  // Lanes without a box have no area.
  struct Block {
    Vector top{}, bottom{}, left{}, right{}, area{};
  };

  const float* const boxes_;
  const int64_t stride_;
  const float threshold_;
  std::vector<Block> blocks_;
  int used_ = kLanes;  // used lanes of the last block
};

}  // namespace tessera
