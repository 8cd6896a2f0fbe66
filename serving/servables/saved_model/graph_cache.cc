#include "serving/servables/saved_model/graph_cache.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/session/saved_model.h"
#include "serving/sources/file_system_source.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera::serving {
namespace {

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

GraphCache::FileIdentity GraphCache::Identify(const std::string& directory) {
  for (const char* name : {"saved_model.pb", "saved_model.pbtxt"}) {
    struct stat info;
    if (stat(JoinPath(directory, name).c_str(), &info) != 0) continue;
    return {static_cast<int64_t>(info.st_dev),
            static_cast<int64_t>(info.st_ino),
            info.st_size,
            info.st_mtim.tv_sec,
            info.st_mtim.tv_nsec,
            info.st_ctim.tv_sec,
            info.st_ctim.tv_nsec};
  }
  return {};
}

GraphCache::Graph GraphCache::Find(const std::string& directory) {
  const FileIdentity now = Identify(directory);
  absl::MutexLock lock(&mu_);
  auto it = entries_.find(directory);
  if (it == entries_.end()) return nullptr;
  const bool has_gone = now == FileIdentity();
  return has_gone || it->second.file == now ? it->second.graph.lock() : nullptr;
}

absl::StatusOr<GraphCache::Graph> GraphCache::Get(const std::string& directory,
                                                  const std::set<std::string>& tags,
                                                  LoadStages* stages) {
  if (Graph loaded = Find(directory)) return loaded;
  // Before the file is read, so that one which changes meanwhile is read again the next time.
  const FileIdentity file = Identify(directory);
  ASSIGN_OR_RETURN(Graph graph, ImportSavedModel(directory, tags, stages));
  absl::MutexLock lock(&mu_);
  std::erase_if(entries_, [](const auto& entry) { return entry.second.graph.expired(); });
  entries_[directory] = {file, graph};
  return graph;
}

std::map<int64_t, std::string> GraphCache::LoadedVersions(const std::string& base_path) {
  std::map<int64_t, std::string> versions;
  absl::MutexLock lock(&mu_);
  for (const auto& [directory, entry] : entries_) {
    int64_t number;
    if (FolderOf(directory) == base_path && !entry.graph.expired() &&
        absl::SimpleAtoi(directory.substr(base_path.size() + 1), &number)) {
      versions[number] = directory;
    }
  }
  return versions;
}

absl::StatusOr<GraphCache::Graph> GraphCache::GetForWeights(const std::string& path, int64_t number,
                                                            const std::set<std::string>& tags,
                                                            LoadStages* stages) {
  const std::string base_path = FolderOf(path);
  const std::string graph = JoinPath(base_path, "graph");
  if (HoldsSavedModel(graph)) return Get(graph, tags, stages);
  std::map<int64_t, std::string> versions = LoadedVersions(base_path);
  const MonitoredServable all = {.base_path = base_path,
                                 .versions = {.kind = VersionChoice::Kind::kAll}};
  const auto has_graph = [](int64_t, const std::string& path) { return HoldsSavedModel(path); };
  if (const auto on_disk = FindVersions(all, has_graph); on_disk.ok()) {
    for (const auto& [version, directory] : *on_disk) versions[version] = directory;
  }
  auto above = versions.lower_bound(number);
  if (above != versions.begin()) return Get(std::prev(above)->second, tags, stages);
  return absl::NotFoundError(absl::StrCat(
      "Specified file path does not appear to contain a SavedModel bundle (should have a file "
      "called `saved_model.pb`)\nSpecified file path: ",
      path, "\nIt has weights, but neither ", graph, " nor a version below ", number, " in ",
      base_path, " has a graph for them"));
}

}  // namespace tessera::serving
