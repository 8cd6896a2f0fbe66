// DecodeProtoV2: fields of serialised protocol buffers as tensors.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/parsing/proto_type.h"

namespace tessera {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Keeps the parser of text from printing what is wrong.
class SilentCollector : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
};

int CountOf(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return reflection.FieldSize(message, &field);
  return reflection.HasField(message, &field) ? 1 : 0;
}

// Element i of a repeated field, or the value of another one; its default if it is not there.
template <typename T>
T NumberOf(const Message& message, const FieldDescriptor& field, int i) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
#define TESSERA_NUMBER(kind, Type)                                                    \
  case FieldDescriptor::CPPTYPE_##kind:                                               \
    return static_cast<T>(repeated ? reflection.GetRepeated##Type(message, &field, i) \
                                   : reflection.Get##Type(message, &field))
  switch (field.cpp_type()) {
    TESSERA_NUMBER(DOUBLE, Double);
    TESSERA_NUMBER(FLOAT, Float);
    TESSERA_NUMBER(INT64, Int64);
    TESSERA_NUMBER(UINT64, UInt64);
    TESSERA_NUMBER(INT32, Int32);
    TESSERA_NUMBER(UINT32, UInt32);
    TESSERA_NUMBER(BOOL, Bool);
    TESSERA_NUMBER(ENUM, EnumValue);
    default:
      return T();
  }
#undef TESSERA_NUMBER
}

std::string StringOf(const Message& message, const FieldDescriptor& field, int i) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return (field.is_repeated() ? reflection.GetRepeatedMessage(message, &field, i)
                                : reflection.GetMessage(message, &field))
        .SerializeAsString();
  }
  return field.is_repeated() ? reflection.GetRepeatedString(message, &field, i)
                             : reflection.GetString(message, &field);
}

// Calls visit.template operator()<T>() with the type of the elements of a decoded field.
template <typename Visitor>
void VisitNumber(DType dtype, Visitor visit) {
  switch (dtype) {
    case DType::kDouble:
      return visit.template operator()<double>();
    case DType::kFloat:
      return visit.template operator()<float>();
    case DType::kInt64:
      return visit.template operator()<int64_t>();
    case DType::kUint64:
      return visit.template operator()<uint64_t>();
    case DType::kInt32:
      return visit.template operator()<int32_t>();
    case DType::kUint32:
      return visit.template operator()<uint32_t>();
    default:
      return visit.template operator()<bool>();
  }
}

// Input: serialised messages of any shape. Outputs: how many values each field of each message has,
// [..., fields], and a tensor [..., most values] for each field, filled up with the field's
// default. Errors: INVALID_ARGUMENT without messages; DATA_LOSS for one that cannot be parsed.
class DecodeProtoKernel : public OpKernel {
 public:
  explicit DecodeProtoKernel(const KernelBuild& build)
      : is_text_(build.attr<std::string>("message_format") == "text"),
        types_(build.attr<std::vector<DType>>("output_types")) {
    if (!is_text_ && build.attr<std::string>("message_format") != "binary") {
      build.Fail(absl::InvalidArgumentError("format must be one of binary or text"));
    }
    build.Fail(FindFields(build));
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& bytes = ctx.input(0);
    if (bytes.num_elements() == 0) {
      return absl::InvalidArgumentError("Bufs argument must contain at least one value");
    }
    std::vector<std::unique_ptr<Message>> messages;
    for (const std::string& text : bytes.flat<std::string>()) {
      messages.push_back(type_->NewMessage());
      RETURN_IF_ERROR(Parse(text, messages.back().get()));
    }
    const auto num_fields = static_cast<int64_t>(fields_.size());
    Shape shape = bytes.shape();
    shape.AddDim(num_fields);
    ASSIGN_OR_RETURN(Tensor* const sizes, ctx.AllocateOutput(0, shape));
    for (int f = 0; f < num_fields; ++f) {
      int64_t most = 1;
      for (size_t m = 0; m < messages.size(); ++m) {
        const int count = CountOf(*messages[m], *fields_[f]);
        sizes->data<int32_t>()[m * num_fields + f] = count;
        most = std::max<int64_t>(most, count);
      }
      shape.SetDim(shape.rank() - 1, most);
      ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(1 + f, shape));
      FillField(messages, *fields_[f], most, values);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status FindFields(const KernelBuild& build) {
    const auto names = build.attr<std::vector<std::string>>("field_names");
    if (names.size() != types_.size()) {
      return absl::InvalidArgumentError(
          "field_names and output_types attributes must have the same length");
    }
    ASSIGN_OR_RETURN(type_, ProtoType::Load(build.attr<std::string>("descriptor_source"),
                                            build.attr<std::string>("message_type")));
    ASSIGN_OR_RETURN(fields_, type_->Fields(names));
    for (size_t f = 0; f < fields_.size(); ++f) {
      if (IsCompatible(*fields_[f], types_[f])) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Unexpected output type for ", fields_[f]->full_name(), ": ",
                       fields_[f]->type_name(), " to ", DTypeName(types_[f])));
    }
    return absl::OkStatus();
  }

  absl::Status Parse(const std::string& bytes, Message* message) const {
    if (!is_text_) {
      if (message->ParsePartialFromString(bytes)) return absl::OkStatus();
      return absl::DataLossError("Unable to parse binary protobuf");
    }
    SilentCollector errors;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&errors);
    parser.AllowPartialMessage(true);
    if (parser.ParseFromString(bytes, message)) return absl::OkStatus();
    return absl::DataLossError("Unable to parse text protobuf");
  }

  void FillField(const std::vector<std::unique_ptr<Message>>& messages,
                 const FieldDescriptor& field, int64_t most, Tensor* values) const {
    const std::unique_ptr<Message> empty = type_->NewMessage();
    const auto fill = [&](auto* to, auto value_of) {
      for (const auto& message : messages) {
        const int64_t count = CountOf(*message, field);
        for (int64_t i = 0; i < most; ++i) {
          if (i < count) {
            *to++ = value_of(*message, static_cast<int>(i));
          } else if (!field.is_repeated()) {
            *to++ = value_of(*empty, 0);
          } else {
            *to++ = {};
          }
        }
      }
    };
    if (values->dtype() == DType::kString) {
      fill(values->data<std::string>(),
           [&](const Message& message, int i) { return StringOf(message, field, i); });
      return;
    }
    VisitNumber(values->dtype(), [&]<typename T>() {
      fill(values->data<T>(),
           [&](const Message& message, int i) { return NumberOf<T>(message, field, i); });
    });
  }

  const bool is_text_;
  const std::vector<DType> types_;
  std::unique_ptr<ProtoType> type_;
  std::vector<const FieldDescriptor*> fields_;
};
REGISTER_KERNEL("DecodeProtoV2", kCpu, DecodeProtoKernel);

}  // namespace
}  // namespace tessera
