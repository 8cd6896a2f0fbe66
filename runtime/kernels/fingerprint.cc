#include "runtime/kernels/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace tessera {
namespace {

// FarmHash's multipliers.
constexpr uint64_t kMul0 = 0xc3a5c85c97cb3127;
constexpr uint64_t kMul1 = 0xb492b66fbe98f273;
constexpr uint64_t kMul2 = 0x9ae16a3b2f90404f;
// MurmurHash's.
constexpr uint64_t kMurmurMul = 0xc6a4a7935bd1e995;

uint64_t Load64(const char* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}
uint64_t Load32(const char* p) {
  uint32_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}
// The last bytes of an input, fewer than eight: memcpy() of a length that is not known is a call.
uint64_t LoadTail(const char* p, uint64_t n) {
  if (n >= 4) return Load32(p) | Load32(p + n - 4) << (8 * (n - 4));
  uint64_t value = 0;
  for (uint64_t i = 0; i < n; ++i) value |= uint64_t{static_cast<uint8_t>(p[i])} << (8 * i);
  return value;
}
uint64_t ShiftMix(uint64_t value) { return value ^ (value >> 47); }

// Folds 128 bits into 64.
uint64_t Fold(uint64_t u, uint64_t v, uint64_t mul) {
  const uint64_t a = ShiftMix((u ^ v) * mul);
  return ShiftMix((v ^ a) * mul) * mul;
}

uint64_t HashUpTo16(const char* s, uint64_t n) {
  const uint64_t mul = kMul2 + n * 2;
  if (n >= 8) {
    const uint64_t a = Load64(s) + kMul2;
    const uint64_t b = Load64(s + n - 8);
    return Fold(std::rotr(b, 37) * mul + a, (std::rotr(a, 25) + b) * mul, mul);
  }
  if (n >= 4) return Fold(n + (Load32(s) << 3), Load32(s + n - 4), mul);
  if (n == 0) return kMul2;
  const uint64_t first = static_cast<uint8_t>(s[0]);
  const uint64_t middle = static_cast<uint8_t>(s[n >> 1]);
  const uint64_t last = static_cast<uint8_t>(s[n - 1]);
  return ShiftMix(((first + (middle << 8)) * kMul2) ^ ((n + (last << 2)) * kMul0)) * kMul2;
}

uint64_t HashUpTo32(const char* s, uint64_t n) {
  const uint64_t mul = kMul2 + n * 2;
  const uint64_t a = Load64(s) * kMul1;
  const uint64_t b = Load64(s + 8);
  const uint64_t c = Load64(s + n - 8) * mul;
  const uint64_t d = Load64(s + n - 16) * kMul2;
  return Fold(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + kMul2, 18) + c, mul);
}

uint64_t HashUpTo64(const char* s, uint64_t n) {
  const uint64_t mul = kMul2 + n * 2;
  const uint64_t a = Load64(s) * kMul2;
  const uint64_t b = Load64(s + 8);
  const uint64_t c = Load64(s + n - 8) * mul;
  const uint64_t d = Load64(s + n - 16) * kMul2;
  const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const uint64_t z = Fold(y, a + std::rotr(b + kMul2, 18) + c, mul);
  const uint64_t e = Load64(s + 16) * mul;
  const uint64_t f = Load64(s + 24);
  const uint64_t g = (y + Load64(s + n - 32)) * mul;
  const uint64_t h = (z + Load64(s + n - 24)) * mul;
  return Fold(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, mul);
}

// Two words of state over blocks of 32 bytes.
struct Pair {
  uint64_t first = 0, second = 0;
};
Pair MixBlock(const char* s, uint64_t a, uint64_t b) {
  const uint64_t w = Load64(s), x = Load64(s + 8), y = Load64(s + 16), z = Load64(s + 24);
  a += w;
  b = std::rotr(b + a + z, 21);
  const uint64_t c = a;
  a += x + y;
  b += std::rotr(a, 44);
  return {a + z, b + c};
}

// State of the long-input hash; Round() takes 64 bytes.
struct LongState {
  uint64_t x, y, z;
  Pair v, w;

  void Round(const char* s, uint64_t mul, uint64_t weight_w, uint64_t weight_v) {
    x = std::rotr(x + y + v.first + Load64(s + 8), 37) * mul;
    y = std::rotr(y + v.second + Load64(s + 48), 42) * mul;
    x ^= w.second * weight_w;
    y += v.first * weight_v + Load64(s + 40);
    z = std::rotr(z + w.first, 33) * mul;
    v = MixBlock(s, v.second * mul, x + w.first);
    w = MixBlock(s + 32, z + w.second, y + Load64(s + 16));
    std::swap(z, x);
  }
};

// Folds 128 bits into 64, as CityHash does.
uint64_t FoldCity(uint64_t u, uint64_t v) { return Fold(u, v, 0x9ddfea08eb382d69); }

// A 128-bit hash of fewer than 128 bytes.
Fingerprint128Value HashUpTo128(const char* s, uint64_t n, uint64_t a, uint64_t b) {
  uint64_t c, d;
  if (n <= 16) {
    a = ShiftMix(a * kMul1) * kMul1;
    c = b * kMul1 + HashUpTo16(s, n);
    d = ShiftMix(a + (n >= 8 ? Load64(s) : c));
  } else {
    c = FoldCity(Load64(s + n - 8) + kMul1, a);
    d = FoldCity(b + n, c + Load64(s + n - 16));
    a += d;
    for (int64_t left = static_cast<int64_t>(n) - 16; left > 0; left -= 16, s += 16) {
      a = (a ^ ShiftMix(Load64(s) * kMul1) * kMul1) * kMul1;
      b ^= a;
      c = (c ^ ShiftMix(Load64(s + 8) * kMul1) * kMul1) * kMul1;
      d ^= c;
    }
  }
  a = FoldCity(a, c);
  b = FoldCity(d, b);
  return {a ^ b, FoldCity(b, a)};
}

}  // namespace

