#include "runtime/kernels/primitives/byte_gemm.h"

#include <immintrin.h>

#include <algorithm>

#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {
namespace {

// A panel is `depth` / 4 groups of rows, in which the four bytes of a column lie side by side. The
// last panel has as many vectors as it needs.
constexpr int kLanes = 16;
constexpr int kVectors = 4;
constexpr int64_t kPanel = kLanes * kVectors;
constexpr int kRows = 6;

struct PanelProduct {
  const uint8_t* a;
  const int8_t* panel;
  int64_t depth;    // a multiple of 4, and the bytes from a row of `a` to the next one
  int64_t columns;  // of the panel
  int32_t* sums;
  int64_t sums_stride;
};

#define TESSERA_VNNI [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]

template <int kCount, int kWidth>
TESSERA_VNNI void MultiplyVnni(const PanelProduct& p) {
  __m512i sums[kCount][kWidth];
#pragma GCC unroll 6
  for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kWidth; ++v) sums[i][v] = _mm512_setzero_si512();
  }
  const int8_t* weights = p.panel;
  for (int64_t k = 0; k < p.depth; k += 4, weights += kWidth * 64) {
    __m512i b[kWidth];
#pragma GCC unroll 4
    for (int v = 0; v < kWidth; ++v) b[v] = _mm512_loadu_si512(weights + v * 64);
#pragma GCC unroll 6
    for (int i = 0; i < kCount; ++i) {
      int32_t four;
      __builtin_memcpy(&four, p.a + i * p.depth + k, 4);
      const __m512i a = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int v = 0; v < kWidth; ++v) sums[i][v] = _mm512_dpbusd_epi32(sums[i][v], a, b[v]);
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kWidth; ++v) {
      const int64_t left = p.columns - v * kLanes;
      const auto mask = static_cast<__mmask16>(left >= kLanes ? 0xffff : (1u << left) - 1);
      _mm512_mask_storeu_epi32(p.sums + i * p.sums_stride + v * kLanes, mask, sums[i][v]);
    }
  }
}

// Bytes are widened to words, whose products are added in pairs without saturation. A vector holds
// two partial sums for each of four columns. The sums of six rows and two vectors leave registers
// for the operands of one row.
template <int kCount, int kWidth>
void MultiplyAvx2(const PanelProduct& p) {
  constexpr int kColumns = 4, kSums = 2;  // columns of a vector, and vectors of a row
  const auto widen = [](const void* bytes) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(bytes)));
  };
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int64_t column = 0; column < p.columns; column += kSums * kColumns) {
    __m256i sums[kCount][kSums] = {};
    const int8_t* weights = p.panel + 4 * column;
    for (int64_t k = 0; k < p.depth; k += 4, weights += kWidth * 64) {
      const __m256i b[kSums] = {widen(weights), widen(weights + 16)};
#pragma GCC unroll 6
      for (int i = 0; i < kCount; ++i) {
        // The assembly is volatile, so that the compiler keeps the order of the rows. It would
        // otherwise hold several of them at once, which leaves no registers for the sums.
        __m128i four;
        asm volatile("vpbroadcastd %1, %0"
                     : "=x"(four)
                     : "m"(*reinterpret_cast<const char(*)[4]>(p.a + i * p.depth + k)));
        const __m256i a = _mm256_cvtepu8_epi16(four);
#pragma GCC unroll 2
        for (int v = 0; v < kSums; ++v) {
          sums[i][v] = _mm256_add_epi32(sums[i][v], _mm256_madd_epi16(a, b[v]));
        }
        asm volatile("" : "+x"(sums[i][0]), "+x"(sums[i][1]));
      }
    }
    const int64_t left = p.columns - column;
    const __m256i exists = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(left)), numbers);
#pragma GCC unroll 6
    for (int i = 0; i < kCount; ++i) {
      // The sums of columns 0, 1, 4, 5, 2, 3, 6 and 7.
      const __m256i added = _mm256_hadd_epi32(sums[i][0], sums[i][1]);
      const __m256i all = _mm256_permute4x64_epi64(added, 0b11011000);
      int32_t* const to = p.sums + i * p.sums_stride + column;
      if (left >= kSums * kColumns) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), all);
      } else {
        _mm256_maskstore_epi32(to, exists, all);
      }
    }
  }
}

using PanelFunction = void (*)(const PanelProduct& p);

struct PanelFunctions {
  PanelFunction at[kRows][kVectors];  // [rows - 1][vectors - 1]
};

