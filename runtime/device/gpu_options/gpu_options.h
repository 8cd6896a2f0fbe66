// The options of the process for GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tessera {

// The fields of TensorFlow's GPUOptions that have an effect here.
struct GpuOptions {
  // The share of a GPU's memory that the process takes, up to 1; 0: all but a reserve for the
  // driver and its libraries.
  double memory_fraction = 0;
  // Takes memory as it is needed, instead of all at the first use. TF_FORCE_GPU_ALLOW_GROWTH in the
  // environment, "true" or "false", goes before what is set here.
  bool allow_growth = false;
  // The hardware's numbers of the GPUs to use, in the order of the devices' numbers. Empty: all.
  std::vector<int> visible;
  // A device that a GPU is cut into.
  struct VirtualDevice {
    double memory_limit_mb = 0;   // in mebibytes
    std::optional<int> priority;  // CUDA's, of the device's streams; unset: the highest there is
    int ordinal = 0;              // devices are numbered in its ascending order
  };
  // The virtual devices of each of those GPUs. Empty, of all or of one: it is not cut so.
  std::vector<std::vector<VirtualDevice>> virtual_devices;
  // Cuts each GPU that has no virtual devices into this many, with equal shares of its memory.
  int num_equal_devices = 1;
  // Memory that is left unused at the end of a buffer is less than this share of the device's
  // memory (BfcAllocator::Options::max_unused). 0: the allocator's own bound.
  double fragmentation_fraction = 0;
  // Most page-locked host memory, in bytes, and whether it is taken as it is needed.
  int64_t pinned_limit = int64_t{64} << 30;
  bool pinned_allow_growth = true;
  // How often events of work that is under way are looked at.
  absl::Duration poll_interval = absl::Microseconds(20);
};

// A device: a GPU, or a part of its memory.
struct GpuPart {
  int gpu = 0;              // the hardware's number
  int virtual_part = 0;     // counts the devices of a GPU from 1; 0 if it is whole
  size_t memory_limit = 0;  // in bytes; 0: a share of what the process takes of the GPU
  int num_shares = 1;       // how many such shares there are
  std::optional<int> priority;
};
// Returns the devices that the options make of these GPUs, in the order of the devices' numbers.
std::vector<GpuPart> PartsOf(const GpuOptions& options, const std::vector<int>& gpus);

// Returns how much memory sessions take of a GPU on which `free` of `total` bytes are free: the
// share that the options say, or all but the reserve that TensorFlow leaves to the driver and
// libraries. Errors: INVALID_ARGUMENT for a share below 0 or above 1; RESOURCE_EXHAUSTED if less is
// free.
absl::StatusOr<size_t> GpuMemoryLimit(const GpuOptions& options, size_t free, size_t total);

// The sessions of a process share its GPUs, and so these options. Sets them for devices that are
// made later; a GPU that a session uses already keeps those that it has. Thread-safe.
void SetGpuOptions(GpuOptions options);
GpuOptions CurrentGpuOptions();

// Returns whether the program was built with --config=cuda, whether there is a GPU or not.
bool IsBuiltForGpus();

}  // namespace tessera
