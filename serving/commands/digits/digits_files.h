// The files of `tessera train --init digits`, as they lie beside this one.
#pragma once

#include "absl/strings/string_view.h"

namespace tessera::serving {

// The examples of UCI's "Optical Recognition of Handwritten Digits", compressed by zlib: for each
// of 1437 training and then 360 test examples 64 pixels, from 0 to 16, and the digit, a byte each.
extern const absl::string_view kDigitsZz;
extern const absl::string_view kForwardPbtxt;
extern const absl::string_view kJobYaml;

}  // namespace tessera::serving
