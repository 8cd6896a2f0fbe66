// What the process takes of GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace tessera {

// As TensorFlow's GPUOptions say it.
struct GpuOptions {
  // The share of a GPU's memory that the process takes, up to 1; 0: all but a reserve for the
  // driver and its libraries.
  double memory_fraction = 0;
  // Takes memory as it is needed, instead of all at the first use. TF_FORCE_GPU_ALLOW_GROWTH in the
  // environment, "true" or "false", goes before what is set here.
  bool allow_growth = false;
  // The hardware's numbers of the GPUs to use, in the order of the devices' numbers. Empty: all.
  std::vector<int> visible;
  // For each of those, the memory limits, in mebibytes, of the virtual devices that it is cut into.
  // Empty, of all or of one: it is one device.
  std::vector<std::vector<double>> virtual_limits_mb;
  // Most page-locked host memory, in bytes.
  int64_t pinned_limit = int64_t{64} << 30;
  // How often events of work that is under way are looked at.
  absl::Duration poll_interval = absl::Microseconds(20);
};

// The sessions of a process share its GPUs, and so these options. Sets them for devices that are
// made later; a GPU that a session uses already keeps those that it has. Thread-safe.
void SetGpuOptions(GpuOptions options);
GpuOptions CurrentGpuOptions();

// Returns whether the program was built with --config=cuda, whether there is a GPU or not.
bool IsBuiltForGpus();

}  // namespace tessera
