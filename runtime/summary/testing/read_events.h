// For tests: what an event file holds.
#pragma once

#include <string>
#include <vector>

#include "tensorflow/core/util/event.pb.h"

namespace tessera {

// Reads a file of whole records. Fails the test at a wrong checksum.
std::vector<tensorflow::Event> ReadEvents(const std::string& path);

}  // namespace tessera
