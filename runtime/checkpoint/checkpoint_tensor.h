// The bytes of one tensor in a checkpoint's data file. Format: docs/formats.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/host/mapped_file.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Where a tensor lies in its file, and what it is.
struct StoredTensor {
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t crc = 0;                // not masked
  bool is_foreign_endian = false;  // stored in the other byte order than this machine's
};

// True if the type has a form in checkpoints: all but resource and variant.
bool IsStorable(DType dtype);

// Checks that the tensor's place lies in the file and has the size that type and shape ask for:
// what needs no look at the bytes. Errors: DATA_LOSS, UNIMPLEMENTED if not IsStorable().
absl::Status CheckPlace(const StoredTensor& stored, size_t file_size);

// The tensor, aliasing `file` where its type and alignment allow. Requires CheckPlace() to be OK.
// `check_crc` may be false if it was checked before; strings are always checked.
// Errors: DATA_LOSS.
absl::StatusOr<Tensor> LoadTensor(const std::shared_ptr<const MappedFile>& file,
                                  const StoredTensor& stored, bool check_crc);

// What precedes the bytes of a string tensor's elements: their lengths and a checksum of these.
// *crc is that of these bytes, to be extended with the elements.
std::string EncodeStringLengths(const Tensor& tensor, uint32_t* crc);

}  // namespace tessera
