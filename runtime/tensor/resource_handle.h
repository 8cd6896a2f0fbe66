// The element of a DT_RESOURCE tensor, which names a resource and may own it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/ref_count.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// State that outlives a step: a variable, a table, a queue. Subclasses are thread-safe.
class Resource : public RefCounted {
 public:
  // Returns a text for messages, such as "variable float[3]".
  virtual std::string DebugString() const = 0;
};

// A value type. A named handle is looked up in the ResourceManager by (container, type_name, name).
// An anonymous handle carries its resource, which lives as long as one of its handles.
class ResourceHandle {
 public:
  std::string device;
  std::string container;
  std::string name;
  // The kind of the resource: "variable", "table", ... Resources of two kinds may share a name.
  std::string type_name;
  // For variables, the dtype and shape of the value as the op's attributes declare them.
  DType dtype = DType::kInvalid;
  PartialShape shape;
  // Set by the op that made the handle: the resource of an anonymous handle, or a cached look-up.
  IntrusivePtr<Resource> resource;
};

}  // namespace tessera
