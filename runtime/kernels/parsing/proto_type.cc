#include "runtime/kernels/parsing/proto_type.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/api.pb.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/field_mask.pb.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/wrappers.pb.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

absl::StatusOr<std::unique_ptr<DescriptorPool>> MakePool(const std::string& source) {
  absl::string_view bytes = source;
  std::string file;
  if (!absl::ConsumePrefix(&bytes, "bytes://")) {
    ASSIGN_OR_RETURN(file, ReadFile(source));
    bytes = file;
  }
  google::protobuf::FileDescriptorSet set;
  if (!set.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("descriptor_source holds no FileDescriptorSet");
  }
  auto pool = std::make_unique<DescriptorPool>();
  for (const auto& each : set.file()) {
    if (pool->BuildFile(each) != nullptr) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("descriptor_source has a file that cannot be built: ", each.name()));
  }
  return pool;
}

// Returns the types that this program knows. The well-known ones are linked into it by being named;
// those of api.proto bring the ones of type.proto, any.proto and source_context.proto.
const DescriptorPool* KnownTypes() {
  for (const google::protobuf::Message* known :
       std::initializer_list<const google::protobuf::Message*>{
           &google::protobuf::Api::default_instance(),
           &google::protobuf::Duration::default_instance(),
           &google::protobuf::Empty::default_instance(),
           &google::protobuf::FieldMask::default_instance(),
           &google::protobuf::Struct::default_instance(),
           &google::protobuf::Timestamp::default_instance(),
           &google::protobuf::Int32Value::default_instance()}) {
    known->GetDescriptor();
  }
  return DescriptorPool::generated_pool();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProtoType>> ProtoType::Load(const std::string& source,
                                                           const std::string& message_type) {
  auto type = std::make_unique<ProtoType>();
  const DescriptorPool* pool = KnownTypes();
  if (!source.empty() && source != "local://") {
    ASSIGN_OR_RETURN(type->pool_, MakePool(source));
    pool = type->pool_.get();
  }
  type->descriptor_ = pool->FindMessageTypeByName(message_type);
  if (type->descriptor_ != nullptr) return type;
  return absl::InvalidArgumentError(
      absl::StrCat("No descriptor found for message type ", message_type));
}

absl::StatusOr<std::vector<const FieldDescriptor*>> ProtoType::Fields(
    const std::vector<std::string>& names) const {
  std::vector<const FieldDescriptor*> fields;
  for (const std::string& name : names) {
    fields.push_back(descriptor_->FindFieldByName(name));
    if (fields.back() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("Unknown field: ", name, " in message type ", descriptor_->full_name()));
    }
  }
  return fields;
}

std::unique_ptr<google::protobuf::Message> ProtoType::NewMessage() const {
  return std::unique_ptr<google::protobuf::Message>(factory_.GetPrototype(descriptor_)->New());
}

bool IsCompatible(const FieldDescriptor& field, DType dtype) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return dtype == DType::kDouble;
    case FieldDescriptor::CPPTYPE_FLOAT:
      return dtype == DType::kFloat || dtype == DType::kDouble;
    case FieldDescriptor::CPPTYPE_INT64:
      return dtype == DType::kInt64;
    case FieldDescriptor::CPPTYPE_UINT64:
      return dtype == DType::kUint64;
    case FieldDescriptor::CPPTYPE_INT32:
      return dtype == DType::kInt32 || dtype == DType::kInt64;
    case FieldDescriptor::CPPTYPE_UINT32:
      return dtype == DType::kUint32 || dtype == DType::kUint64;
    case FieldDescriptor::CPPTYPE_BOOL:
      return dtype == DType::kBool;
    case FieldDescriptor::CPPTYPE_ENUM:
      return dtype == DType::kInt32;
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return dtype == DType::kString;
  }
  return false;
}

}  // namespace tessera