Fingerprint128Value Fingerprint128(absl::string_view bytes) {
  const char* s = bytes.data();
  uint64_t n = bytes.size();
  LongState state{.x = kMul0, .y = kMul1};
  if (n >= 16) {
    state.x = Load64(s);
    state.y = Load64(s + 8) + kMul0;
    s += 16;
    n -= 16;
  }
  if (n < 128) return HashUpTo128(s, n, state.x, state.y);
  state.z = n * kMul1;
  state.v.first = std::rotr(state.y ^ kMul1, 49) * kMul1 + Load64(s);
  state.v.second = std::rotr(state.v.first, 42) * kMul1 + Load64(s + 8);
  state.w.first = std::rotr(state.y + state.z, 35) * kMul1 + state.x;
  state.w.second = std::rotr(state.x + Load64(s + 88), 53) * kMul1;
  for (; n >= 128; n -= 128) {
    for (int half = 0; half < 2; ++half, s += 64) state.Round(s, kMul1, 1, 1);
  }
  auto& [x, y, z, v, w] = state;
  x += std::rotr(v.first + z, 49) * kMul0;
  y = y * kMul0 + std::rotr(w.second, 37);
  z = z * kMul0 + std::rotr(w.first, 27);
  w.first *= 9;
  v.first *= kMul0;
  // Blocks of 32 bytes from the end, the last of which may overlap what was hashed before.
  for (uint64_t done = 0; done < n;) {
    done += 32;
    const char* const block = s + n - done;
    y = std::rotr(x + y, 42) * kMul0 + v.second;
    w.first += Load64(block + 16);
    x = x * kMul0 + w.first;
    z += w.second + Load64(block);
    w.second += v.first;
    v = MixBlock(block, v.first + z, v.second);
    v.first *= kMul0;
  }
  x = FoldCity(x, v.first);
  y = FoldCity(y + z, w.first);
  return {FoldCity(x + v.second, w.second) + y, FoldCity(x + w.second, y + v.second)};
}

uint64_t Fingerprint64(absl::string_view bytes) {
  const char* s = bytes.data();
  const uint64_t n = bytes.size();
  if (n <= 16) return HashUpTo16(s, n);
  if (n <= 32) return HashUpTo32(s, n);
  if (n <= 64) return HashUpTo64(s, n);
  constexpr uint64_t kSeed = 81;
  LongState state;
  state.y = kSeed * kMul1 + 113;
  state.z = ShiftMix(state.y * kMul2 + 113) * kMul2;
  state.x = kSeed * kMul2 + Load64(s);
  // All blocks of 64 bytes but the last one, which may overlap the one before it.
  for (const char* end = s + (n - 1) / 64 * 64; s != end; s += 64) state.Round(s, kMul1, 1, 1);
  const uint64_t mul = kMul1 + ((state.z & 0xff) << 1);
  state.w.first += (n - 1) & 63;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.Round(bytes.data() + n - 64, mul, 9, 9);
  return Fold(Fold(state.v.first, state.w.first, mul) + ShiftMix(state.y) * kMul0 + state.z,
              Fold(state.v.second, state.w.second, mul) + state.x, mul);
}

void FingerprintRows(const char* rows, int64_t size, int64_t count, uint64_t* hashes) {
  const auto n = static_cast<uint64_t>(size);
  // The loop of a length calls its function in place.
  const auto hash_all = [=](auto hash) {
    for (int64_t i = 0; i < count; ++i) hashes[i] = hash(rows + i * size);
  };
  if (n <= 16) return hash_all([n](const char* row) { return HashUpTo16(row, n); });
  if (n <= 32) return hash_all([n](const char* row) { return HashUpTo32(row, n); });
  if (n <= 64) return hash_all([n](const char* row) { return HashUpTo64(row, n); });
  hash_all([n](const char* row) { return Fingerprint64({row, n}); });
}

uint64_t FingerprintCat64(uint64_t head, uint64_t next) {
  uint64_t result = head ^ kMurmurMul;
  result ^= ShiftMix(next * kMurmurMul) * kMurmurMul;
  result *= kMurmurMul;
  return ShiftMix(ShiftMix(result) * kMurmurMul);
}

uint64_t LegacyHash64(absl::string_view bytes, uint64_t seed) {
  const char* s = bytes.data();
  uint64_t n = bytes.size();
  uint64_t hash = seed ^ (n * kMurmurMul);
  for (; n >= 8; n -= 8, s += 8) {
    hash ^= ShiftMix(Load64(s) * kMurmurMul) * kMurmurMul;
    hash *= kMurmurMul;
  }
  if (n > 0) hash = (hash ^ LoadTail(s, n)) * kMurmurMul;
  return ShiftMix(ShiftMix(hash) * kMurmurMul);
}

uint64_t SipHash64(uint64_t key0, uint64_t key1, absl::string_view bytes) {
  uint64_t v0 = key0 ^ 0x736f6d6570736575, v1 = key1 ^ 0x646f72616e646f6d;
  uint64_t v2 = key0 ^ 0x6c7967656e657261, v3 = key1 ^ 0x7465646279746573;
  auto round = [&] {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  };
  auto absorb = [&](uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  };
  const char* s = bytes.data();
  size_t n = bytes.size();
  for (; n >= 8; n -= 8, s += 8) absorb(Load64(s));
  absorb(static_cast<uint64_t>(bytes.size()) << 56 | LoadTail(s, n));
  v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace tessera
