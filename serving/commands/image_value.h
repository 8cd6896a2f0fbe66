// Reads pictures as tensors of a signature.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"
#include "serving/servables/servable.h"
#include "serving/server/flag_parser.h"

namespace tessera::serving {

// How pixels become the numbers that a model takes.
struct ImageOptions {
  std::string size;           // "HEIGHTxWIDTH"; empty: the signature's, or else the picture's own
  std::string range = "0,1";  // what black and white are in a tensor of floats

  // The flags write into this object, which must outlive the parser.
  void AddTo(FlagParser* flags);
};

// Returns whether the bytes begin as those of a JPEG, PNG, GIF or BMP file do.
bool IsImage(absl::string_view bytes);

// Returns one picture as a batch that fits an input:
//   string                    the bytes of the file as they are
//   float [N,H,W,C], [N,H,W]  the pixels, resized to H x W if these are known (bilinear, as
//   or [H,W,C]                tf.image.resize() does), and brought to the range
//   uint8, int32, ...         likewise with values from 0 to 255
// Errors: INVALID_ARGUMENT for bytes that are no picture, for options that make no sense, and for
// an input of another shape.
absl::StatusOr<Tensor> ReadImage(const TensorInfo& input, absl::string_view bytes,
                                 const ImageOptions& options);

}  // namespace tessera::serving
