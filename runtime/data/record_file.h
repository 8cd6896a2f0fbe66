// Reading the files of records that AppendTfRecord() writes (runtime/base/tf_record.h).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/data/byte_source.h"

namespace tessera {

// Reads the next record. Returns false at the end of the source.
// Errors: DATA_LOSS "truncated record at N" or "corrupted record at N", where N is the record's
// position in the (decompressed) file; those of the source.
absl::StatusOr<bool> ReadRecord(ByteSource& source, std::string* record);

}  // namespace tessera
