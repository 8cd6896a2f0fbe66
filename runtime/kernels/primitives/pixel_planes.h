// Copies between pixels of a few channels and a plane for each channel, as images are stored.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

// Copies `count` pixels, whose channels lie side by side, from or to planes that lie `plane_stride`
// bytes apart. Neither side need be aligned.
using PixelLoop = void (*)(int64_t count, const char* from, char* to, int64_t plane_stride);

// Return the loop for two to four channels of 1, 2, 4 or 8 bytes; null for others.
PixelLoop SplitPixelsLoop(int64_t channels, int64_t channel_bytes);
PixelLoop JoinPixelsLoop(int64_t channels, int64_t channel_bytes);

}  // namespace tessera
