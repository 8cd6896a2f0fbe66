// StableHash: a hash that is the same in every process and every build, for numbers that are kept
// in files or that several servers must agree on. absl::HashOf() has a seed of its own in each
// process.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tessera::serving {

// The finalizer of SplitMix64: every bit of the value changes about half of the result's bits.
inline uint64_t MixBits(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

// Adds a value to a hash. The order of the values counts.
inline uint64_t StableHash(uint64_t hash, uint64_t value) {
  return MixBits(hash + 0x9E3779B97F4A7C15 + MixBits(value));
}

// Adds a text to a hash, by FNV-1a.
inline uint64_t StableHash(uint64_t hash, absl::string_view text) {
  uint64_t fnv = 0xCBF29CE484222325;
  for (const char byte : text) fnv = (fnv ^ static_cast<uint8_t>(byte)) * 0x100000001B3;
  return StableHash(hash, fnv);
}

}  // namespace tessera::serving
