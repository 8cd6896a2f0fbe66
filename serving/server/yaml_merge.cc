#include "serving/server/yaml_merge.h"

#include <set>
#include <utility>
#include <vector>

#include "serving/server/yaml_proto.h"

namespace tessera::serving {
namespace {

constexpr char kMerge[] = "<<";

class MergeResolver {
 public:
  MergeResolver(const std::string& file, ConfigReport* report) : file_(file), report_(report) {}

  void Resolve(YAML::Node node) {
    // An alias is the node of its anchor, and has its place. A node may even hold itself.
    if (!(node.IsMap() || node.IsSequence()) || !seen_.insert(node.Mark().pos).second) return;
    if (node.IsSequence()) {
      for (const auto& element : node) Resolve(element);
      return;
    }
    for (const auto& item : node) Resolve(item.second);
    Merge(node);
  }

 private:
  static bool IsMergeKey(const YAML::Node& key) {
    return key.IsScalar() && key.Scalar() == kMerge && key.Tag() != "!";
  }

  void Merge(YAML::Node& node) {
    std::set<std::string> names;
    std::vector<std::pair<YAML::Node, YAML::Node>> merges;
    for (const auto& item : node) {
      if (IsMergeKey(item.first)) {
        merges.emplace_back(item.first, item.second);
      } else {
        names.insert(item.first.Scalar());
      }
    }
    YAML::Node merged(YAML::NodeType::Map);
    for (const auto& [key, value] : merges) AddFrom(key, value, &names, &merged);
    for (const auto& [key, value] : merges) node.remove(key);
    for (const auto& item : merged) node.force_insert(item.first, item.second);
  }

  // Adds the keys of a merge key's value that are not in `names` yet.
  void AddFrom(const YAML::Node& key, const YAML::Node& value, std::set<std::string>* names,
               YAML::Node* merged) {
    if (value.IsSequence()) {
      for (const auto& element : value) {
        if (!element.IsMap()) return Refuse(key);
        AddFrom(key, element, names, merged);
      }
      return;
    }
    if (!value.IsMap()) return Refuse(key);
    for (const auto& item : value) {
      // A mapping that holds itself still has its merge key.
      if (IsMergeKey(item.first) || !names->insert(item.first.Scalar()).second) continue;
      merged->force_insert(item.first, item.second);
    }
  }

  void Refuse(const YAML::Node& key) {
    AddYamlError(file_, key, kMerge, "<< must have a mapping, such as *ANCHOR, or a list of them",
                 report_);
  }

  const std::string& file_;
  ConfigReport* const report_;
  std::set<int> seen_;  // the places of the collections that were begun
};

}  // namespace

void ResolveYamlMerges(const std::string& file, const YAML::Node& root, ConfigReport* report) {
  MergeResolver(file, report).Resolve(root);
}

}  // namespace tessera::serving
