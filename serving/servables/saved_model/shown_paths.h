// ShownPaths: forgets the metrics of versions that were unloaded.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "serving/core/metrics.h"

namespace tessera::serving {

// Erases the cells of unloaded versions, by their label `model_path`.
//
//   ShownPaths paths(&registry);
//   std::unique_ptr<ShownPaths::Share> share = paths.Show("/models/resnet/7");   // is loaded
//   share.reset();                                                               // is unloaded
//
// TensorFlow Serving labels the metrics of loads by the directory of the version and keeps them for
// ever. A model that is replaced every minute would fill memory and the page. Here they are kept
// while the version exists, and until kGonePerModel other versions of its model have been unloaded
// after it, so that an occasional scrape misses none. Versions belong to one model if their
// directories have the same parent. Thread-safe.
class ShownPaths {
 public:
  static constexpr size_t kGonePerModel = 16;

  // `registry` must outlive this object.
  explicit ShownPaths(MetricsRegistry* registry) : registry_(registry) {}
  ShownPaths(const ShownPaths&) = delete;
  ShownPaths& operator=(const ShownPaths&) = delete;

  // The destructor tells that the version was unloaded. If there are several shares of a path, that
  // of the last one does. Must not outlive `paths`.
  class Share {
   public:
    Share(ShownPaths* paths, std::string path) : paths_(paths), path_(std::move(path)) {}
    ~Share() { paths_->Leave(path_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    ShownPaths* const paths_;
    const std::string path_;
  };
  std::unique_ptr<Share> Show(const std::string& path);

 private:
  struct Model {
    std::map<std::string, int> shares;  // by the path of a version that exists
    std::deque<std::string> gone;       // unloaded longest ago first
  };
  void Leave(const std::string& path);

  MetricsRegistry* const registry_;
  absl::Mutex mu_;
  std::map<std::string, Model> models_ ABSL_GUARDED_BY(mu_);  // by the parent of their versions
};

}  // namespace tessera::serving
