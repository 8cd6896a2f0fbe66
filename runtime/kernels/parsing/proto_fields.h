// Values of fields in serialised protocol buffers, found on the wire without parsing the message.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"

namespace tessera {

// The values that a message has of one field, in the order of the message; of a field that is not
// repeated the last one counts.
struct ProtoFieldValues {
  // The values of a field of numbers: integers extended to 64 bits, or the bits of a float or
  // double. A packed int32 is extended with zeros, as TensorFlow reads it, and any other int32 with
  // its sign.
  std::vector<uint64_t> numbers;
  // The values of a field of strings or messages: parts of the message that was scanned. A group
  // has its tags.
  std::vector<absl::string_view> texts;
};

// Returns the default of a field of numbers in the form of ProtoFieldValues::numbers; 0 for a field
// of repeated numbers.
uint64_t DefaultNumber(const google::protobuf::FieldDescriptor& field);

// Finds the values of given fields. Messages within are not looked into, strings need not be UTF-8,
// and of two members of a oneof both are found. Immutable, and thread-safe.
// Source: https://protobuf.dev/programming-guides/encoding
class ProtoFieldScanner {
 public:
  // The descriptors must outlive the scanner. Of a field that is asked for twice, the first entry
  // gets the values.
  explicit ProtoFieldScanner(std::vector<const google::protobuf::FieldDescriptor*> fields);

  // Appends the values that `message` has of field i to (*values)[i]. A field that has another wire
  // type than declared is passed over. Errors: DATA_LOSS where the message ends early, or
  // something in it is no field.
  absl::Status Scan(absl::string_view message, absl::Span<ProtoFieldValues> values) const;

 private:
  const std::vector<const google::protobuf::FieldDescriptor*> fields_;
  absl::flat_hash_map<int, int> places_;  // number of a field: its place in fields_
};

}  // namespace tessera
