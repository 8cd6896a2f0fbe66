// The element of a DT_RESOURCE tensor: names a resource, and may own it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/ref_count.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// State that outlives a step: a variable, a table, a queue. Thread-safe by its own means.
class Resource : public RefCounted {
 public:
  // For messages: "variable float[3]".
  virtual std::string DebugString() const = 0;
};

// A value type. A named handle is looked up in the ResourceManager by (container, type_name, name);
// an anonymous one carries its resource, which lives as long as some handle does.
class ResourceHandle {
 public:
  std::string device;
  std::string container;
  std::string name;
  // Which kind of resource: "variable", "table", ... Two kinds may use one name.
  std::string type_name;
  // For variables: what they hold, as the op's attributes say.
  DType dtype = DType::kInvalid;
  PartialShape shape;
  // Set by the op that made the handle: the resource itself (anonymous), or a cached look-up.
  IntrusivePtr<Resource> resource;
};

}  // namespace tessera