// clang-format off
#define TESSERA_PANEL_FUNCTIONS(f)                                                            \
  PanelFunctions{{{f<1, 1>, f<1, 2>, f<1, 3>, f<1, 4>}, {f<2, 1>, f<2, 2>, f<2, 3>, f<2, 4>}, \
                  {f<3, 1>, f<3, 2>, f<3, 3>, f<3, 4>}, {f<4, 1>, f<4, 2>, f<4, 3>, f<4, 4>}, \
                  {f<5, 1>, f<5, 2>, f<5, 3>, f<5, 4>}, {f<6, 1>, f<6, 2>, f<6, 3>, f<6, 4>}}}
// clang-format on

constexpr PanelFunctions kVnni = TESSERA_PANEL_FUNCTIONS(MultiplyVnni);
constexpr PanelFunctions kAvx2 = TESSERA_PANEL_FUNCTIONS(MultiplyAvx2);

bool HasVnni() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

int64_t VectorsOf(int64_t columns) {
  return std::min<int64_t>(kVectors, (columns + kLanes - 1) / kLanes);
}

// The byte that stands for `value` among signed ones.
int8_t ToSigned(int8_t value) { return value; }
int8_t ToSigned(uint8_t value) { return static_cast<int8_t>(value ^ 0x80); }
uint8_t ToUnsigned(uint8_t value) { return value; }
uint8_t ToUnsigned(int8_t value) { return static_cast<uint8_t>(value ^ 0x80); }

}  // namespace

size_t ByteMatrix::PackedSize(int64_t depth, int64_t columns) {
  return static_cast<size_t>(RoundedDepth(depth) * ((columns + kLanes - 1) / kLanes * kLanes));
}

template <typename T>
ByteMatrix ByteMatrix::Pack(const T* b, int64_t depth, int64_t columns, int64_t row_step,
                            int64_t column_step, int8_t* packed) {
  int8_t* to = packed;
  for (int64_t first = 0; first < columns; first += kPanel) {
    const int64_t count = std::min(kPanel, columns - first);
    const int64_t width = VectorsOf(count) * kLanes;
    for (int64_t k = 0; k < depth; k += 4, to += 4 * width) {
      const T* const from = b + k * row_step + first * column_step;
      if (k + 4 <= depth && column_step == 1) {
        const T *const r0 = from, *const r1 = r0 + row_step, *const r2 = r1 + row_step,
                       *const r3 = r2 + row_step;
        for (int64_t j = 0; j < count; ++j) {
          to[4 * j] = ToSigned(r0[j]);
          to[4 * j + 1] = ToSigned(r1[j]);
          to[4 * j + 2] = ToSigned(r2[j]);
          to[4 * j + 3] = ToSigned(r3[j]);
        }
      } else {
        const int64_t terms = std::min<int64_t>(4, depth - k);
        for (int64_t j = 0; j < count; ++j) {
          for (int64_t i = 0; i < 4; ++i) {
            to[4 * j + i] = i < terms ? ToSigned(from[i * row_step + j * column_step]) : int8_t{0};
          }
        }
      }
      std::fill(to + 4 * count, to + 4 * width, int8_t{0});
    }
  }
  return ByteMatrix(depth, columns, packed);
}
template ByteMatrix ByteMatrix::Pack(const int8_t*, int64_t, int64_t, int64_t, int64_t, int8_t*);
template ByteMatrix ByteMatrix::Pack(const uint8_t*, int64_t, int64_t, int64_t, int64_t, int8_t*);

double ByteMatrix::RowNanoseconds() const {
  return static_cast<double>(depth_ * columns_) / SpeedsForCpu().byte_products;
}

void ByteMatrix::Multiply(const uint8_t* a, int64_t rows, int32_t* sums, int64_t sums_stride,
                          Loops loops) const {
  const PanelFunctions& functions = loops == Loops::kForCpu && HasVnni() ? kVnni : kAvx2;
  PanelProduct p{.panel = packed_, .depth = row_size(), .sums_stride = sums_stride};
  for (int64_t first = 0; first < columns_; first += kPanel) {
    p.columns = std::min(kPanel, columns_ - first);
    const int64_t vectors = VectorsOf(p.columns);
    for (int64_t row = 0; row < rows; row += kRows) {
      p.a = a + row * p.depth;
      p.sums = sums + row * sums_stride + first;
      functions.at[std::min<int64_t>(kRows, rows - row) - 1][vectors - 1](p);
    }
    p.panel += p.depth * vectors * kLanes;
  }
}

template <typename T>
uint32_t CopyUnsigned(const T* from, int64_t count, int64_t step, uint8_t* to) {
  uint32_t sum = 0;
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) sum += to[i] = ToUnsigned(from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) sum += to[i] = ToUnsigned(from[i * step]);
  }
  return sum;
}
template uint32_t CopyUnsigned(const int8_t*, int64_t, int64_t, uint8_t*);
template uint32_t CopyUnsigned(const uint8_t*, int64_t, int64_t, uint8_t*);

}  // namespace tessera
