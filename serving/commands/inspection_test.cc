#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving/commands/inspection_json.h"
#include "serving/commands/inspection_text.h"

namespace tessera::serving {
namespace {

Inspection Model() {
  Inspection inspection{.path = "/m/1"};
  InspectedMetaGraph& meta_graph = inspection.meta_graphs.emplace_back();
  meta_graph.tags = {"serve"};
  meta_graph.signatures = {
      {.name = "s",
       .method_name = "predict",
       .inputs = {{.alias = "a", .dtype = DType::kFloat, .shape = {-1, 3}, .place = "a:0"},
                  {.alias = "bb", .dtype = DType::kString, .place = "b:0", .has_default = true}},
       .outputs = {}}};
  meta_graph.census.num_nodes = 3;
  meta_graph.census.ops["Foo"] = {.nodes = {"f", "g"}, .without_kernel = {"g"}, .detail = "why"};
  meta_graph.census.ops["NoOp"] = {
      .nodes = {"n"}, .without_kernel = {}, .detail = "", .dtypes = {"float"}, .devices = {"CPU"}};
  inspection.checkpoint = InspectedCheckpoint{
      .prefix = "/m/1/variables/variables",
      .variables = {{.name = "v", .dtype = DType::kFloat, .shape = {2}, .bytes = 8},
                    {.name = "w", .dtype = DType::kString, .shape = {}}},
      .bytes = 8};
  return inspection;
}

TEST(InspectionTest, Text) {
  EXPECT_EQ(InspectionText(Model(), /*list_ops=*/false),
            "SavedModel /m/1\n"
            "  meta graph { serve }\n"
            "    signature s (predict)\n"
            "      input  a   float [?,3]  a:0\n"
            "      input  bb  string <unknown>  b:0  (has a default)\n"
            "    3 nodes; 2 ops\n"
            "    1 op has no kernel (custom ops load with --op_library=FILE.so):\n"
            "      Foo x 1: g (why)\n"
            "    loads\n"
            "  2 variables, 8 bytes\n"
            "    v  float [2]  8 bytes\n"
            "    w  string []\n");
}

TEST(InspectionTest, NamesOfAnyLanguageStandInColumns) {
  Inspection inspection = Model();
  inspection.meta_graphs[0].signatures[0].inputs[0].alias = "\u00fc\u00df";
  EXPECT_THAT(InspectionText(inspection, /*list_ops=*/false),
              ::testing::HasSubstr("      input  \u00fc\u00df  float [?,3]  a:0\n"
                                   "      input  bb  string <unknown>  b:0  (has a default)\n"));
}

TEST(InspectionTest, OpsThatStayOnTheCpuBesideAGpu) {
  Inspection inspection = Model();
  inspection.meta_graphs[0].census.ops["NoOp"].without_gpu_kernel = {"n"};
  EXPECT_THAT(InspectionText(inspection, /*list_ops=*/false),
              ::testing::HasSubstr("    1 op runs on the CPU beside a GPU, for want of a kernel "
                                   "there:\n"
                                   "      NoOp x 1: n\n"));
}

TEST(InspectionTest, ListsOpsByCount) {
  EXPECT_THAT(InspectionText(Model(), /*list_ops=*/true),
              ::testing::HasSubstr("    ops by count:\n"
                                   "           2  Foo  (no kernel)\n"
                                   "           1  NoOp  (float; CPU)\n"));
}

TEST(InspectionTest, TimesOfKernels) {
  const KernelTimes times{
      .kernels = {{.op = "MatMul", .device = "CPU:0", .dtype = "float", .nodes = 2, .share = 0.75},
                  {.op = "NoOp", .device = "CPU:0", .dtype = "", .nodes = 10, .share = 0.25}},
      .runs = 1};
  EXPECT_EQ(KernelTimesText(times),
            "  kernels by time, 1 run (after the passes that fold and fuse ops):\n"
            "     share  nodes  kernel  device  dtype\n"
            "     75.0%      2  MatMul  CPU:0   float\n"
            "     25.0%     10  NoOp    CPU:0   \n");
  EXPECT_THAT(KernelTimesText({}), ::testing::HasSubstr("no kernel was timed"));
  EXPECT_THAT(InspectionJson(Model(), &times), ::testing::HasSubstr(R"("measured": {
        "runs": 1,
        "kernels": [
            {
                "op": "MatMul",
                "device": "CPU:0",
                "dtype": "float",
                "nodes": 2,
                "share": 0.75
            })"));
}

TEST(InspectionTest, Json) {
  EXPECT_EQ(InspectionJson(Model()), R"({
    "kind": "saved_model",
    "path": "/m/1",
    "usable": false,
    "problem": "FAILED_PRECONDITION: 1 op has no kernel",
    "meta_graphs": [
        {
            "tags": [
                "serve"
            ],
            "tensorflow_version": "",
            "signatures": {
                "s": {
                    "method_name": "predict",
                    "inputs": {
                        "a": {
                            "dtype": "float",
                            "shape": [null, 3],
                            "tensor": "a:0",
                            "has_default": false
                        },
                        "bb": {
                            "dtype": "string",
                            "shape": null,
                            "tensor": "b:0",
                            "has_default": true
                        }
                    },
                    "outputs": {}
                }
            },
            "nodes": 3,
            "functions": 0,
            "function_nodes": 0,
            "ops": {
                "Foo": {
                    "count": 2,
                    "without_kernel": [
                        "g"
                    ],
                    "detail": "why",
                    "dtypes": [],
                    "devices": []
                },
                "NoOp": {
                    "count": 1,
                    "without_kernel": [],
                    "dtypes": [
                        "float"
                    ],
                    "devices": [
                        "CPU"
                    ]
                }
            },
            "load": {
                "error_code": "OK",
                "error_message": ""
            },
            "assets": {}
        }
    ],
    "checkpoint": {
        "prefix": "/m/1/variables/variables",
        "bytes": 8,
        "variables": {
            "v": {
                "dtype": "float",
                "shape": [2],
                "bytes": 8,
                "in_slices": false
            },
            "w": {
                "dtype": "string",
                "shape": [],
                "bytes": null,
                "in_slices": false
            }
        }
    }
}
)");
}

}  // namespace
}  // namespace tessera::serving
