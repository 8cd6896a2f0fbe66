#include "runtime/checkpoint/checkpoint_match.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "tensorflow/core/protobuf/trackable_object_graph.pb.h"

namespace tessera {
namespace {

using tensorflow::TrackableObjectGraph;
using Object = TrackableObjectGraph::TrackableObject;
using KeyMap = absl::flat_hash_map<std::string, std::string>;
using Misfit = absl::FunctionRef<std::string(const std::string& key, const CheckpointEntry& entry)>;

// The number of keys, and of names, that a message lists.
constexpr size_t kMostShown = 5;

// The objects of a checkpoint by their names in each other.
class ObjectGraph {
 public:
  // Errors: DATA_LOSS. An empty text is a graph without objects.
  absl::Status Parse(const std::string& text) {
    if (!proto_.ParseFromString(text)) return absl::DataLossError("the object graph is damaged");
    children_.resize(proto_.nodes_size());
    for (int id = 0; id < proto_.nodes_size(); ++id) {
      for (const auto& child : proto_.nodes(id).children()) {
        if (child.node_id() < 0 || child.node_id() >= proto_.nodes_size()) {
          return absl::DataLossError("the object graph is damaged: a child has no object");
        }
        children_[id].emplace(child.local_name(), child.node_id());
      }
    }
    return absl::OkStatus();
  }

  const TrackableObjectGraph& proto() const { return proto_; }
  bool empty() const { return proto_.nodes_size() == 0; }
  // Returns -1 if there is no such child.
  int Child(int id, const std::string& name) const {
    auto it = children_[id].find(name);
    return it == children_[id].end() ? -1 : it->second;
  }

 private:
  TrackableObjectGraph proto_;
  std::vector<absl::flat_hash_map<absl::string_view, int>> children_;
};

// Goes through both graphs along edges of the same names, from the root of `from` and the object
// `root` of `to`. Returns the keys in `to` by those in `from`. Short ways come first: an object
// that can be reached by several is what the shortest leads to.
KeyMap MatchPlaces(const ObjectGraph& from, const ObjectGraph& to, int root) {
  KeyMap keys;
  std::vector<bool> is_paired(from.proto().nodes_size());
  std::deque<std::pair<int, int>> pairs = {{0, root}};
  is_paired[0] = true;
  for (; !pairs.empty(); pairs.pop_front()) {
    const auto [from_id, to_id] = pairs.front();
    for (const auto& value : from.proto().nodes(from_id).attributes()) {
      for (const auto& same : to.proto().nodes(to_id).attributes()) {
        if (same.name() == value.name())
          keys.emplace(value.checkpoint_key(), same.checkpoint_key());
      }
    }
    for (const auto& child : from.proto().nodes(from_id).children()) {
      const int counterpart = to.Child(to_id, child.local_name());
      if (counterpart < 0 || is_paired[child.node_id()]) continue;
      is_paired[child.node_id()] = true;
      pairs.emplace_back(child.node_id(), counterpart);
    }
  }
  return keys;
}

KeyMap KeysByFullNameOf(const ObjectGraph& graph) {
  KeyMap keys;
  for (const Object& object : graph.proto().nodes()) {
    for (const auto& value : object.attributes()) {
      if (value.full_name().empty()) continue;
      const auto [it, is_new] = keys.emplace(value.full_name(), value.checkpoint_key());
      if (!is_new && it->second != value.checkpoint_key()) it->second.clear();
    }
  }
  return keys;
}

KeyMap MatchFullNames(absl::Span<const std::string> keys, const ObjectGraph& from,
                      const ObjectGraph& to) {
  KeyMap names;  // by key
  for (const Object& object : from.proto().nodes()) {
    for (const auto& value : object.attributes()) {
      if (!value.full_name().empty()) names.emplace(value.checkpoint_key(), value.full_name());
    }
  }
  const KeyMap by_name = KeysByFullNameOf(to);
  KeyMap found;
  for (const std::string& key : keys) {
    auto known = names.find(key);
    const std::string& name = known == names.end() ? key : known->second;
    if (to.empty()) {
      found.emplace(key, name);
    } else if (auto it = by_name.find(name); it != by_name.end() && !it->second.empty()) {
      found.emplace(key, it->second);
    }
  }
  return found;
}

KeyMap SameKeys(absl::Span<const std::string> keys) {
  KeyMap same;
  for (const std::string& key : keys) same.emplace(key, key);
  return same;
}

// How well one way of matching does.
struct Match {
  KeyMap keys;
  size_t num_found = 0;
  size_t num_misfits = 0;  // those that are missing among them
  std::vector<std::string> first_misfits;

