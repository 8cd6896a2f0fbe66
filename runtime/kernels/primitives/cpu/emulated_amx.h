// The AMX instructions that amx_micro_kernel.cc uses, emulated in C++, so that tests can run it on
// processors without AMX. Tiles 0 to 3 hold sums, tiles 4 to 7 operands; all have 16 rows of 64
// bytes. Source: Intel, "Architecture Instruction Set Extensions Programming Reference", chapter 3.
#pragma once

#include <cstdint>
#include <cstring>

namespace tessera::emulated {

inline constexpr int kTileRows = 16, kFirstOperand = 4;
inline thread_local float sums[4][kTileRows][16];
inline thread_local uint16_t operands[4][kTileRows][32];

// Converts a bfloat16 to float. Denormal numbers become 0, as in the hardware.
inline float FromBfloat16(uint16_t x) {
  uint32_t bits = static_cast<uint32_t>(x) << 16;
  if ((bits & 0x7f800000) == 0) bits &= 0x80000000;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline void TileZero(int tile) { std::memset(sums[tile], 0, sizeof(sums[tile])); }

inline void TileLoad(int tile, const void* from, int64_t step) {
  for (int row = 0; row < kTileRows; ++row) {
    std::memcpy(operands[tile - kFirstOperand][row], static_cast<const char*>(from) + row * step,
                64);
  }
}

inline void TileStore(int tile, void* to, int64_t step) {
  for (int row = 0; row < kTileRows; ++row) {
    std::memcpy(static_cast<char*>(to) + row * step, sums[tile][row], 64);
  }
}

inline void TileMultiply(int sum, int a, int b) {
  const auto& left = operands[a - kFirstOperand];
  const auto& right = operands[b - kFirstOperand];
  for (int row = 0; row < kTileRows; ++row) {
    // The hardware sums the even and the odd terms separately.
    float added[32] = {};
    for (int pair = 0; pair < 16; ++pair) {
      for (int i = 0; i < 32; ++i) {
        added[i] += FromBfloat16(left[row][2 * pair + i % 2]) * FromBfloat16(right[pair][i]);
      }
    }
    for (int column = 0; column < 16; ++column) {
      sums[sum][row][column] += added[2 * column] + added[2 * column + 1];
    }
  }
}

}  // namespace tessera::emulated

#undef _tile_dpbf16ps
#undef _tile_loadconfig
#undef _tile_loadd
#undef _tile_release
#undef _tile_stored
#undef _tile_zero
#define _tile_dpbf16ps(sum, a, b) ::tessera::emulated::TileMultiply(sum, a, b)
#define _tile_loadconfig(config) static_cast<void>(config)
#define _tile_loadd(tile, from, step) ::tessera::emulated::TileLoad(tile, from, step)
#define _tile_release() static_cast<void>(0)
#define _tile_stored(tile, to, step) ::tessera::emulated::TileStore(tile, to, step)
#define _tile_zero(tile) ::tessera::emulated::TileZero(tile)
