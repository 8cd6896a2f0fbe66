#include "runtime/graph/repeated_constant.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/tensor/buffer.h"
#include "runtime/tensor/tensor_proto.h"

namespace tessera {
namespace {

constexpr int64_t kMinChunk = int64_t{2} << 20, kMaxChunk = int64_t{64} << 20;

bool IsOneValue(const tensorflow::TensorProto& proto) {
  const int parts = std::max(proto.scomplex_val_size(), proto.dcomplex_val_size());
  return proto.tensor_content().empty() && parts <= 2 && proto.float8_val().size() <= 1 &&
         std::max({proto.half_val_size(), proto.float_val_size(), proto.double_val_size(),
                   proto.int_val_size(), proto.int64_val_size(), proto.bool_val_size(),
                   proto.uint32_val_size(), proto.uint64_val_size()}) <= 1;
}

// Address space that is given back when the last tensor on it goes.
class Mapping {
 public:
  explicit Mapping(int64_t size)
      : size_(static_cast<size_t>(size)),
        data_(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  }
  ~Mapping() {
    if (data() != nullptr) munmap(data_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  char* data() const { return data_ == MAP_FAILED ? nullptr : static_cast<char*>(data_); }

  // Maps the first `chunk` bytes of a file again and again. Returns whether that worked.
  bool Repeat(int file, int64_t chunk) {
    for (size_t at = 0; at < size_; at += static_cast<size_t>(chunk)) {
      const size_t size = std::min(static_cast<size_t>(chunk), size_ - at);
      if (mmap(data() + at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
               file, 0) == MAP_FAILED) {
        return false;
      }
    }
    return true;
  }

 private:
  const size_t size_;
  void* const data_;
};

// Returns a file in memory of `size` bytes, which are `value` over and over; -1 if there is none.
int FileOf(const Tensor& value, int64_t size) {
  const int file = memfd_create("constant", MFD_CLOEXEC);
  if (file < 0) return -1;
  const size_t step = value.size_bytes();
  std::string block(size_t{1} << 16, '\0');
  for (size_t at = 0; at < block.size(); at += step) {
    std::memcpy(block.data() + at, value.raw(), step);
  }
  for (int64_t at = 0; at < size; at += static_cast<int64_t>(block.size())) {
    if (pwrite(file, block.data(), block.size(), at) != static_cast<ssize_t>(block.size())) {
      close(file);
      return -1;
    }
  }
  return file;
}

}  // namespace

absl::StatusOr<std::optional<Tensor>> RepeatedConstant(const tensorflow::TensorProto& proto) {
  const auto dtype = static_cast<DType>(proto.dtype());
  if (proto.dtype() < 0 || proto.dtype() > 255 || !IsKnown(dtype) || !IsTriviallyCopyable(dtype) ||
      proto.tensor_shape().unknown_rank() || !IsOneValue(proto)) {
    return std::nullopt;
  }
  const absl::StatusOr<Shape> shape = ShapeFromProto(proto.tensor_shape());
  if (!shape.ok()) return std::nullopt;
  const int64_t bytes =
      MultiplyWithoutOverflow(shape->num_elements(), static_cast<int64_t>(DTypeSize(dtype)));
  // A fuzzer's limit is lower.
  if (kMaxTensorProtoBytes < kMinRepeatedBytes) return std::nullopt;
  if (bytes >= 0 && bytes < kMinRepeatedBytes) return std::nullopt;
  if (bytes < 0 || bytes > kMaxRepeatedBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a constant of type ", DTypeName(dtype), " and shape ", shape->ToString(),
                     " has more than ", kMaxRepeatedBytes, " bytes"));
  }
  tensorflow::TensorProto scalar = proto;
  scalar.clear_tensor_shape();
  ASSIGN_OR_RETURN(const Tensor value, TensorFromProto(scalar));
  // Whole pages of whole elements: all sizes here are powers of two.
  int64_t chunk = kMinChunk;
  while (chunk < kMaxChunk && chunk * 16 < bytes) chunk *= 2;
  auto mapping = std::make_shared<Mapping>(bytes);
  if (mapping->data() == nullptr) return std::nullopt;
  const int file = FileOf(value, chunk);
  if (file < 0) return std::nullopt;
  const bool is_mapped = mapping->Repeat(file, chunk);
  close(file);
  if (!is_mapped) return std::nullopt;
  char* const data = mapping->data();
  return Tensor::View(
      dtype, *shape,
      WrapBuffer(std::move(mapping), data, static_cast<size_t>(bytes), /*writable=*/true));
}

}  // namespace tessera
