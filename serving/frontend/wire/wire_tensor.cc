#include "serving/frontend/wire/wire_tensor.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/frontend/wire/wire_tensor_field.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace tessera::serving {
namespace {

using Kind = WireTensorField::Kind;

constexpr uint32_t kDimField = 2;
constexpr uint32_t kUnknownRankField = 3;
constexpr uint32_t kDimSizeField = 1;
constexpr uint32_t kDimNameField = 2;

// Fills the tensor after its first `filled` bytes with copies of the last element, or with zeros if
// there is none.
void FillRest(Tensor& tensor, size_t filled) {
  const size_t element = DTypeSize(tensor.dtype());
  char* const data = tensor.mutable_raw();
  filled -= filled % element;
  if (filled == 0) {
    std::memset(data, 0, tensor.size_bytes());
    return;
  }
  const char* const last = data + filled - element;
  for (char* p = data + filled; p < data + tensor.size_bytes(); p += element) {
    std::memcpy(p, last, element);
  }
}

// Stores the low bytes of an integer, which are the element for both signs and for half.
template <typename Stored>
struct StoreInteger {
  char* operator()(uint64_t value, char* out) const {
    const auto stored = static_cast<Stored>(value);
    std::memcpy(out, &stored, sizeof(stored));
    return out + sizeof(stored);
  }
};

struct StoreBool {
  char* operator()(uint64_t value, char* out) const {
    *out = value != 0;
    return out + 1;
  }
};

}  // namespace

bool WireTensor::Merge(WireReader message, int depth) {
  occurrences_.push_back(message);
  WireReader in = message;
  bool has_messages = false;
  while (!in.AtEnd()) {
    uint32_t tag;
    if (!in.ReadTag(&tag)) return false;
    switch (tag) {
      case WireTag(kDtypeField, WireType::kVarint): {
        uint64_t value;
        if (!in.ReadVarint(&value)) return false;
        dtype_ = static_cast<int32_t>(value);
        break;
      }
      case WireTag(kShapeField, WireType::kBytes): {
        WireReader shape;
        if (!in.ReadMessage(&shape) || depth < 1 || !MergeShape(shape, depth - 1)) return false;
        break;
      }
      case WireTag(kContentField, WireType::kBytes):
        if (!in.ReadMessage(&content_)) return false;
        break;
      case WireTag(kResourceField, WireType::kBytes):
      case WireTag(kVariantField, WireType::kBytes):
        has_messages = true;
        if (!in.SkipField(tag, depth)) return false;
        break;
      default: {
        const Kind kind = WireKindOfNumbers(tag >> 3);
        if (kind == Kind::kNone || WireTypeOf(tag) != WireType::kBytes) {
          if (!in.SkipField(tag, depth)) return false;
          break;
        }
        WireReader values;
        if (!in.ReadMessage(&values)) return false;
        const bool is_list =
            kind == Kind::kVarint
                ? values.SkipVarints()
                : values.size() % (kind == Kind::kFixed32 ? sizeof(uint32_t) : sizeof(uint64_t)) ==
                      0;
        if (!is_list) return false;
      }
    }
  }
  if (!has_messages) return true;
  tensorflow::TensorProto proto;
  return message.MergeInto(&proto, depth);
}

bool WireTensor::MergeShape(WireReader shape, int depth) {
  while (!shape.AtEnd()) {
    uint32_t tag;
    if (!shape.ReadTag(&tag)) return false;
    if (tag == WireTag(kDimField, WireType::kBytes)) {
      WireReader dim;
      if (!shape.ReadMessage(&dim) || depth < 1 || !MergeDim(dim, depth - 1)) return false;
    } else if (tag == WireTag(kUnknownRankField, WireType::kVarint)) {
      uint64_t value;
      if (!shape.ReadVarint(&value)) return false;
      unknown_rank_ = value != 0;
    } else if (!shape.SkipField(tag, depth)) {
      return false;
    }
  }
  return true;
}

