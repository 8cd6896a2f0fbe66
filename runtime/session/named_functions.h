// Finds the functions that a NodeDef names.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"

namespace tensorflow {
class NodeDef;
}  // namespace tensorflow

namespace tessera {

// Appends the names of all functions in the attributes of `node`, those given to functions as
// attributes included. The names view the node.
void AppendNamedFunctions(const tensorflow::NodeDef& node, std::vector<absl::string_view>* names);

}  // namespace tessera
