// Elements as bytes, for files that only this program reads: a record (see
// runtime/base/tf_record.h) for each component, which holds its serialised TensorProto.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/data/dataset.h"

namespace tessera {

// Errors: UNIMPLEMENTED for variants without a serialised form.
absl::StatusOr<std::string> ElementToBytes(const Element& element);
// Errors: DATA_LOSS for bytes that ElementToBytes() did not write.
absl::StatusOr<Element> ElementFromBytes(absl::string_view bytes);

}  // namespace tessera
