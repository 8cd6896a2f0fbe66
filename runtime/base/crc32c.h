// CRC-32C (Castagnoli), the checksum of checkpoints and of record files.
// Polynomial 0x1EDC6F41, reflected; RFC 3720, appendix B.4.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tessera {

// Returns the checksum of the concatenation of bytes whose checksum is `crc` with `data`.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view data);
// The same function without wide carry-less multiplication (VPCLMULQDQ), which ExtendCrc32c() uses
// if the CPU has it. Public for tests.
uint32_t ExtendCrc32cNarrowly(uint32_t crc, absl::string_view data);
inline uint32_t Crc32c(absl::string_view data) { return ExtendCrc32c(0, data); }

// Files store a masked checksum, because the checksum of bytes that contain their own checksum is
// weak.
constexpr uint32_t kCrc32cMaskDelta = 0xa282ead8;
constexpr uint32_t MaskCrc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + kCrc32cMaskDelta;
}
constexpr uint32_t UnmaskCrc32c(uint32_t masked) {
  const uint32_t rotated = masked - kCrc32cMaskDelta;
  return (rotated >> 17) | (rotated << 15);
}

// Returns whether a stored checksum is the computed one. Always true in a build for fuzzing, where
// almost no mutated input would get past this check otherwise.
constexpr bool ChecksumMatches(uint32_t stored, uint32_t computed) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  return true;
#else
  return stored == computed;
#endif
}

}  // namespace tessera
