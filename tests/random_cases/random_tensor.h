// Tensors with random elements.
#pragma once

#include <optional>

#include "runtime/tensor/tensor.h"
#include "tests/random_cases/random.h"

namespace tessera {

// How elements are drawn.
struct ElementChoice {
  // Integers lie in [low, high]. Floating-point numbers do as well if `bounded`; else they are
  // drawn from one of several distributions around zero.
  double low = -4;
  double high = 8;
  bool bounded = false;
  // Draws the extremes of the dtype, NaN, infinities and long strings as well.
  bool hostile = false;
};

// Requires a dtype other than resource and variant. A shape of very many elements is cut down, of
// the same rank.
Tensor RandomTensor(Random& random, DType dtype, const Shape& shape, const ElementChoice& choice);

// Returns the same numbers in another dtype, saturated. Strings, and numbers that become strings,
// are drawn anew.
Tensor ConvertedTensor(Random& random, const Tensor& tensor, DType dtype);

// Returns element i as a number: the real part of a complex one; 0 for a string. Requires a dtype
// as RandomTensor() does.
double ElementAsDouble(const Tensor& tensor, int64_t i);

// Draws a shape of at most `max_rank` dimensions and a few hundred elements.
Shape RandomShape(Random& random, int max_rank);
int64_t RandomDim(Random& random);

// Draws 0 as often as a size that no memory holds. A shape of such sizes has no elements, which
// sends loops over its other dimensions, and products of them, far.
int64_t ExtremeDim(Random& random);
// Draws a shape of extreme sizes and no elements, of 1 to `max_rank` dimensions.
Shape ExtremeShape(Random& random, int max_rank);

std::string RandomString(Random& random, bool hostile);

}  // namespace tessera
