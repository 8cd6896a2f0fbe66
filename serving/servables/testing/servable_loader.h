// ServableLoader: loads a servable that a test makes, without files.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/status.h"
#include "serving/core/loader.h"
#include "serving/servables/servable.h"

namespace tessera::serving {

class ServableLoader : public Loader {
 public:
  // Makes the servable, or fails its load. Called by Load().
  using Make = std::function<absl::StatusOr<std::unique_ptr<const Servable>>()>;

  explicit ServableLoader(Make make) : make_(std::move(make)) {}

  absl::Status Load() override {
    ASSIGN_OR_RETURN(servable_, make_());
    return absl::OkStatus();
  }
  void Unload() override { servable_.reset(); }
  AnyServable servable() override { return AnyServable(servable_.get()); }

 private:
  const Make make_;
  std::unique_ptr<const Servable> servable_;
};

}  // namespace tessera::serving
