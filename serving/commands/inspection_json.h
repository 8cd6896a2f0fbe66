// Writes what was found in a model as JSON for programs.
#pragma once

#include <string>

#include "runtime/session/inspect.h"
#include "serving/commands/kernel_times.h"

namespace tessera::serving {

//   {
//     "kind": "saved_model",               // or "checkpoint", "graph"
//     "path": "/models/m/1",
//     "usable": true,                      // false: then "problem" says why
//     "meta_graphs": [{
//       "tags": ["serve"], "tensorflow_version": "2.21.0",
//       "signatures": {"serving_default": {
//         "method_name": "tensorflow/serving/predict",
//         "inputs": {"x": {"dtype": "float", "shape": [null, 3], "tensor": "x:0",
//                          "has_default": false}},
//         "outputs": {"y": {...}}}},
//       "nodes": 57, "functions": 2, "function_nodes": 31,
//       "ops": {"MatMul": {"count": 2, "without_kernel": [], "dtypes": ["float"],
//                          "devices": ["CPU"]}},
//       "load": {"error_code": "OK", "error_message": ""},
//       "assets": {"vocabulary.txt": "asset_path:0"}}],
//     "checkpoint": {"prefix": "...", "bytes": 12, "variables": {
//       "a": {"dtype": "float", "shape": [], "bytes": 4, "in_slices": false}}},
//     "graph": {"producer": 2129, "placeholders": {"x": "float"}, "nodes": 3, ...},
//     "measured": {"runs": 19, "kernels": [
//       {"op": "MatMul", "device": "CPU:0", "dtype": "float", "nodes": 2, "share": 0.615}]}
//   }
//
// Parts that the files do not have are left out. A dimension that is unknown is null, and so is a
// shape of unknown rank, and the bytes of a string variable. "without_kernel" names nodes.
// "measured" is there if `times` is not null.
std::string InspectionJson(const Inspection& inspection, const KernelTimes* times = nullptr);

}  // namespace tessera::serving
