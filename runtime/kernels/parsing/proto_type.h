// Message types of protocol buffers that a graph names, and their fields as tensors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/dynamic_message.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// A message type with the descriptors that it depends on. Immutable, and thread-safe.
class ProtoType {
 public:
  // `source` says where the type is declared: "local://" or nothing means among the types that this
  // program knows, "bytes://..." is followed by a serialised FileDescriptorSet, and anything else
  // is a file with one. Errors: INVALID_ARGUMENT for an unknown type or descriptors that cannot be
  // read; those of reading the file.
  static absl::StatusOr<std::unique_ptr<ProtoType>> Load(const std::string& source,
                                                         const std::string& message_type);

  // Returns the field of each name. Errors: INVALID_ARGUMENT for a name that is none.
  absl::StatusOr<std::vector<const google::protobuf::FieldDescriptor*>> Fields(
      const std::vector<std::string>& names) const;
  // Returns an empty message, which this object must outlive.
  std::unique_ptr<google::protobuf::Message> NewMessage() const;

 private:
  std::unique_ptr<google::protobuf::DescriptorPool> pool_;  // null: the types of this program
  mutable google::protobuf::DynamicMessageFactory factory_;
  const google::protobuf::Descriptor* descriptor_ = nullptr;
};

// Returns whether the values of a field may be elements of `dtype`: of the field's own type, or of
// a wider one of the same kind. Messages are strings.
bool IsCompatible(const google::protobuf::FieldDescriptor& field, DType dtype);

}  // namespace tessera
