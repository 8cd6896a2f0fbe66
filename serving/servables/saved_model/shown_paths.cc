#include "serving/servables/saved_model/shown_paths.h"

#include <algorithm>
#include <filesystem>

namespace tessera::serving {
namespace {

std::string ParentOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

std::unique_ptr<ShownPaths::Share> ShownPaths::Show(const std::string& path) {
  absl::MutexLock lock(&mu_);
  Model& model = models_[ParentOf(path)];
  ++model.shares[path];
  std::erase(model.gone, path);
  return std::make_unique<Share>(this, path);
}

void ShownPaths::Leave(const std::string& path) {
  absl::MutexLock lock(&mu_);
  Model& model = models_[ParentOf(path)];
  if (auto share = model.shares.find(path); --share->second == 0) {
    model.shares.erase(share);
    model.gone.push_back(path);
  }
  if (model.gone.size() <= kGonePerModel) return;
  registry_->EraseCells("model_path", model.gone.front());
  model.gone.pop_front();
}

}  // namespace tessera::serving