bool WireTensor::MergeDim(WireReader dim, int depth) {
  uint64_t size = 0;
  absl::string_view name;
  std::string copy;
  while (!dim.AtEnd()) {
    uint32_t tag;
    if (!dim.ReadTag(&tag)) return false;
    if (tag == WireTag(kDimSizeField, WireType::kVarint)) {
      if (!dim.ReadVarint(&size)) return false;
    } else if (tag == WireTag(kDimNameField, WireType::kBytes)) {
      if (!dim.ReadText(&name, &copy)) return false;
    } else if (!dim.SkipField(tag, depth)) {
      return false;
    }
  }
  if (dims_.size() < kMaxDims) {
    dims_.push_back(static_cast<int64_t>(size));
  } else {
    has_too_many_dims_ = true;
  }
  return true;
}

template <typename Visit>
void WireTensor::ForEach(uint32_t field, Visit visit) const {
  for (WireReader in : occurrences_) {
    uint32_t tag;
    while (!in.AtEnd() && in.ReadTag(&tag)) {
      if (tag >> 3 == field) {
        visit(tag, in);
      } else {
        in.SkipField(tag, WireReader::kMaxDepth);
      }
    }
  }
}

bool WireTensor::HasUsualLayout(int64_t max_bytes, int64_t* num_elements) const {
  if (dtype_ < 0 || dtype_ > 255 || !IsKnown(dtype()) || unknown_rank_ || has_too_many_dims_) {
    return false;
  }
  *num_elements = 1;
  for (const int64_t dim : dims_) *num_elements = MultiplyWithoutOverflow(*num_elements, dim);
  const int64_t bytes =
      MultiplyWithoutOverflow(*num_elements, static_cast<int64_t>(DTypeSize(dtype())));
  if (bytes < 0 || bytes > max_bytes) return false;
  const Kind kind = WireTensorFieldOf(dtype()).kind;
  if (!content_.AtEnd() && *num_elements > 0) {
    return IsTriviallyCopyable(dtype()) && content_.size() == static_cast<uint64_t>(bytes);
  }
  return kind != Kind::kNarrow && kind != Kind::kByte && kind != Kind::kMessage;
}

absl::StatusOr<Tensor> WireTensor::Decode(int64_t max_bytes, KeepAlive keep) const {
  int64_t num_elements;
  if (!HasUsualLayout(max_bytes, &num_elements)) return DecodeMessage(max_bytes);
  const Shape shape{absl::Span<const int64_t>(dims_)};
  if (num_elements == 0) return Tensor::Allocate(dtype(), shape);
  if (!content_.AtEnd()) return TensorFromContent(dtype(), shape, content_, keep);
  const Kind kind = WireTensorFieldOf(dtype()).kind;
  if (kind == Kind::kFixed32 || kind == Kind::kFixed64) return DecodeFixed(shape, keep);
  if (kind == Kind::kString) return DecodeStrings(shape, max_bytes);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype(), shape));
  ReadVarints(tensor);
  return tensor;
}

absl::StatusOr<Tensor> WireTensor::DecodeMessage(int64_t max_bytes) const {
  tensorflow::TensorProto proto;
  for (const WireReader& occurrence : occurrences_) {
    if (!occurrence.MergeInto(&proto, WireReader::kMaxDepth)) {
      return absl::InternalError("a TensorProto can be read no more");
    }
  }
  return TensorFromProto(std::move(proto), max_bytes);
}

