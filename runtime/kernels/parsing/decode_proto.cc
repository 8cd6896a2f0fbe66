// DecodeProtoV2: fields of serialised protocol buffers as tensors.
#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/parsing/proto_fields.h"
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

// How many values a field counts for.
int64_t CountOf(const ProtoFieldValues& values, const FieldDescriptor& field) {
  const size_t found = std::max(values.numbers.size(), values.texts.size());
  return static_cast<int64_t>(field.is_repeated() ? found : std::min<size_t>(found, 1));
}

template <typename T>
T NumberOf(const FieldDescriptor& field, uint64_t bits) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    return static_cast<T>(std::bit_cast<double>(bits));
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) {
    return static_cast<T>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return static_cast<T>(bits);
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
// default. Only text, and what is to be sanitised, is parsed as a whole. Errors: INVALID_ARGUMENT
// without messages; DATA_LOSS for one that cannot be read.
class DecodeProtoKernel : public OpKernel {
 public:
  explicit DecodeProtoKernel(const KernelBuild& build)
      : is_text_(build.attr<std::string>("message_format") == "text"),
        is_sanitised_(build.attr<bool>("sanitize")),
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
    const auto num_fields = static_cast<int64_t>(fields_.size());
    const int64_t num_messages = bytes.num_elements();
    std::vector<std::string> written(is_text_ || is_sanitised_ ? num_messages : 0);
    std::vector<ProtoFieldValues> found(num_messages * num_fields);
    for (int64_t m = 0; m < num_messages; ++m) {
      absl::string_view message = bytes.data<std::string>()[m];
      if (!written.empty()) {
        ASSIGN_OR_RETURN(written[m], Parsed(bytes.data<std::string>()[m]));
        message = written[m];
      }
      RETURN_IF_ERROR(
          scanner_->Scan(message, absl::MakeSpan(found).subspan(m * num_fields, num_fields)));
    }
    Shape shape = bytes.shape();
    shape.AddDim(num_fields);
    ASSIGN_OR_RETURN(Tensor* const sizes, ctx.AllocateOutput(0, shape));
    for (int64_t f = 0; f < num_fields; ++f) {
      int64_t most = 1;
      for (int64_t m = 0; m < num_messages; ++m) {
        const int64_t count = CountOf(found[m * num_fields + f], *fields_[f]);
        sizes->data<int32_t>()[m * num_fields + f] = static_cast<int32_t>(count);
        most = std::max(most, count);
      }
      shape.SetDim(shape.rank() - 1, most);
      ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(1 + f, shape));
      FillField(found, f, most, values);
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
    scanner_.emplace(fields_);
    for (size_t f = 0; f < fields_.size(); ++f) {
      if (IsCompatible(*fields_[f], types_[f])) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Unexpected output type for ", fields_[f]->full_name(), ": ",
                       fields_[f]->type_name(), " to ", DTypeName(types_[f])));
    }
    return absl::OkStatus();
  }

  // Parses a message and returns it serialised.
  absl::StatusOr<std::string> Parsed(const std::string& bytes) const {
    const std::unique_ptr<Message> message = type_->NewMessage();
    if (is_text_) {
      SilentCollector errors;
      google::protobuf::TextFormat::Parser parser;
      parser.RecordErrorsTo(&errors);
      if (!parser.ParseFromString(bytes, message.get())) {
        return absl::DataLossError("Unable to parse text protobuf");
      }
    } else if (!message->ParsePartialFromString(bytes) || !message->IsInitialized()) {
      return absl::DataLossError("Unable to parse binary protobuf");
    }
    return message->SerializeAsString();
  }

  void FillField(const std::vector<ProtoFieldValues>& found, size_t f, int64_t most,
                 Tensor* values) const {
    const FieldDescriptor& field = *fields_[f];
    // Calls write(i, values, j) for element i of the output, which is value j of a message, or with
    // j = -1 where that has no more.
    const auto fill = [&](auto write) {
      int64_t i = 0;
      for (size_t m = f; m < found.size(); m += fields_.size()) {
        const int64_t count = CountOf(found[m], field);
        const auto last =
            static_cast<int64_t>(std::max(found[m].numbers.size(), found[m].texts.size()) - 1);
        for (int64_t j = 0; j < most; ++j, ++i) {
          write(i, found[m], j >= count ? -1 : field.is_repeated() ? j : last);
        }
      }
    };
    if (values->dtype() == DType::kString) {
      const bool has_default = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      fill([&](int64_t i, const ProtoFieldValues& of, int64_t j) {
        std::string& to = values->data<std::string>()[i];
        if (j >= 0) {
          to = std::string(of.texts[j]);
        } else if (has_default) {
          to = field.default_value_string();
        }
      });
      return;
    }
    VisitNumber(values->dtype(), [&]<typename T>() {
      const T missing = NumberOf<T>(field, DefaultNumber(field));
      fill([&](int64_t i, const ProtoFieldValues& of, int64_t j) {
        values->data<T>()[i] = j < 0 ? missing : NumberOf<T>(field, of.numbers[j]);
      });
    });
  }

  const bool is_text_;
  const bool is_sanitised_;
  const std::vector<DType> types_;
  std::unique_ptr<ProtoType> type_;
  std::vector<const FieldDescriptor*> fields_;
  std::optional<ProtoFieldScanner> scanner_;
};
REGISTER_KERNEL("DecodeProtoV2", kCpu, DecodeProtoKernel);

}  // namespace
}  // namespace tessera
