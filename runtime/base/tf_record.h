// Records of TFRecord files, as TensorFlow's tf.io.TFRecordWriter writes them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

// Appends a record to the bytes of a file: the length of `data` in 8 bytes, the masked CRC-32C of
// the length, the data, and the masked CRC-32C of the data, all little endian. Files are such
// records one after the other, without a header.
void AppendTfRecord(absl::string_view data, std::string* file);

}  // namespace tessera
