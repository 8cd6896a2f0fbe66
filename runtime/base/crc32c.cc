#include "runtime/base/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__SSE4_2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace tessera {
namespace {

// The functions below work on the inner state, which is the complement of the checksum.

// The polynomial, its bits mirrored as those of states are: the highest power of x is bit 0.
constexpr uint32_t kPolynomial = 0x82f63b78;

// A state times x.
constexpr uint32_t TimesX(uint32_t state) { return state >> 1 ^ (state & 1 ? kPolynomial : 0); }

#if defined(__SSE4_2__) || defined(__ARM_FEATURE_CRC32)

#if defined(__SSE4_2__)
uint32_t AddByte(uint32_t state, uint8_t byte) { return _mm_crc32_u8(state, byte); }
uint32_t AddWord(uint32_t state, uint64_t word) {
  return static_cast<uint32_t>(_mm_crc32_u64(state, word));
}
#else
uint32_t AddByte(uint32_t state, uint8_t byte) { return __crc32cb(state, byte); }
uint32_t AddWord(uint32_t state, uint64_t word) { return __crc32cd(state, word); }
#endif

uint64_t LoadWord(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

// The instruction takes three cycles but can start every cycle: three stretches of this many bytes
// run at once, each from state 0, and are joined by what follows.
constexpr size_t kStretch = 1024;

// A state after kStretch zero bytes. The map is linear over bits, so one table a byte of the state.
class StretchShift {
 public:
  StretchShift() {
    std::array<uint32_t, 32> bits;
    for (int bit = 0; bit < 32; ++bit) {
      uint32_t state = uint32_t{1} << bit;
      for (size_t i = 0; i < kStretch; i += 8) state = AddWord(state, 0);
      bits[bit] = state;
    }
    for (int byte = 0; byte < 4; ++byte) {
      for (int value = 0; value < 256; ++value) {
        uint32_t shifted = 0;
        for (int bit = 0; bit < 8; ++bit) {
          if (value >> bit & 1) shifted ^= bits[8 * byte + bit];
        }
        table_[byte][value] = shifted;
      }
    }
  }
  uint32_t operator()(uint32_t state) const {
    return table_[0][state & 0xff] ^ table_[1][state >> 8 & 0xff] ^ table_[2][state >> 16 & 0xff] ^
           table_[3][state >> 24];
  }

 private:
  uint32_t table_[4][256];
};

#if defined(__SSE4_2__)

// Carry-less products of 512 bits, which newer processors have, go through 64 bytes in two cycles.
// Bytes that lie D bits before others count x^D times as much: they can be multiplied by x^D modulo
// the polynomial and added to those others. What is left at the end are 64 bytes that lead to the
// state that all would. After Gopal et al., "Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction", 2009.
#define TESSERA_WIDE_TARGET __attribute__((target("avx512f,avx512vl,vpclmulqdq,pclmul,sse4.2")))

constexpr size_t kWide = 256;  // bytes at once: four vectors, which do not wait for each other
// How far ahead the processor is told what is read: by itself it looks no further than a page.
constexpr size_t kAhead = 4096;

bool HasWideProducts() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("pclmul");
  return has;
}

// x^power modulo the polynomial. A product of mirrored numbers is mirrored but for one place.
constexpr int64_t PowerOfX(int power) {
  uint32_t state = uint32_t{1} << 31;
  for (int i = 0; i < power; ++i) state = TimesX(state);
  return int64_t{state} << 1;
}

// Of 16 bytes that move by kBits, those of the first half move by 64 bits more; a state is 32 bits
// ahead of its bytes.
template <int kBits>
constexpr std::array<int64_t, 2> kMove = {PowerOfX(kBits + 32), PowerOfX(kBits - 32)};

template <int kBits>
TESSERA_WIDE_TARGET inline __m512i MoveOnto(__m512i from, __m512i to) {
  constexpr int64_t first = kMove<kBits>[0], second = kMove<kBits>[1];
  const __m512i move = _mm512_set_epi64(second, first, second, first, second, first, second, first);
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(from, move, 0x00),
                                   _mm512_clmulepi64_epi128(from, move, 0x11), to, 0x96);
}

// `size` is kWide or a multiple of it.
TESSERA_WIDE_TARGET uint32_t AddWide(uint32_t state, const char* p, size_t size) {
  __m512i a = _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_set_epi64(0, 0, 0, 0, 0, 0, 0, state));
  __m512i b = _mm512_loadu_si512(p + 64);
  __m512i c = _mm512_loadu_si512(p + 128);
  __m512i d = _mm512_loadu_si512(p + 192);
  for (const char* const end = p + size; (p += kWide) < end;) {
    for (size_t line = 0; line < kWide; line += 64) __builtin_prefetch(p + kAhead + line);
    a = MoveOnto<8 * kWide>(a, _mm512_loadu_si512(p));
    b = MoveOnto<8 * kWide>(b, _mm512_loadu_si512(p + 64));
    c = MoveOnto<8 * kWide>(c, _mm512_loadu_si512(p + 128));
    d = MoveOnto<8 * kWide>(d, _mm512_loadu_si512(p + 192));
  }
  alignas(64) uint64_t rest[8];
  _mm512_store_si512(rest, MoveOnto<512>(MoveOnto<512>(MoveOnto<512>(a, b), c), d));
  state = 0;
  for (const uint64_t word : rest) state = AddWord(state, word);
  return state;
}

#endif

uint32_t AddBytes(uint32_t state, const char* p, size_t size) {
  if (size >= 3 * kStretch) {
    static const StretchShift shift;
    for (; size >= 3 * kStretch; p += 3 * kStretch, size -= 3 * kStretch) {
      uint32_t second = 0, third = 0;
      for (size_t i = 0; i < kStretch; i += 8) {
        state = AddWord(state, LoadWord(p + i));
        second = AddWord(second, LoadWord(p + kStretch + i));
        third = AddWord(third, LoadWord(p + 2 * kStretch + i));
      }
      state = shift(shift(state) ^ second) ^ third;
    }
  }
  for (; size >= 8; p += 8, size -= 8) state = AddWord(state, LoadWord(p));
  for (; size > 0; ++p, --size) state = AddByte(state, static_cast<uint8_t>(*p));
  return state;
}

#else

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t state = i;
    for (int bit = 0; bit < 8; ++bit) state = TimesX(state);
    table[i] = state;
  }
  return table;
}

uint32_t AddBytes(uint32_t state, const char* p, size_t size) {
  static constexpr std::array<uint32_t, 256> kTable = MakeTable();
  for (; size > 0; ++p, --size) {
    state = state >> 8 ^ kTable[(state ^ static_cast<uint8_t>(*p)) & 0xff];
  }
  return state;
}

#endif

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, absl::string_view data) {
#if defined(__SSE4_2__)
  if (data.size() >= kWide && HasWideProducts()) {
    const size_t wide = data.size() / kWide * kWide;
    crc = ~AddWide(~crc, data.data(), wide);
    data.remove_prefix(wide);
  }
#endif
  return ExtendCrc32cNarrowly(crc, data);
}

uint32_t ExtendCrc32cNarrowly(uint32_t crc, absl::string_view data) {
  return ~AddBytes(~crc, data.data(), data.size());
}

}  // namespace tessera
