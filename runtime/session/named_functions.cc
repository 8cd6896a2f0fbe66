#include "runtime/session/named_functions.h"

#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tessera {

void AppendNamedFunctions(const tensorflow::NodeDef& node, std::vector<absl::string_view>* names) {
  std::vector<const tensorflow::AttrValue*> open;
  for (const auto& [name, value] : node.attr()) open.push_back(&value);
  const auto add = [&](const tensorflow::NameAttrList& function) {
    names->push_back(function.name());
    for (const auto& [name, value] : function.attr()) open.push_back(&value);
  };
  while (!open.empty()) {
    const tensorflow::AttrValue& value = *open.back();
    open.pop_back();
    if (value.has_func()) add(value.func());
    for (const tensorflow::NameAttrList& function : value.list().func()) add(function);
  }
}

}  // namespace tessera
