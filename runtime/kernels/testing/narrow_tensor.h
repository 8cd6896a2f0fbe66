// Tensors of half and bfloat16 for tests that compare bits with TensorFlow's.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/tensor/tensor.h"

namespace tessera {

// Element i is value(i), rounded.
Tensor NarrowTensor(DType dtype, const Shape& shape, const std::function<float(int64_t)>& value);

uint16_t NarrowBits(const Tensor& tensor, int64_t i);

// Denormal bfloat16s become zeros, for which TensorFlow takes them.
uint16_t ZeroIfDenormal(DType dtype, uint16_t bits);

// The sum of all bits, multiplied by odd numbers that differ by their places. All NaNs count as
// one, and denormal bfloat16s as zeros. tests/conformance/narrow_checksums.py prints those of
// TensorFlow.
uint64_t NarrowChecksum(const Tensor& tensor);

}  // namespace tessera
