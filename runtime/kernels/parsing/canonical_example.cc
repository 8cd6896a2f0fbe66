#include "runtime/kernels/parsing/canonical_example.h"

#include "tensorflow/core/example/example.pb.h"

namespace tessera {

absl::StatusOr<std::string> CanonicalSequenceExample(const std::string& serialized) {
  tensorflow::SequenceExample message;
  if (!message.ParseFromString(serialized)) {
    return absl::InvalidArgumentError(
        "Could not parse example input: the bytes are not a serialized "
        "tensorflow.SequenceExample");
  }
  message.DiscardUnknownFields();
  return message.SerializeAsString();
}

}  // namespace tessera
