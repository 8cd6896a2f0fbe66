// Loads one tensor from the data file of a checkpoint. Format: docs/formats.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/host/mapped_file.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Type, shape and location of a tensor in its data file.
struct StoredTensor {
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t crc = 0;                // CRC32C without LevelDB's masking
  bool is_foreign_endian = false;  // whether the byte order differs from that of this machine
};

// True if checkpoints can hold tensors of this type: all types but resource and variant.
bool IsStorable(DType dtype);

// Checks, without reading the bytes, that the tensor lies inside the file and that its size fits
// its type and shape. Errors: DATA_LOSS; UNIMPLEMENTED if the type is not IsStorable().
absl::Status CheckPlace(const StoredTensor& stored, size_t file_size);

// Returns the tensor, which aliases `file` if its type and alignment allow that. Requires that
// CheckPlace() succeeds. Callers that have checked the CRC before set `check_crc` to false; that of
// a string tensor is checked in any case. Errors: DATA_LOSS.
absl::StatusOr<Tensor> LoadTensor(const std::shared_ptr<const MappedFile>& file,
                                  const StoredTensor& stored, bool check_crc);

// Returns the bytes that precede the elements of a string tensor: the lengths of the elements and a
// checksum of the lengths. Sets *crc to the CRC32C of these bytes; the caller extends it by the
// bytes of the elements.
std::string EncodeStringLengths(const Tensor& tensor, uint32_t* crc);

}  // namespace tessera