absl::StatusOr<Tensor> WireTensor::DecodeFixed(const Shape& shape, KeepAlive keep) const {
  const WireTensorField field = WireTensorFieldOf(dtype());
  const bool is_32 = field.kind == Kind::kFixed32;
  const WireType single = is_32 ? WireType::kFixed32 : WireType::kFixed64;
  const size_t unit = is_32 ? sizeof(uint32_t) : sizeof(uint64_t);
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * DTypeSize(dtype());

  // Common encoders put all values into one packed list.
  absl::string_view shared;
  Tensor tensor;
  size_t filled = 0;
  absl::Status status;
  ForEach(field.number, [&](uint32_t tag, WireReader& in) {
    WireReader values = in;
    if (WireTypeOf(tag) == WireType::kBytes) {
      in.ReadMessage(&values);
    } else {
      in.SkipField(tag, WireReader::kMaxDepth);
      if (WireTypeOf(tag) != single) return;
    }
    if (!status.ok() || !shared.empty()) return;
    const size_t given = WireTypeOf(tag) == WireType::kBytes ? values.size() : unit;
    if (!tensor.has_value()) {
      const absl::string_view piece = values.piece().substr(0, bytes);
      if (given >= bytes && piece.size() == bytes && MaySharePiece(dtype(), piece)) {
        shared = piece;
        return;
      }
      absl::StatusOr<Tensor> allocated = Tensor::Allocate(dtype(), shape);
      if (!allocated.ok()) {
        status = allocated.status();
        return;
      }
      tensor = *std::move(allocated);
    }
    const size_t taken = std::min(given, bytes - filled);
    values.CopyTo(tensor.mutable_raw() + filled, taken);
    filled += taken;
  });
  RETURN_IF_ERROR(status);
  if (!shared.empty()) return SharePiece(dtype(), shape, shared, keep);
  if (!tensor.has_value()) return Tensor::Zeros(dtype(), shape);
  FillRest(tensor, filled);
  return tensor;
}

void WireTensor::ReadVarints(Tensor& tensor) const {
  if (tensor.dtype() == DType::kBool) return ReadVarintsWith(StoreBool(), tensor);
  switch (DTypeSize(tensor.dtype())) {
    case 1:
      return ReadVarintsWith(StoreInteger<uint8_t>(), tensor);
    case 2:
      return ReadVarintsWith(StoreInteger<uint16_t>(), tensor);
    case 4:
      return ReadVarintsWith(StoreInteger<uint32_t>(), tensor);
    default:
      return ReadVarintsWith(StoreInteger<uint64_t>(), tensor);
  }
}

template <typename Store>
void WireTensor::ReadVarintsWith(Store store, Tensor& tensor) const {
  char* out = tensor.mutable_raw();
  const char* const end = out + tensor.size_bytes();
  ForEach(WireTensorFieldOf(tensor.dtype()).number, [&](uint32_t tag, WireReader& in) {
    uint64_t value;
    if (WireTypeOf(tag) == WireType::kBytes) {
      WireReader values;
      in.ReadMessage(&values);
      while (out < end && !values.AtEnd() && values.ReadVarint(&value)) out = store(value, out);
    } else if (WireTypeOf(tag) != WireType::kVarint) {
      in.SkipField(tag, WireReader::kMaxDepth);
    } else if (in.ReadVarint(&value) && out < end) {
      out = store(value, out);
    }
  });
  FillRest(tensor, static_cast<size_t>(out - tensor.mutable_raw()));
}

absl::StatusOr<Tensor> WireTensor::DecodeStrings(const Shape& shape, int64_t max_bytes) const {
  int64_t given = 0, last_size = 0;
  const auto for_each = [&](auto visit) {
    ForEach(WireTensorFieldOf(DType::kString).number, [&](uint32_t tag, WireReader& in) {
      WireReader value;
      if (WireTypeOf(tag) != WireType::kBytes) {
        in.SkipField(tag, WireReader::kMaxDepth);
      } else if (in.ReadMessage(&value)) {
        visit(value);
      }
    });
  };
  for_each([&](const WireReader& value) {
    ++given;
    last_size = static_cast<int64_t>(value.size());
  });
  // Repeating a value for a large shape may take more than `max_bytes`.
  const int64_t missing = std::max<int64_t>(0, shape.num_elements() - given);
  const int64_t repeated = MultiplyWithoutOverflow(missing, last_size);
  const int64_t own = shape.num_elements() * static_cast<int64_t>(sizeof(std::string));
  if (repeated < 0 || repeated > max_bytes - own) return DecodeMessage(max_bytes);

  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DType::kString, shape));
  const absl::Span<std::string> out = tensor.flat<std::string>();
  size_t filled = 0;
  for_each([&](const WireReader& value) {
    if (filled < out.size()) out[filled++] = value.ToString();
  });
  if (filled > 0) std::fill(out.begin() + filled, out.end(), out[filled - 1]);
  return tensor;
}

}  // namespace tessera::serving
