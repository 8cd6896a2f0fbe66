// EncodeProto: serialised protocol buffers of fields that come as tensors.
#include <algorithm>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/parsing/proto_type.h"

namespace tessera {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// Element i of a tensor whose dtype fits an integer field, as 64 bits.
uint64_t IntegerAt(const Tensor& values, int64_t i) {
  switch (values.dtype()) {
    case DType::kInt64:
      return static_cast<uint64_t>(values.data<int64_t>()[i]);
    case DType::kUint64:
      return values.data<uint64_t>()[i];
    case DType::kInt32:
      return static_cast<uint64_t>(int64_t{values.data<int32_t>()[i]});
    case DType::kUint32:
      return values.data<uint32_t>()[i];
    default:
      return values.data<bool>()[i] ? 1 : 0;
  }
}

double RealAt(const Tensor& values, int64_t i) {
  return values.dtype() == DType::kDouble ? values.data<double>()[i]
                                          : static_cast<double>(values.data<float>()[i]);
}

// Writes a value without its tag. Strings and messages have their length before them, but for
// groups.
void WriteValue(const FieldDescriptor& field, const Tensor& values, int64_t i,
                CodedOutputStream* out) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      return WireFormatLite::WriteDoubleNoTag(RealAt(values, i), out);
    case FieldDescriptor::TYPE_FLOAT:
      return WireFormatLite::WriteFloatNoTag(static_cast<float>(RealAt(values, i)), out);
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
      return out->WriteLittleEndian64(IntegerAt(values, i));
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
      return out->WriteLittleEndian32(static_cast<uint32_t>(IntegerAt(values, i)));
    case FieldDescriptor::TYPE_SINT64:
      return out->WriteVarint64(
          WireFormatLite::ZigZagEncode64(static_cast<int64_t>(IntegerAt(values, i))));
    case FieldDescriptor::TYPE_SINT32:
      return out->WriteVarint32(
          WireFormatLite::ZigZagEncode32(static_cast<int32_t>(IntegerAt(values, i))));
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
    case FieldDescriptor::TYPE_MESSAGE:
    case FieldDescriptor::TYPE_GROUP: {
      const std::string& bytes = values.data<std::string>()[i];
      if (field.type() != FieldDescriptor::TYPE_GROUP) {
        out->WriteVarint32(static_cast<uint32_t>(bytes.size()));
      }
      return out->WriteRaw(bytes.data(), static_cast<int>(bytes.size()));
    }
    default:
      return out->WriteVarint64(IntegerAt(values, i));
  }
}

// Writes the first `count` of the values from `begin` on.
void WriteField(const FieldDescriptor& field, const Tensor& values, int64_t begin, int64_t count,
                CodedOutputStream* out) {
  if (field.is_packed()) {
    std::string packed;
    {
      google::protobuf::io::StringOutputStream stream(&packed);
      CodedOutputStream inner(&stream);
      for (int64_t i = 0; i < count; ++i) WriteValue(field, values, begin + i, &inner);
    }
    if (count == 0) return;
    out->WriteTag(
        WireFormatLite::MakeTag(field.number(), WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    out->WriteVarint32(static_cast<uint32_t>(packed.size()));
    return out->WriteRaw(packed.data(), static_cast<int>(packed.size()));
  }
  const auto type = static_cast<WireFormatLite::FieldType>(field.type());
  for (int64_t i = 0; i < count; ++i) {
    out->WriteTag(
        WireFormatLite::MakeTag(field.number(), WireFormatLite::WireTypeForFieldType(type)));
    WriteValue(field, values, begin + i, out);
    if (field.type() == FieldDescriptor::TYPE_GROUP) {
      out->WriteTag(WireFormatLite::MakeTag(field.number(), WireFormatLite::WIRETYPE_END_GROUP));
    }
  }
}

// Inputs: how many values each field of each message has, [..., fields], and the values of each
// field, [..., most values]. Output: the messages, with fields in the order of their numbers.
// Errors: INVALID_ARGUMENT for shapes and dtypes that do not fit.
class EncodeProtoKernel : public OpKernel {
 public:
  explicit EncodeProtoKernel(const KernelBuild& build) { build.Fail(FindFields(build)); }

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckShapes(ctx));
    const Tensor& sizes = ctx.input(0);
    Shape shape;
    for (int d = 0; d + 1 < sizes.rank(); ++d) shape.AddDim(sizes.dim(d));
    const auto num_fields = static_cast<int64_t>(fields_.size());
    ASSIGN_OR_RETURN(Tensor* const messages, ctx.AllocateOutput(0, shape));
    for (int64_t m = 0; m < messages->num_elements(); ++m) {
      google::protobuf::io::StringOutputStream stream(&messages->data<std::string>()[m]);
      CodedOutputStream out(&stream);
      for (const int f : by_number_) {
        const Tensor& values = ctx.input(1 + f);
        const int64_t most = values.dim(values.rank() - 1);
        const int64_t count = sizes.data<int32_t>()[m * num_fields + f];
        if (count > most || count < 0) {
          return absl::InvalidArgumentError(absl::StrCat(
              "the number of values to write must be from 0 to ", most, ", the size of the value ",
              "tensor, but is ", count, " at message ", m, " field ", f));
        }
        WriteField(*fields_[f], values, m * most, count, &out);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status FindFields(const KernelBuild& build) {
    const auto names = build.attr<std::vector<std::string>>("field_names");
    if (static_cast<int>(names.size()) != build.num_inputs() - 1) {
      return absl::InvalidArgumentError("there must be a value tensor for each field name");
    }
    ASSIGN_OR_RETURN(type_, ProtoType::Load(build.attr<std::string>("descriptor_source"),
                                            build.attr<std::string>("message_type")));
    ASSIGN_OR_RETURN(fields_, type_->Fields(names));
    for (size_t f = 0; f < fields_.size(); ++f) {
      const DType dtype = build.input_types()[f + 1];
      if (IsCompatible(*fields_[f], dtype)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Incompatible type for field ", names[f], ".  Saw dtype: ", DTypeName(dtype),
                       " but field type is: ", fields_[f]->type_name()));
    }
    by_number_.resize(fields_.size());
    std::iota(by_number_.begin(), by_number_.end(), 0);
    std::stable_sort(by_number_.begin(), by_number_.end(),
                     [&](int a, int b) { return fields_[a]->number() < fields_[b]->number(); });
    return absl::OkStatus();
  }

  absl::Status CheckShapes(const KernelContext& ctx) const {
    const Tensor& sizes = ctx.input(0);
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      const Tensor& values = ctx.input(i);
      bool fits = values.rank() >= 2 && values.rank() == sizes.rank() &&
                  sizes.dim(sizes.rank() - 1) == static_cast<int64_t>(fields_.size());
      for (int d = 0; fits && d + 1 < sizes.rank(); ++d) fits = values.dim(d) == sizes.dim(d);
      if (fits) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("sizes must be [..., ", fields_.size(),
                       "] and values [..., n], of at least two ", "dimensions, they have shapes ",
                       sizes.shape().ToString(), " and ", values.shape().ToString()));
    }
    return absl::OkStatus();
  }

  std::unique_ptr<ProtoType> type_;
  std::vector<const FieldDescriptor*> fields_;
  std::vector<int> by_number_;
};
REGISTER_KERNEL("EncodeProto", kCpu, EncodeProtoKernel);

}  // namespace
}  // namespace tessera
