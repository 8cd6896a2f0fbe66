#include "runtime/kernels/primitives/cpu/narrow_float.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "runtime/base/status.h"

namespace tessera {
namespace {

// The number of elements that are converted at a time. A few operands of this size fit into the
// first-level cache.
constexpr int64_t kChunk = 512;

// Rounds to the nearest bfloat16, ties to even. A carry into the exponent gives the right result as
// well. A NaN keeps its sign and becomes quiet.
inline uint16_t BfloatBits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

// Returns BfloatBits() of eight floats, 32 bits each. A loop over BfloatBits() takes twice the
// time, because compilers pack its vectors to 16 bits and unpack them again.
inline __m256i BfloatBitsOfEight(const float* from) {
  const __m256 values = _mm256_loadu_ps(from);
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i is_odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), is_odd);
  const __m256i nan = _mm256_or_si256(bits, _mm256_set1_epi32(0x00400000));
  const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
  const __m256 chosen =
      _mm256_blendv_ps(_mm256_castsi256_ps(rounded), _mm256_castsi256_ps(nan), is_nan);
  return _mm256_srli_epi32(_mm256_castps_si256(chosen), 16);
}

void LoadFloats(DType dtype, const char* from, int64_t stride, int64_t count, float* to) {
  if (dtype == DType::kHalf) {
    if (stride == sizeof(Eigen::half)) {
      ToFloat(reinterpret_cast<const Eigen::half*>(from), to, count);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<float>(*reinterpret_cast<const Eigen::half*>(from + i * stride));
    }
    return;
  }
  if (stride == sizeof(Eigen::bfloat16)) {
    ToFloat(reinterpret_cast<const Eigen::bfloat16*>(from), to, count);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<float>(*reinterpret_cast<const Eigen::bfloat16*>(from + i * stride));
  }
}

void StoreFloats(DType dtype, const float* from, int64_t count, char* to, int64_t stride) {
  if (dtype == DType::kHalf && stride == sizeof(Eigen::half)) {
    FromFloat(from, reinterpret_cast<Eigen::half*>(to), count);
    return;
  }
  if (dtype == DType::kBfloat16 && stride == sizeof(Eigen::bfloat16)) {
    FromFloat(from, reinterpret_cast<Eigen::bfloat16*>(to), count);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DType::kHalf) {
      *reinterpret_cast<Eigen::half*>(to + i * stride) = static_cast<Eigen::half>(from[i]);
    } else {
      *reinterpret_cast<uint16_t*>(to + i * stride) = BfloatBits(from[i]);
    }
  }
}

}  // namespace

void ToFloat(const Eigen::half* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(narrow));
  }
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

void ToFloat(const Eigen::bfloat16* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = std::bit_cast<float>(static_cast<uint32_t>(from[i].value) << 16);
  }
}

void FromFloat(const float* from, Eigen::half* to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i narrow = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), narrow);
  }
  for (; i < count; ++i) to[i] = static_cast<Eigen::half>(from[i]);
}

void FromFloat(const float* from, Eigen::bfloat16* to, int64_t count) {
  uint16_t* const bits = reinterpret_cast<uint16_t*>(to);
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i packed =
        _mm256_packus_epi32(BfloatBitsOfEight(from + i), BfloatBitsOfEight(from + i + 8));
    // The halves of both operands alternate after packing.
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bits + i),
                        _mm256_permute4x64_epi64(packed, 0xd8));
  }
  for (; i < count; ++i) bits[i] = BfloatBits(from[i]);
}

void RunAsFloat(const LoopBlock& block, absl::Span<const DType> dtypes, InnerLoop inner) {
  const int num_operands = static_cast<int>(dtypes.size());
  alignas(64) float buffer[kMaxOperands][kChunk];
  LoopBlock part = block;
  part.rows = 1;
  for (int64_t row = 0; row < block.rows; ++row) {
    for (int64_t begin = 0; begin < block.columns; begin += kChunk) {
      part.columns = std::min(kChunk, block.columns - begin);
      for (int o = 0; o < num_operands; ++o) {
        const int64_t stride = block.column_stride[o];
        char* const data = block.data[o] + row * block.row_stride[o] + begin * stride;
        if (!IsNarrowFloat(dtypes[o])) {
          part.data[o] = data;
          continue;
        }
        part.data[o] = reinterpret_cast<char*>(buffer[o]);
        part.column_stride[o] = stride == 0 ? 0 : sizeof(float);
        if (o > 0) LoadFloats(dtypes[o], data, stride, stride == 0 ? 1 : part.columns, buffer[o]);
      }
      inner(part);
      if (IsNarrowFloat(dtypes[0])) {
        const int64_t stride = block.column_stride[0];
        StoreFloats(dtypes[0], buffer[0], part.columns,
                    block.data[0] + row * block.row_stride[0] + begin * stride, stride);
      }
    }
  }
}

absl::StatusOr<Tensor> WidenToFloat(const Tensor& from, Allocator* allocator) {
  ASSIGN_OR_RETURN(Tensor to, Tensor::Allocate(DType::kFloat, from.shape(), allocator));
  LoadFloats(from.dtype(), from.raw(), 2, from.num_elements(), to.data<float>());
  return to;
}

void NarrowFromFloat(const Tensor& from, Tensor* to) {
  StoreFloats(to->dtype(), from.data<float>(), from.num_elements(), to->mutable_raw(), 2);
}

}  // namespace tessera
