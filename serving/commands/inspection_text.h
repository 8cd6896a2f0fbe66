// Writes what was found in a model as text for people.
#pragma once

#include <string>

#include "runtime/session/inspect.h"
#include "serving/commands/kernel_times.h"

namespace tessera::serving {

//   SavedModel /models/half_plus_two/1
//     meta graph { serve }, written by TensorFlow 2.21.0
//       signature serving_default (tensorflow/serving/predict)
//         input  x   float [?]     x:0
//         output y   float [?]     y:0
//       57 nodes; 19 ops
//       every op has a kernel
//       loads
//     3 variables, 12 bytes
//       a  float []  4 bytes
//
// With `list_ops` every op is listed with its count, dtypes and the devices of its kernels,
// otherwise only those without a kernel.
std::string InspectionText(const Inspection& inspection, bool list_ops);

//   kernels by time, 19 runs (after the passes that fold and fuse ops):
//      share  nodes  kernel  device  dtype
//      61.5%      2  MatMul  CPU:0   float
//      38.5%      3  AddV2   CPU:0   float
std::string KernelTimesText(const KernelTimes& times);

}  // namespace tessera::serving
