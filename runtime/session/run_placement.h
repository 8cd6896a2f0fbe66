// The devices that execute the ops of a run.
#pragma once

#include <map>
#include <string>

namespace tessera {

// How many nodes of each op a device executes, by the device's full name. Constants, and what
// carries values into and out of a device's part of the graph, do not count.
using RunPlacement = std::map<std::string, std::map<std::string, int>>;

// Implemented by the callables of sessions.
//
//   const auto* placed = dynamic_cast<const PlacedRun*>(callable.get());
class PlacedRun {
 public:
  virtual ~PlacedRun() = default;
  // Counts the nodes of the optimised graph. Those of functions that it calls are not among them.
  virtual const RunPlacement& placement() const = 0;
};

}  // namespace tessera
