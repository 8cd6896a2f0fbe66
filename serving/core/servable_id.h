// Identity of servables: a name and a version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// One version of one servable. A value type.
struct ServableId {
  std::string name;
  int64_t version = 0;

  // Returns "{name: resnet version: 3}", the form in TensorFlow Serving's messages.
  std::string ToString() const { return absl::StrCat("{name: ", name, " version: ", version, "}"); }
  friend bool operator==(const ServableId& a, const ServableId& b) {
    return a.version == b.version && a.name == b.name;
  }
  friend bool operator<(const ServableId& a, const ServableId& b) {
    return a.name != b.name ? a.name < b.name : a.version < b.version;
  }
};

// The servable that a request asks for: a given version, or the highest one that is available.
// Holds a view of the name, and is valid as long as the caller's string.
struct ServableRequest {
  absl::string_view name;
  std::optional<int64_t> version;

  // Returns "Latest(resnet)" or "Specific(resnet, 3)".
  std::string ToString() const {
    return version ? absl::StrCat("Specific(", name, ", ", *version, ")")
                   : absl::StrCat("Latest(", name, ")");
  }
};

}  // namespace tessera::serving
