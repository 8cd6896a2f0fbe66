// Converts between AttrValue and tensorflow.AttrValue. No other file does.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/map.h"
#include "runtime/framework/attr_value.h"

namespace tensorflow {
class AttrValue;
}  // namespace tensorflow

namespace tessera {

// Limit on how deeply functions nest in the attributes of functions. Real graphs nest two or three.
inline constexpr int kMaxFunctionNesting = 32;

// An empty proto gives an empty AttrValue. Tensors larger than 2 GiB are refused; a proto can only
// hold such a tensor as repetitions of one value.
// Errors: INVALID_ARGUMENT; RESOURCE_EXHAUSTED.
absl::StatusOr<AttrValue> AttrValueFromProto(const tensorflow::AttrValue& proto);
// Overwrites *proto. A tensor without a serialised form, which holds variants of the runtime,
// becomes a tensor proto with its dtype and shape and without a value.
void AttrValueToProto(const AttrValue& value, tensorflow::AttrValue* proto);

// Converts a whole map of attributes. Errors: those of AttrValueFromProto(), with the name of the
// attribute.
using AttrMapProto = google::protobuf::Map<std::string, tensorflow::AttrValue>;
absl::StatusOr<AttrMap> AttrMapFromProto(const AttrMapProto& proto);
void AttrMapToProto(const AttrMap& attrs, AttrMapProto* proto);

}  // namespace tessera
