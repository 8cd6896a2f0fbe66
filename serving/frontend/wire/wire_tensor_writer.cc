#include "serving/frontend/wire/wire_tensor_writer.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/wire/wire_write.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace tessera::serving {
namespace {

using Kind = WireTensorField::Kind;

constexpr uint32_t kDimField = 2;
constexpr uint32_t kDimSizeField = 1;

uint64_t DimSize(int64_t dim) {
  // A zero field is not written.
  return dim == 0 ? 0 : 1 + VarintSize(static_cast<uint64_t>(dim));
}

// Calls visit(value) for each element in the form of the typed field of its dtype.
template <typename Stored, typename Visit>
void ForEachOf(const Tensor& tensor, Visit visit) {
  const char* const end = tensor.raw() + tensor.size_bytes();
  for (const char* p = tensor.raw(); p < end; p += sizeof(Stored)) {
    Stored value;
    std::memcpy(&value, p, sizeof(value));
    visit(static_cast<uint64_t>(value));
  }
}
template <typename Visit>
void ForEachInteger(const Tensor& tensor, Visit visit) {
  switch (tensor.dtype()) {
    case DType::kInt8:
    case DType::kQint8:
    case DType::kInt4:
    case DType::kInt2:
      return ForEachOf<int8_t>(tensor, visit);
    case DType::kUint8:
    case DType::kQuint8:
    case DType::kUint4:
    case DType::kUint2:
      return ForEachOf<uint8_t>(tensor, visit);
    case DType::kInt16:
    case DType::kQint16:
      return ForEachOf<int16_t>(tensor, visit);
    case DType::kInt32:
    case DType::kQint32:
      return ForEachOf<int32_t>(tensor, visit);
    case DType::kUint32:
      return ForEachOf<uint32_t>(tensor, visit);
    case DType::kInt64:
    case DType::kUint64:
      return ForEachOf<uint64_t>(tensor, visit);
    default:  // uint16, quint16, and the bits of half and bfloat16
      return ForEachOf<uint16_t>(tensor, visit);
  }
}

}  // namespace

absl::StatusOr<WireTensorWriter> WireTensorWriter::Create(Tensor tensor, TensorProtoForm form) {
  WireTensorWriter writer(std::move(tensor));
  const DType dtype = writer.tensor_.dtype();
  const WireTensorField field = WireTensorFieldOf(dtype);
  const bool has_elements = writer.tensor_.num_elements() > 0;
  if (!writer.tensor_.has_value() || field.kind == Kind::kMessage) {
    tensorflow::TensorProto proto;
    RETURN_IF_ERROR(TensorToProto(writer.tensor_, form, &proto));
    writer.values_ = Values::kMessage;
    writer.message_ = proto.SerializeAsString();
    writer.values_size_ = writer.message_.size();
    return writer;
  }
  writer.field_ = field.number;
  if (form == TensorProtoForm::kTensorContent && IsTriviallyCopyable(dtype)) {
    writer.field_ = kContentField;
    if (has_elements) writer.values_ = Values::kOwnBytes;
  } else if (writer.tensor_.num_elements() > std::numeric_limits<int>::max() / 2) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a tensor of shape ", writer.tensor_.shape().ToString(),
                     " has more elements than a TensorProto can list"));
  } else if (has_elements) {
    switch (field.kind) {
      case Kind::kVarint:
      case Kind::kNarrow:
        writer.values_ = Values::kVarints;
        break;
      case Kind::kString:
        writer.values_ = Values::kStrings;
        break;
      default:
        writer.values_ = Values::kOwnBytes;
    }
  }
  writer.Measure();
  return writer;
}

void WireTensorWriter::Measure() {
  for (const int64_t dim : tensor_.shape().dims()) {
    shape_size_ += BytesFieldSize(kDimField, DimSize(dim));
  }
  head_size_ = 1 + VarintSize(static_cast<uint64_t>(tensor_.dtype())) +
               BytesFieldSize(kShapeField, shape_size_);
  switch (values_) {
    case Values::kOwnBytes:
      values_size_ = tensor_.size_bytes();
      break;
    case Values::kVarints:
      ForEachInteger(tensor_, [&](uint64_t value) { values_size_ += VarintSize(value); });
      break;
    case Values::kStrings:
      // Each string has a tag of its own.
      for (const std::string& text : tensor_.flat<std::string>()) {
        values_size_ += BytesFieldSize(field_, text.size());
      }
      return;
    case Values::kNothing:
    case Values::kMessage:
      return;
  }
  head_size_ += BytesFieldSize(field_, values_size_) - values_size_;
}

char* WireTensorWriter::WriteHead(char* out) const {
  if (values_ == Values::kMessage) return out;
  out = WriteVarint(WireTag(kDtypeField, WireType::kVarint), out);
  out = WriteVarint(static_cast<uint64_t>(tensor_.dtype()), out);
  out = WriteBytesHead(kShapeField, shape_size_, out);
  for (const int64_t dim : tensor_.shape().dims()) {
    out = WriteBytesHead(kDimField, DimSize(dim), out);
    if (dim == 0) continue;
    out = WriteVarint(WireTag(kDimSizeField, WireType::kVarint), out);
    out = WriteVarint(static_cast<uint64_t>(dim), out);
  }
  if (values_ == Values::kOwnBytes || values_ == Values::kVarints) {
    out = WriteBytesHead(field_, values_size_, out);
  }
  return out;
}

char* WireTensorWriter::WriteValues(char* out) const {
  switch (values_) {
    case Values::kNothing:
      break;
    case Values::kOwnBytes:
      std::memcpy(out, tensor_.raw(), tensor_.size_bytes());
      out += tensor_.size_bytes();
      break;
    case Values::kVarints:
      ForEachInteger(tensor_, [&](uint64_t value) { out = WriteVarint(value, out); });
      break;
    case Values::kStrings:
      for (const std::string& text : tensor_.flat<std::string>()) {
        out = WriteBytesField(field_, text, out);
      }
      break;
    case Values::kMessage:
      std::memcpy(out, message_.data(), message_.size());
      out += message_.size();
      break;
  }
  return out;
}

}  // namespace tessera::serving
