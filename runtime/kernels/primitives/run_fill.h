// Fills runs of elements with one value, on the host.
#pragma once

#include <cstdint>
#include <cstring>

#include "runtime/kernels/primitives/element_type.h"

namespace tessera {

// Fills runs of elements with the value of a scalar, which must outlive this object. Plain elements
// are copied from a block of repeated values, zeros are set by memset(), and objects are assigned.
//
//   const RunFill fill(value);
//   fill(output->mutable_raw(), count);
class RunFill {
 public:
  explicit RunFill(const Tensor& value)
      : value_(value), has_bytes_(IsTriviallyCopyable(value.dtype())) {
    if (!has_bytes_) return;
    width_ = static_cast<int64_t>(DTypeSize(value.dtype()));
    for (int64_t at = 0; at < kBlock; at += width_) std::memcpy(block_ + at, value.raw(), width_);
    constexpr char kZeros[kBlock] = {};
    is_zero_ = std::memcmp(block_, kZeros, kBlock) == 0;
  }

  void operator()(char* to, int64_t count) const {
    if (!has_bytes_) return FillElements(value_.dtype(), value_.raw(), to, count);
    const int64_t bytes = count * width_;
    if (is_zero_) {
      std::memset(to, 0, bytes);
      return;
    }
    int64_t at = 0;
    for (; at + kBlock <= bytes; at += kBlock) std::memcpy(to + at, block_, kBlock);
    std::memcpy(to + at, block_, bytes - at);
  }

 private:
  static constexpr int64_t kBlock = 256;  // a multiple of all sizes of elements

  const Tensor& value_;
  const bool has_bytes_;
  bool is_zero_ = false;
  int64_t width_ = 0;
  alignas(64) char block_[kBlock];
};

}  // namespace tessera
