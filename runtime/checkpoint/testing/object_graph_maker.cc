#include "runtime/checkpoint/testing/object_graph_maker.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tensorflow/core/protobuf/trackable_object_graph.pb.h"

namespace tessera {

absl::StatusOr<std::string> MakeObjectGraph(absl::Span<const TrackableVariable> variables) {
  constexpr absl::string_view kAttributes = "/.ATTRIBUTES/";
  tensorflow::TrackableObjectGraph graph;
  graph.add_nodes();
  std::map<std::pair<int, absl::string_view>, int> children;  // by parent and escaped name
  for (const TrackableVariable& variable : variables) {
    const absl::string_view key = variable.key;
    const size_t end = key.find(kAttributes);
    if (end == key.npos || end == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", key, "' is no place of a variable among objects: OBJECT/.ATTRIBUTES/NAME"));
    }
    int id = 0;
    for (const absl::string_view name : absl::StrSplit(key.substr(0, end), '/')) {
      const auto [it, is_new] = children.try_emplace({id, name}, graph.nodes_size());
      if (is_new) {
        graph.add_nodes();
        auto* const child = graph.mutable_nodes(id)->add_children();
        child->set_node_id(it->second);
        child->set_local_name(absl::StrReplaceAll(name, {{".S", "/"}, {"..", "."}}));
      }
      id = it->second;
    }
    auto* const attribute = graph.mutable_nodes(id)->add_attributes();
    attribute->set_name(std::string(key.substr(end + kAttributes.size())));
    attribute->set_full_name(variable.full_name);
    attribute->set_checkpoint_key(variable.key);
  }
  for (auto& node : *graph.mutable_nodes()) node.mutable_has_checkpoint_values()->set_value(true);
  return graph.SerializeAsString();
}

}  // namespace tessera
