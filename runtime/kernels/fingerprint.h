// Hashes whose values are part of a model: they must never change.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tessera {

// FarmHash's 64-bit fingerprint (github.com/google/farmhash, "na" variant).
uint64_t Fingerprint64(absl::string_view bytes);
// Sets hashes[i] to the fingerprint of row i of `count` rows of `size` bytes each.
void FingerprintRows(const char* rows, int64_t size, int64_t count, uint64_t* hashes);
// FarmHash's 128-bit fingerprint ("cc" variant, CityHash128).
struct Fingerprint128Value {
  uint64_t low, high;
};
Fingerprint128Value Fingerprint128(absl::string_view bytes);
// The fingerprint of a sequence, from that of its head and of the next element.
uint64_t FingerprintCat64(uint64_t head, uint64_t next);
// MurmurHash2 for 64-bit machines (Austin Appleby) with the seed that the legacy ops fixed.
uint64_t LegacyHash64(absl::string_view bytes, uint64_t seed = 0xDECAFCAFFE);
// SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF").
uint64_t SipHash64(uint64_t key0, uint64_t key1, absl::string_view bytes);

}  // namespace tessera