  bool IsCloserThan(const Match& other) const {
    return std::pair(num_misfits, other.num_found) < std::pair(other.num_misfits, num_found);
  }
};

Match Judge(KeyMap candidates, absl::Span<const std::string> keys,
            const CheckpointReader& checkpoint, Misfit misfit) {
  Match match;
  for (const std::string& key : keys) {
    std::string problem = "is missing";
    if (auto it = candidates.find(key); it != candidates.end()) {
      if (const auto entry = checkpoint.Find(it->second); entry.ok()) {
        ++match.num_found;
        problem = misfit(key, *entry);
      }
    }
    if (problem.empty()) continue;
    if (++match.num_misfits <= kMostShown) {
      match.first_misfits.push_back(absl::StrCat("'", key, "' ", problem));
    }
  }
  match.keys = std::move(candidates);
  return match;
}

std::string FirstOf(std::vector<std::string> names) {
  const bool are_more = names.size() > kMostShown;
  if (are_more) names.resize(kMostShown);
  return absl::StrCat("'", absl::StrJoin(names, "', '"), "'", are_more ? ", ..." : "");
}

absl::Status DoesNotFit(const Match& closest, absl::Span<const std::string> keys,
                        const CheckpointReader& checkpoint) {
  if (closest.num_found == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("none of the graph's ", keys.size(),
                     " variables is in it; is it the checkpoint of another model? It holds ",
                     FirstOf(checkpoint.TensorNames()), "; the graph restores ",
                     FirstOf({keys.begin(), keys.end()})));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      closest.num_misfits, " of the graph's ", keys.size(), " variables do not fit: ",
      absl::StrJoin(closest.first_misfits, "; "), closest.num_misfits > kMostShown ? "; ..." : ""));
}

}  // namespace

absl::StatusOr<std::string> ReadObjectGraph(const CheckpointReader& checkpoint) {
  if (!checkpoint.Contains(kObjectGraphKey)) return std::string();
  ASSIGN_OR_RETURN(const Tensor tensor, checkpoint.Read(kObjectGraphKey));
  if (tensor.dtype() != DType::kString || tensor.num_elements() != 1) {
    return absl::DataLossError("the object graph of the checkpoint is no string");
  }
  return tensor.scalar<std::string>();
}

absl::StatusOr<KeyMap> KeysByFullName(const std::string& object_graph) {
  ObjectGraph graph;
  RETURN_IF_ERROR(graph.Parse(object_graph));
  return KeysByFullNameOf(graph);
}

absl::StatusOr<KeyMap> MatchCheckpoint(absl::Span<const std::string> keys,
                                       const std::string& object_graph,
                                       const CheckpointReader& checkpoint, Misfit misfit) {
  Match best = Judge(SameKeys(keys), keys, checkpoint, misfit);
  if (best.num_misfits == 0) return std::move(best.keys);
  // Tries another way. Returns true if it fits.
  const auto fits = [&](KeyMap candidates) {
    Match match = Judge(std::move(candidates), keys, checkpoint, misfit);
    if (match.IsCloserThan(best)) best = std::move(match);
    return best.num_misfits == 0;
  };

  ObjectGraph from, to;
  RETURN_IF_ERROR(from.Parse(object_graph));
  ASSIGN_OR_RETURN(const std::string to_text, ReadObjectGraph(checkpoint));
  RETURN_IF_ERROR(to.Parse(to_text));
  if (!from.empty() && !to.empty()) {
    if (fits(MatchPlaces(from, to, 0))) return std::move(best.keys);
    if (const int model = to.Child(0, "model"); model >= 0) {
      if (fits(MatchPlaces(from, to, model))) return std::move(best.keys);
    }
    std::vector<std::string> fitting;
    for (const auto& child : to.proto().nodes(0).children()) {
      Match match = Judge(MatchPlaces(from, to, child.node_id()), keys, checkpoint, misfit);
      if (match.num_misfits == 0 && (fitting.empty() || match.keys != best.keys)) {
        fitting.push_back(child.local_name());
      }
      if (match.IsCloserThan(best)) best = std::move(match);
    }
    if (fitting.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("several objects in it fit the graph: ", FirstOf(std::move(fitting)),
                       "; save the one that is to be served under the name 'model'"));
    }
    if (best.num_misfits == 0) return std::move(best.keys);
  }
  if (fits(MatchFullNames(keys, from, to))) return std::move(best.keys);
  return DoesNotFit(best, keys, checkpoint);
}

}  // namespace tessera
