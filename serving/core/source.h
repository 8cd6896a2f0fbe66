// Sources say which versions ought to be there; targets, managers in the end, make it so.
//
//   FileSystemSource source(...);           // a Source<std::string>: directories
//   PathToLoaderAdapter adapter(make);      // a Target<std::string> and a Source of loaders
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

// A version, and what is needed to have it; or why that cannot be had.
template <typename T>
struct ServableData {
  ServableId id;
  absl::StatusOr<T> data;
  // Stands for the state of what the version is made from: another number for other files. What
  // failed is tried again when it is told with another revision.
  uint64_t revision = 0;
};

template <typename T>
using AspiredVersions = std::vector<ServableData<T>>;

template <typename T>
class Target {
 public:
  virtual ~Target() = default;
  // `versions`, all of this name, replace those of earlier calls: one left out is no longer
  // aspired. Thread-safe.
  virtual void SetAspiredVersions(absl::string_view name, AspiredVersions<T> versions) = 0;
};

template <typename T>
class Source {
 public:
  virtual ~Source() = default;
  // Once, before the source may emit anything. `target` must outlive the source's last emission.
  virtual void ConnectTo(Target<T>* target) = 0;
};

// Turns each version's data into a loader by a function of the caller's.
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
      // An error of the source is passed on.
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
