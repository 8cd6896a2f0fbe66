// CRC-32C (Castagnoli), the checksum of checkpoints and of record files.
// Polynomial 0x1EDC6F41, reflected; RFC 3720, appendix B.4.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tessera {

// The checksum of `data` appended to bytes whose checksum is `crc`.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view data);
// The same, as processors without wide carry-less products compute it.
uint32_t ExtendCrc32cNarrowly(uint32_t crc, absl::string_view data);
inline uint32_t Crc32c(absl::string_view data) { return ExtendCrc32c(0, data); }

// The form in which files store it: a checksum of bytes that hold their own checksum would be weak.
constexpr uint32_t kCrc32cMaskDelta = 0xa282ead8;
constexpr uint32_t MaskCrc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + kCrc32cMaskDelta;
}
constexpr uint32_t UnmaskCrc32c(uint32_t masked) {
  const uint32_t rotated = masked - kCrc32cMaskDelta;
  return (rotated >> 17) | (rotated << 15);
}

// Whether a stored checksum is the computed one. Fuzzing takes any for right: of mutated bytes next
// to none would get beyond this check.
constexpr bool ChecksumMatches(uint32_t stored, uint32_t computed) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  return true;
#else
  return stored == computed;
#endif
}

}  // namespace tessera
