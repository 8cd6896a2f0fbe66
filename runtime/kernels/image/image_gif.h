// Decoding GIF.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Draws the frames one over the other, as RGB of the first frame's canvas; what is transparent, or
// what a frame does not cover, shows the frame before, or black. `allocate(frames, height, width)`
// gives the place for the pixels. `only_first` leaves later frames out.
// Errors: INVALID_ARGUMENT if it is no GIF, damaged, or of more than `max_samples` samples, which
// is found out before memory is given for the frame that is too much; those of `allocate`.
absl::Status DecodeGif(
    absl::string_view bytes, bool only_first, int64_t max_samples,
    absl::FunctionRef<absl::StatusOr<uint8_t*>(int64_t frames, int64_t height, int64_t width)>
        allocate);

}  // namespace tessera
