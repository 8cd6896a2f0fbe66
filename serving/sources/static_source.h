// StaticSource: versions that are known beforehand and never change.
#pragma once

#include <string>
#include <utility>

#include "serving/core/source.h"

namespace tessera::serving {

// Tells its target once, when connected. For embedding a model of a fixed path, and for tests.
//
//   StaticSource<std::string> source("resnet", {{{"resnet", 3}, "/models/resnet/3"}});
//   source.ConnectTo(&adapter);
template <typename T>
class StaticSource : public Source<T> {
 public:
  StaticSource(std::string name, AspiredVersions<T> versions)
      : name_(std::move(name)), versions_(std::move(versions)) {}

  void ConnectTo(Target<T>* target) override {
    target->SetAspiredVersions(name_, std::move(versions_));
  }

 private:
  const std::string name_;
  AspiredVersions<T> versions_;
};

}  // namespace tessera::serving
