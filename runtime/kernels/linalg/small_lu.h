// LU factors of small real matrices, where Eigen's blocks do not pay.
#pragma once

#include <cstdint>

namespace tessera {

// Matrices with more rows than this are better left to Eigen.
inline constexpr int64_t kMaxSmallLu = 128;

// Replaces a matrix of n rows, which lie one after the other, by its factors: the upper one, and
// below the diagonal the lower one, whose own diagonal is 1. Each pivot is the element of the
// largest magnitude in what is left of its column. order[i] becomes the row of the input that is
// row i of the product of the factors. A pivot of zero divides nothing and stays on the diagonal.
template <typename T>
void SmallLu(int64_t n, T* matrix, int64_t* order);

}  // namespace tessera
