#include "runtime/base/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace tessera {
namespace {

// The functions below work on the inner state, which is the complement of the checksum.

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
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? 0x82f63b78 : 0);
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
  return ~AddBytes(~crc, data.data(), data.size());
}

}  // namespace tessera
