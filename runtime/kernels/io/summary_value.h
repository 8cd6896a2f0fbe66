// Values of summaries, made from tensors: what TensorBoard shows of a step.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"

namespace tensorflow {
class Summary;
}  // namespace tensorflow

namespace tessera {

// Adds a number as a float. Errors: INVALID_ARGUMENT unless the tensor has one real element.
absl::Status AddScalarValue(const std::string& tag, const Tensor& number,
                            tensorflow::Summary* summary);

// Adds a histogram of all elements; bools count as 0 and 1. `name` stands in errors.
// Errors: INVALID_ARGUMENT for elements that are not finite, UNIMPLEMENTED for other dtypes.
absl::Status AddHistogramValue(const std::string& tag, const std::string& name,
                               const Tensor& values, tensorflow::Summary* summary);

// Adds the first images of [batch, height, width, channels] as PNG files under the tags TAG/image/0
// and so on, or TAG/image if `max_images` is 1. Floating-point pixels are scaled: the largest
// becomes 255, or, if some are negative, zero becomes 128 and the largest magnitude is 127 away.
// Pixels that are not finite get `bad_color`.
// Errors: INVALID_ARGUMENT for other shapes, and for a colour of fewer channels.
absl::Status AddImageValues(const std::string& tag, const Tensor& images, int64_t max_images,
                            absl::Span<const uint8_t> bad_color, tensorflow::Summary* summary);

// Adds the first sounds of [batch, frames] or [batch, frames, channels] as WAV files under the tags
// TAG/audio/0 and so on, or TAG/audio if `max_outputs` is 1. `rate`: frames a second.
// Errors: INVALID_ARGUMENT for other shapes and rates.
absl::Status AddAudioValues(const std::string& tag, const Tensor& sounds, float rate,
                            int64_t max_outputs, tensorflow::Summary* summary);

}  // namespace tessera
