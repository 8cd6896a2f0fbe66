// AttrValue <-> tensorflow.AttrValue: the only place that converts them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/map.h"
#include "runtime/framework/attr_value.h"

namespace tensorflow {
class AttrValue;
}  // namespace tensorflow

namespace tessera {

// Of functions within the attributes of functions; real graphs nest two or three.
inline constexpr int kMaxFunctionNesting = 32;

// An empty proto gives an empty AttrValue. Tensors above 2 GiB are refused: a graph cannot hold
// them but as repetitions of one value.
// Errors: INVALID_ARGUMENT; RESOURCE_EXHAUSTED.
absl::StatusOr<AttrValue> AttrValueFromProto(const tensorflow::AttrValue& proto);
// Overwrites *proto. A tensor that has no serialised form (variants of the runtime's own) becomes
// one of its dtype and shape without a value.
void AttrValueToProto(const AttrValue& value, tensorflow::AttrValue* proto);

// A whole map of attributes. Errors: those of AttrValueFromProto(), naming the attribute.
using AttrMapProto = google::protobuf::Map<std::string, tensorflow::AttrValue>;
absl::StatusOr<AttrMap> AttrMapFromProto(const AttrMapProto& proto);
void AttrMapToProto(const AttrMap& attrs, AttrMapProto* proto);

}  // namespace tessera
