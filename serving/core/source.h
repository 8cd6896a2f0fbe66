// Sources tell targets which versions of a servable are aspired, that is, ought to be loaded. The
// last target, a manager, loads them.
//
//   FileSystemSource source(...);           // a Source<std::string>: directories
//   LoaderAdapter<std::string> adapter(make);  // a Target<std::string> and a Source of loaders
//   AspiredVersionsManager manager(...);    // a Target of loaders
//   adapter.ConnectTo(&manager);
//   source.ConnectTo(&adapter);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serving/core/loader.h"
#include "serving/core/servable_id.h"

namespace tessera::serving {

// A version with the data from which it can be loaded, or the reason why there is no data.
template <typename T>
struct ServableData {
  ServableId id;
  absl::StatusOr<T> data;
  // Identifies the state of the files that the version is made from: when they change, the number
  // does. A version that failed to load is tried again when it is told with another revision. The
  // number outlasts a restart: equal files have equal revisions in another process.
  uint64_t revision = 0;
};

template <typename T>
using AspiredVersions = std::vector<ServableData<T>>;

template <typename T>
class Target {
 public:
  virtual ~Target() = default;
  // Replaces the aspired versions of a name: a version that is left out is no longer aspired. All
  // versions must be of this name. Thread-safe.
  virtual void SetAspiredVersions(absl::string_view name, AspiredVersions<T> versions) = 0;
};

template <typename T>
class Source {
 public:
  virtual ~Source() = default;
  // Must be called once, before the source emits anything. `target` must outlive the source's last
  // call of it.
  virtual void ConnectTo(Target<T>* target) = 0;
};

// Makes a loader from the data of each version, with a function that the caller gives.
template <typename T>
class LoaderAdapter : public Target<T>, public Source<std::unique_ptr<Loader>> {
 public:
  using Make = std::function<absl::StatusOr<std::unique_ptr<Loader>>(const ServableId&, const T&)>;
  explicit LoaderAdapter(Make make) : make_(std::move(make)) {}

  void ConnectTo(Target<std::unique_ptr<Loader>>* target) override { target_ = target; }
  void SetAspiredVersions(absl::string_view name, AspiredVersions<T> versions) override {
    AspiredVersions<std::unique_ptr<Loader>> loaders;
    loaders.reserve(versions.size());
    for (ServableData<T>& version : versions) {
      // If the source has told an error instead of data, that is passed on.
      absl::StatusOr<std::unique_ptr<Loader>> loader =
          version.data.ok() ? make_(version.id, *version.data)
                            : absl::StatusOr<std::unique_ptr<Loader>>(version.data.status());
      loaders.push_back({std::move(version.id), std::move(loader), version.revision});
    }
    target_->SetAspiredVersions(name, std::move(loaders));
  }

 private:
  const Make make_;
  Target<std::unique_ptr<Loader>>* target_ = nullptr;
};

}  // namespace tessera::serving
