// The vectors that products by fused multiply-add are made of: sixteen floats where the including
// file is compiled for AVX-512, and eight where it is compiled for AVX2. Such files are compiled
// with flags of their own, once for each instruction set, so everything is static or lies in the
// namespace of the instruction set: the linker must not merge one file's code with another's.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#ifdef __AVX512F__
#define TESSERA_FMA_ABI avx512
#else
#define TESSERA_FMA_ABI avx2
#endif

namespace tessera::gemm::TESSERA_FMA_ABI {

#ifdef __AVX512F__
using Floats = __m512;
#else
using Floats = __m256;
#endif
static constexpr int64_t kLanes = sizeof(Floats) / sizeof(float);

// The bits of floats.
typedef uint32_t Words __attribute__((vector_size(sizeof(Floats))));

static inline Words BitsOf(Floats x) { return reinterpret_cast<Words>(x); }
static inline Floats All(float x) { return Floats{} + x; }

static inline Floats LoadFloats(const float* from) {
  Floats x;
  std::memcpy(&x, from, sizeof(x));
  return x;
}
static inline void StoreFloats(Floats x, float* to) { std::memcpy(to, &x, sizeof(x)); }

// The second operand is returned if either is NaN.
static inline Floats Least(Floats x, Floats y) {
#ifdef __AVX512F__
  return _mm512_min_ps(x, y);
#else
  return _mm256_min_ps(x, y);
#endif
}
static inline Floats Greatest(Floats x, Floats y) {
#ifdef __AVX512F__
  return _mm512_max_ps(x, y);
#else
  return _mm256_max_ps(x, y);
#endif
}

// The first lanes of a vector.
class FirstLanes {
 public:
#ifdef __AVX512F__
  explicit FirstLanes(int64_t count)
      : mask_(count >= kLanes ? 0xffff
              : count <= 0    ? 0
                              : static_cast<__mmask16>((1u << count) - 1)) {}

  bool are_all() const { return mask_ == 0xffff; }
  // Returns the floats of these lanes, and zeros in the others, which are not read.
  Floats Load(const float* from) const { return _mm512_maskz_loadu_ps(mask_, from); }
  void Store(Floats x, float* to) const { _mm512_mask_storeu_ps(to, mask_, x); }

 private:
  __mmask16 mask_;
#else
  explicit FirstLanes(int64_t count)
      : are_all_(count >= kLanes),
        mask_(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(are_all_ ? kLanes : count)),
                                 _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}

  bool are_all() const { return are_all_; }
  // Returns the floats of these lanes, and zeros in the others, which are not read. Stores by a
  // mask take some twenty cycles on some processors, so that whole vectors go without.
  Floats Load(const float* from) const {
    return are_all_ ? LoadFloats(from) : _mm256_maskload_ps(from, mask_);
  }
  void Store(Floats x, float* to) const {
    are_all_ ? StoreFloats(x, to) : _mm256_maskstore_ps(to, mask_, x);
  }

 private:
  bool are_all_;
  __m256i mask_;
#endif
};

}  // namespace tessera::gemm::TESSERA_FMA_ABI
