#include "runtime/checkpoint/checkpoint_tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/table_format.h"
#include "runtime/tensor/buffer.h"
#include "runtime/tensor/raw_elements.h"

namespace tessera {
namespace {

constexpr size_t kLengthsCrcSize = 4;

absl::Status WrongChecksum() {
  return absl::DataLossError(
      "its bytes do not match their checksum: the file is damaged; copy it anew");
}

// Bytes that are swapped together between byte orders: a complex number has two parts.
size_t SwapUnit(DType dtype) { return DTypeSize(dtype) / (IsComplex(dtype) ? 2 : 1); }

void CopySwapped(absl::string_view from, size_t unit, char* to) {
  for (size_t i = 0; i < from.size(); i += unit) {
    std::reverse_copy(from.data() + i, from.data() + i + unit, to + i);
  }
}

size_t AlignmentOf(DType dtype) { return std::min<size_t>(SwapUnit(dtype), 8); }

template <typename T>
void AppendNative(T value, bool swap, std::string* out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  if (swap) std::reverse(bytes, bytes + sizeof(T));
  out->append(bytes, sizeof(T));
}

// The checksum of lengths is that of numbers of four bytes, or of eight if the length needs them,
// not of the varints that the file has.
uint32_t ExtendWithLength(uint32_t crc, uint64_t length, bool swap) {
  std::string bytes;
  if (length <= std::numeric_limits<uint32_t>::max()) {
    AppendNative(static_cast<uint32_t>(length), swap, &bytes);
  } else {
    AppendNative(length, swap, &bytes);
  }
  return ExtendCrc32c(crc, bytes);
}

absl::StatusOr<Tensor> LoadStrings(absl::string_view bytes, const StoredTensor& stored) {
  const auto count = static_cast<size_t>(stored.shape.num_elements());
  std::vector<uint64_t> lengths(count);
  uint32_t crc = 0;
  for (uint64_t& length : lengths) {
    if (!table::ConsumeVarint(&bytes, &length)) {
      return absl::DataLossError("the lengths of its strings are cut off");
    }
    crc = ExtendWithLength(crc, length, stored.is_foreign_endian);
  }
  if (bytes.size() < kLengthsCrcSize) {
    return absl::DataLossError("the lengths of its strings are cut off");
  }
  uint32_t lengths_crc;
  std::memcpy(&lengths_crc, bytes.data(), kLengthsCrcSize);
  if (stored.is_foreign_endian) lengths_crc = __builtin_bswap32(lengths_crc);
  if (!ChecksumMatches(UnmaskCrc32c(lengths_crc), crc)) {
    return absl::DataLossError("the lengths of its strings do not match their checksum");
  }
  if (!ChecksumMatches(stored.crc, ExtendCrc32c(crc, bytes))) return WrongChecksum();
  bytes.remove_prefix(kLengthsCrcSize);

  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DType::kString, stored.shape));
  absl::Span<std::string> elements = tensor.flat<std::string>();
  for (size_t i = 0; i < count; ++i) {
    if (lengths[i] > bytes.size()) {
      return absl::DataLossError("its strings are longer than their bytes");
    }
    elements[i].assign(bytes.data(), lengths[i]);
    bytes.remove_prefix(lengths[i]);
  }
  if (!bytes.empty()) return absl::DataLossError("its strings are shorter than their bytes");
  return tensor;
}

}  // namespace

bool IsStorable(DType dtype) {
  return IsKnown(dtype) && dtype != DType::kResource && dtype != DType::kVariant;
}

absl::Status CheckPlace(const StoredTensor& stored, size_t file_size) {
  if (!IsStorable(stored.dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("tensors of type ", DTypeName(stored.dtype), " cannot be read"));
  }
  if (stored.offset < 0 || stored.size < 0 || static_cast<uint64_t>(stored.offset) > file_size ||
      static_cast<uint64_t>(stored.size) > file_size - static_cast<uint64_t>(stored.offset)) {
    return absl::DataLossError(absl::StrCat(
        "it takes ", stored.size, " bytes from byte ", stored.offset, " on, but the file has ",
        file_size, ": the file is cut off, or of another checkpoint than the index"));
  }
  const int64_t count = stored.shape.num_elements();
  if (stored.dtype == DType::kString) {
    // Each string takes at least the byte of its length.
    if (count > stored.size - static_cast<int64_t>(kLengthsCrcSize) && count > 0) {
      return absl::DataLossError(
          absl::StrCat(stored.size, " bytes do not hold ", count, " strings"));
    }
    return absl::OkStatus();
  }
  const int64_t bytes =
      MultiplyWithoutOverflow(count, static_cast<int64_t>(DTypeSize(stored.dtype)));
  if (bytes != stored.size) {
    return absl::DataLossError(absl::StrCat(stored.size, " bytes do not make a ",
                                            DTypeName(stored.dtype), " tensor of shape ",
                                            stored.shape.ToString()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> LoadTensor(const std::shared_ptr<const MappedFile>& file,
                                  const StoredTensor& stored, bool check_crc) {
  const absl::string_view bytes =
      file->view().substr(static_cast<size_t>(stored.offset), static_cast<size_t>(stored.size));
  if (stored.shape.num_elements() == 0) return Tensor::Allocate(stored.dtype, stored.shape);
  if (stored.dtype == DType::kString) return LoadStrings(bytes, stored);

  if (check_crc && !ChecksumMatches(stored.crc, Crc32c(bytes))) return WrongChecksum();
  const size_t unit = SwapUnit(stored.dtype);
  const bool swap = stored.is_foreign_endian && unit > 1;
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % AlignmentOf(stored.dtype) == 0;
  if (!swap && aligned && AreElements(stored.dtype, bytes)) {
    return Tensor::View(stored.dtype, stored.shape,
                        MapBuffer(file, static_cast<size_t>(stored.offset), bytes.size()));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(stored.dtype, stored.shape));
  if (swap) {
    CopySwapped(bytes, unit, tensor.mutable_raw());
  } else {
    CopyElements(stored.dtype, bytes, tensor.mutable_raw());
  }
  return tensor;
}

std::string EncodeStringLengths(const Tensor& tensor, uint32_t* crc) {
  std::string encoded;
  uint32_t lengths_crc = 0;
  for (const std::string& element : tensor.flat<std::string>()) {
    table::AppendVarint(element.size(), &encoded);
    lengths_crc = ExtendWithLength(lengths_crc, element.size(), false);
  }
  std::string masked;
  AppendNative(MaskCrc32c(lengths_crc), false, &masked);
  *crc = ExtendCrc32c(lengths_crc, masked);
  return encoded + masked;
}

}  // namespace tessera
