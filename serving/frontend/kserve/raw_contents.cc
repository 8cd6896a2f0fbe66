#include "serving/frontend/kserve/raw_contents.h"

#include <bit>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

static_assert(std::endian::native == std::endian::little);

absl::Status WrongSize(const Shape& shape, uint64_t bytes, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("there are ", bytes, " raw bytes, the shape ",
                                                 shape.ToString(), " needs ", wanted));
}

absl::StatusOr<Tensor> StringsFromRaw(const Shape& shape, WireReader contents) {
  constexpr char kWanted[] = "strings of other lengths, or another number of them";
  const uint64_t bytes = contents.size();
  const auto count = static_cast<uint64_t>(shape.num_elements());
  // Each string takes four bytes at least. This is checked before memory is taken for them.
  if (count > bytes / sizeof(uint32_t)) return WrongSize(shape, bytes, kWanted);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DType::kString, shape));
  for (std::string& text : tensor.flat<std::string>()) {
    uint32_t length;
    if (contents.size() < sizeof(length)) return WrongSize(shape, bytes, kWanted);
    contents.CopyTo(reinterpret_cast<char*>(&length), sizeof(length));
    if (contents.size() < length) return WrongSize(shape, bytes, kWanted);
    text.resize(length);
    contents.CopyTo(text.data(), length);
  }
  if (!contents.AtEnd()) return WrongSize(shape, bytes, kWanted);
  return tensor;
}

}  // namespace

absl::StatusOr<Tensor> TensorFromRaw(DType dtype, const Shape& shape, WireReader contents,
                                     KeepAlive keep) {
  if (dtype == DType::kString) return StringsFromRaw(shape, contents);
  const int64_t bytes =
      MultiplyWithoutOverflow(shape.num_elements(), static_cast<int64_t>(DTypeSize(dtype)));
  if (bytes < 0 || contents.size() != static_cast<uint64_t>(bytes)) {
    return WrongSize(shape, contents.size(), bytes < 0 ? "more than 2^63" : absl::StrCat(bytes));
  }
  return TensorFromContent(dtype, shape, contents, keep);
}

uint64_t RawSize(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) return tensor.size_bytes();
  uint64_t bytes = 0;
  for (const std::string& text : tensor.flat<std::string>()) {
    bytes += sizeof(uint32_t) + text.size();
  }
  return bytes;
}

char* WriteRaw(const Tensor& tensor, char* out) {
  if (tensor.dtype() != DType::kString) {
    const size_t bytes = tensor.size_bytes();
    if (bytes > 0) std::memcpy(out, tensor.raw(), bytes);
    return out + bytes;
  }
  for (const std::string& text : tensor.flat<std::string>()) {
    const auto length = static_cast<uint32_t>(text.size());
    std::memcpy(out, &length, sizeof(length));
    std::memcpy(out + sizeof(length), text.data(), text.size());
    out += sizeof(length) + text.size();
  }
  return out;
}

}  // namespace tessera::serving
