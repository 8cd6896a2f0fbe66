#include "runtime/kernels/parsing/proto_fields.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format.h"
#include "google/protobuf/wire_format_lite.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormat;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

bool IsText(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

uint64_t Extended(int32_t value) { return static_cast<uint64_t>(int64_t{value}); }

// What a varint of 64 bits means in a field of this type.
uint64_t OfVarint(FieldDescriptor::Type type, bool is_packed, uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  switch (type) {
    case FieldDescriptor::TYPE_INT32:
      return is_packed ? low : Extended(static_cast<int32_t>(low));
    case FieldDescriptor::TYPE_ENUM:
      return Extended(static_cast<int32_t>(low));
    case FieldDescriptor::TYPE_UINT32:
      return low;
    case FieldDescriptor::TYPE_SINT32:
      return Extended(WireFormatLite::ZigZagDecode32(low));
    case FieldDescriptor::TYPE_SINT64:
      return static_cast<uint64_t>(WireFormatLite::ZigZagDecode64(bits));
    case FieldDescriptor::TYPE_BOOL:
      return bits != 0;
    default:
      return bits;
  }
}

// Reads a number without its tag. Returns false at the end of `in`.
bool ReadNumber(const FieldDescriptor& field, bool is_packed, CodedInputStream* in,
                uint64_t* number) {
  switch (WireFormat::WireTypeForFieldType(field.type())) {
    case WireFormatLite::WIRETYPE_FIXED64:
      return in->ReadLittleEndian64(number);
    case WireFormatLite::WIRETYPE_FIXED32: {
      uint32_t bits = 0;
      const bool read = in->ReadLittleEndian32(&bits);
      *number = field.type() == FieldDescriptor::TYPE_SFIXED32
                    ? Extended(static_cast<int32_t>(bits))
                    : bits;
      return read;
    }
    default: {
      uint64_t bits = 0;
      const bool read = in->ReadVarint64(&bits);
      *number = OfVarint(field.type(), is_packed, bits);
      return read;
    }
  }
}

// Reads the numbers of a packed field behind its tag.
absl::Status ReadPacked(const FieldDescriptor& field, CodedInputStream* in,
                        std::vector<uint64_t>* numbers) {
  uint32_t size = 0;
  if (!in->ReadVarint32(&size)) {
    return absl::DataLossError("CollectField: Failed reading packed size");
  }
  if (size > static_cast<uint32_t>(std::max(in->BytesUntilLimit(), 0))) {
    return absl::DataLossError("ReadPackedValues: Skipping packed field failed");
  }
  if (!field.is_repeated()) {
    // No field that is not repeated can be packed: TensorFlow counts it, without its value.
    if (!numbers->empty()) {
      return absl::DataLossError(
          absl::StrCat("ReadPackedValues: Tried to write more entries than allowed.  Field tag: ",
                       field.number(), ", Max entries allowed: 1"));
    }
    if (size > 0) numbers->push_back(DefaultNumber(field));
    in->Skip(static_cast<int>(size));
    return absl::OkStatus();
  }
  const auto wire_type = WireFormat::WireTypeForFieldType(field.type());
  const uint32_t width = wire_type == WireFormatLite::WIRETYPE_FIXED64   ? 8
                         : wire_type == WireFormatLite::WIRETYPE_FIXED32 ? 4
                                                                         : 1;
  if (size % width != 0) {
    return absl::DataLossError(
        absl::StrCat("Illegal data length for packed fixed-size type: ", size));
  }
  const auto limit = in->PushLimit(static_cast<int>(size));
  uint64_t number = 0;
  while (in->BytesUntilLimit() > 0) {
    if (!ReadNumber(field, /*is_packed=*/true, in, &number)) {
      return absl::DataLossError("Corrupt packed varint");
    }
    numbers->push_back(number);
  }
  in->PopLimit(limit);
  return absl::OkStatus();
}

}  // namespace

uint64_t DefaultNumber(const FieldDescriptor& field) {
  if (field.is_repeated()) return 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return std::bit_cast<uint64_t>(field.default_value_double());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return std::bit_cast<uint32_t>(field.default_value_float());
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<uint64_t>(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT64:
      return field.default_value_uint64();
    case FieldDescriptor::CPPTYPE_INT32:
      return Extended(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_UINT32:
      return field.default_value_uint32();
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool();
    case FieldDescriptor::CPPTYPE_ENUM:
      return Extended(field.default_value_enum()->number());
    default:
      return 0;
  }
}

ProtoFieldScanner::ProtoFieldScanner(std::vector<const FieldDescriptor*> fields)
    : fields_(std::move(fields)) {
  for (size_t i = 0; i < fields_.size(); ++i) {
    places_.try_emplace(fields_[i]->number(), static_cast<int>(i));
  }
}

absl::Status ProtoFieldScanner::Scan(absl::string_view message,
                                     absl::Span<ProtoFieldValues> values) const {
  if (message.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::DataLossError("A serialised message may not have 2 GiB or more");
  }
  CodedInputStream in(reinterpret_cast<const uint8_t*>(message.data()),
                      static_cast<int>(message.size()));
  in.PushLimit(static_cast<int>(message.size()));
  while (true) {
    const int start = in.CurrentPosition();
    const uint32_t tag = in.ReadTag();
    if (tag == 0) break;
    const auto place = places_.find(WireFormatLite::GetTagFieldNumber(tag));
    if (place == places_.end()) {
      if (WireFormatLite::SkipField(&in, tag)) continue;
      return absl::DataLossError("Failed skipping unrequested field");
    }
    const FieldDescriptor& field = *fields_[place->second];
    ProtoFieldValues& found = values[place->second];
    const auto wire_type = WireFormatLite::GetTagWireType(tag);
    if (wire_type == WireFormat::WireTypeForFieldType(field.type())) {
      int text = start;  // where the value begins, if it is text
      uint64_t number = 0;
      bool read = false;
      if (wire_type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
        uint32_t size = 0;
        read = in.ReadVarint32(&size) && size <= message.size() - in.CurrentPosition();
        text = in.CurrentPosition();
        read = read && in.Skip(static_cast<int>(size));
      } else {
        read = IsText(field) ? WireFormatLite::SkipField(&in, tag)
                             : ReadNumber(field, /*is_packed=*/false, &in, &number);
      }
      if (!read) return absl::DataLossError("ReadValue: Failed skipping field when counting");
      if (IsText(field)) {
        found.texts.push_back(message.substr(text, in.CurrentPosition() - text));
      } else {
        found.numbers.push_back(number);
      }
    } else if (wire_type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (IsText(field)) return absl::DataLossError("TYPE_GROUP encountered as packed");
      RETURN_IF_ERROR(ReadPacked(field, &in, &found.numbers));
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return absl::DataLossError("CollectField: Failed skipping malformed field");
    }
  }
  if (in.ConsumedEntireMessage()) return absl::OkStatus();
  return absl::DataLossError("CountFields: Failed to consume entire buffer");
}

}  // namespace tessera
