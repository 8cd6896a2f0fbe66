#include "runtime/kernels/testing/narrow_tensor.h"

#include <cstring>

#include "Eigen/Core"

namespace tessera {

Tensor NarrowTensor(DType dtype, const Shape& shape, const std::function<float(int64_t)>& value) {
  Tensor tensor = Tensor::Allocate(dtype, shape).value();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (dtype == DType::kHalf) {
      tensor.data<Eigen::half>()[i] = static_cast<Eigen::half>(value(i));
    } else {
      tensor.data<Eigen::bfloat16>()[i] = static_cast<Eigen::bfloat16>(value(i));
    }
  }
  return tensor;
}

uint16_t NarrowBits(const Tensor& tensor, int64_t i) {
  uint16_t bits;
  std::memcpy(&bits, tensor.raw() + 2 * i, sizeof(bits));
  return bits;
}

uint16_t ZeroIfDenormal(DType dtype, uint16_t bits) {
  return dtype == DType::kBfloat16 && (bits & 0x7fff) < 0x80 ? bits & 0x8000 : bits;
}

uint64_t NarrowChecksum(const Tensor& tensor) {
  const uint16_t infinity = tensor.dtype() == DType::kHalf ? 0x7c00 : 0x7f80;
  uint64_t sum = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const uint16_t bits = ZeroIfDenormal(tensor.dtype(), NarrowBits(tensor, i));
    const bool is_nan = (bits & 0x7fff) > infinity;
    sum += (is_nan ? 0x7fff : bits) * (static_cast<uint64_t>(i + 1) * 0x9e3779b97f4a7c15);
  }
  return sum;
}

}  // namespace tessera
