// ShownPaths: the version directories that metrics still tell of.
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

// Erases the cells of versions that have gone, by their label `model_path`.
//
//   ShownPaths paths(&registry);
//   std::unique_ptr<ShownPaths::Share> share = paths.Show("/models/resnet/7");   // it is loaded
//   share.reset();                                                               // it has gone
//
// TensorFlow Serving labels the metrics of loads by the version's directory and keeps them for
// ever; a model that is replaced every minute would fill memory and the page. Here they stay while
// the version does, and until kGonePerModel other versions of its model have gone after it, so
// that a scrape now and then misses none. Versions are of one model if their directories have the
// same parent. Thread-safe.
class ShownPaths {
 public:
  static constexpr size_t kGonePerModel = 16;

  // `registry` must outlive this.
  explicit ShownPaths(MetricsRegistry* registry) : registry_(registry) {}
  ShownPaths(const ShownPaths&) = delete;
  ShownPaths& operator=(const ShownPaths&) = delete;

  // Says in its destructor that the version has gone; that with the last one, if there are several
  // of a path. Must not outlive `paths`.
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
    std::map<std::string, int> shares;  // by path of a version that exists
    std::deque<std::string> gone;       // the one that has been gone for longest first
  };
  void Leave(const std::string& path);

  MetricsRegistry* const registry_;
  absl::Mutex mu_;
  std::map<std::string, Model> models_ ABSL_GUARDED_BY(mu_);  // by the parent of their versions
};

}  // namespace tessera::serving
