// Arguments that TensorFlow takes as scalars alone, and those that it also takes as vectors of one
// element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

Tensor VectorOf(const Tensor& scalar) { return scalar.Reshaped(Shape{1}).value(); }

Tensor Int(int32_t value) { return Tensor::Scalar(value); }
Tensor Long(int64_t value) { return Tensor::Scalar(value); }

constexpr char kGenerator[] = R"(
  state = VarHandleOp() {dtype: int64, shape: <3>, shared_name: "state"}
  words = Const() {dtype: int64, value: int64([1, 2, 3])}
  init = AssignVariableOp(state, words) {dtype: int64}
  one = Const() {dtype: int64, value: int64(1)}
  step = Cast(one) {SrcT: int64, DstT: uint64}
  philox = Const() {dtype: int32, value: int32(1)}
  shape = Const() {dtype: int32, value: int32([2])}
)";
constexpr char kCollective[] = R"(
  value = Const() {dtype: float, value: float([1, 2])}
  one = Const() {dtype: int32, value: int32(1)}
  two = Const() {dtype: int32, value: int32(2)}
  zero = Const() {dtype: int32, value: int32(0)}
  first = Const() {dtype: int32, value: int32([0])}
  groups = ExpandDims(first, zero) {T: int32, Tdim: int32}
)";
constexpr char kStages[] = R"(
  value = Const() {dtype: float, value: float([1, 2])}
  key = Const() {dtype: int64, value: int64(3)}
  all = Const() {dtype: int32, value: int32([0])}
  stage = Stage(value) {dtypes: [float], shared_name: "a"}
  put = MapStage(key, all, value) {dtypes: [float], fake_dtypes: [float], shared_name: "m"}
)";
constexpr char kAccumulator[] = R"(
  value = Const() {dtype: float, value: float([1, 2])}
  sum = ConditionalAccumulator() {dtype: float, shape: <2>}
  now = Const() {dtype: int64, value: int64(0)}
  apply = AccumulatorApplyGradient(sum, now, value) {dtype: float}
)";
constexpr char kNumbers[] = R"(
  values = Const() {dtype: float, value: float([1, 2])}
  four = Const() {dtype: float, value: float(4)}
  one = Const() {dtype: int32, value: int32(1)}
  two = Const() {dtype: int32, value: int32(2)}
  open = Const() {dtype: int32, value: int32(-1)}
  text = Const() {dtype: string, value: string(["a", "b"])}
  pattern = Const() {dtype: string, value: string("b")}
)";
constexpr char kTexts[] = R"(
  text = Const() {dtype: string, value: string("")}
  names = Const() {dtype: string, value: string(["a"])}
  one = Const() {dtype: int32, value: int32(1)}
  value = Const() {dtype: float, value: float(1)}
  writer = SummaryWriter()
  longs = Const() {dtype: int64, value: int64([0, 0])}
  row = Const() {dtype: int32, value: int32([1, 2])}
  indices = Reshape(longs, row) {T: int64, Tshape: int32}
  dims = Const() {dtype: int64, value: int64([1, 1])}
  yes = Const() {dtype: bool, value: bool(true)}
  ten = Const() {dtype: int64, value: int64(10)}
)";
constexpr char kBatch[] = R"(
  rows = Const() {dtype: float, value: float([1, 2])}
  parts = Const() {dtype: int64, value: int64([7, 0, 2])}
  row = Const() {dtype: int32, value: int32([1, 3])}
  index = Reshape(parts, row) {T: int64, Tshape: int32}
)";
constexpr char kDataset[] = R"(
  def twice(x: int64) -> (y: int64):
    sum = AddV2(x, x) {T: int64}
  return (y = sum:z:0)

  zero = Const() {dtype: int64, value: int64(0)}
  five = Const() {dtype: int64, value: int64(5)}
  one = Const() {dtype: int64, value: int64(1)}
  range = RangeDataset(zero, five, one) {output_types: [int64], output_shapes: [<>]}
)";

// Statements of a graph, in two parts.
struct Nodes {
  const char* common;
  const char* own;
};

// The argument "x" of the node "y".
struct Case {
  const char* name;
  Tensor value;  // a scalar that it takes
  Nodes nodes;
};

std::vector<Case> StrictCases() {
  return {
      {"RngSkip.algorithm", Long(1), {kGenerator, "y = RngSkip(state, x, one, ^init)"}},
      {"RngSkip.delta", Long(1), {kGenerator, "y = RngSkip(state, one, x, ^init)"}},
      {"RngReadAndSkip.alg", Int(1), {kGenerator, "y = RngReadAndSkip(state, x, step, ^init)"}},
      {"RngReadAndSkip.delta",
       Tensor::Scalar<uint64_t>(1),
       {kGenerator, "y = RngReadAndSkip(state, philox, x, ^init)"}},
      {"StatefulUniform.algorithm",
       Long(1),
       {kGenerator,
        "y = StatefulUniform(state, x, shape, ^init) {dtype: float, shape_dtype: int32}"}},
      {"CollectiveReduceV2.group_size",
       Int(1),
       {kCollective,
        "y = CollectiveReduceV2(value, x, one, two) {T: float, merge_op: \"Add\", "
        "final_op: \"Id\", Nordering_token: 0}"}},
      {"CollectiveReduceV2.group_key",
       Int(1),
       {kCollective,
        "y = CollectiveReduceV2(value, one, x, two) {T: float, merge_op: \"Add\", "
        "final_op: \"Id\", Nordering_token: 0}"}},
      {"CollectiveReduceV2.instance_key",
       Int(1),
       {kCollective,
        "y = CollectiveReduceV2(value, one, two, x) {T: float, merge_op: \"Add\", "
        "final_op: \"Id\", Nordering_token: 0}"}},
      {"CollectiveInitializeCommunicator.group_key",
       Int(1),
       {kCollective, "y = CollectiveInitializeCommunicator(x, zero, one)"}},
      {"CollectiveAssignGroupV2.device_index",
       Int(0),
       {kCollective, "y = CollectiveAssignGroupV2(groups, x, one)"}},
      {"CollectiveAssignGroupV2.base_key",
       Int(1),
       {kCollective, "y = CollectiveAssignGroupV2(groups, zero, x)"}},
      {"StagePeek.index",
       Int(0),
       {kStages, "y = StagePeek(x, ^stage) {dtypes: [float], shared_name: \"a\"}"}},
      {"MapPeek.key",
       Long(3),
       {kStages, "y = MapPeek(x, all, ^put) {dtypes: [float], shared_name: \"m\"}"}},
      {"MapUnstage.key",
       Long(3),
       {kStages, "y = MapUnstage(x, all, ^put) {dtypes: [float], shared_name: \"m\"}"}},
      {"AccumulatorApplyGradient.local_step",
       Long(0),
       {kAccumulator, "y = AccumulatorApplyGradient(sum, x, value) {dtype: float}"}},
      {"AccumulatorSetGlobalStep.new_global_step",
       Long(1),
       {kAccumulator, "y = AccumulatorSetGlobalStep(sum, x)"}},
      {"AccumulatorTakeGradient.num_required",
       Int(1),
       {kAccumulator, "y = AccumulatorTakeGradient(sum, x, ^apply) {dtype: float}"}},
      {"BarrierTakeMany.num_elements", Int(1), {"", R"(
          barrier = Barrier() {component_types: [float], shapes: [<>]}
          keys = Const() {dtype: string, value: string(["a"])}
          values = Const() {dtype: float, value: float([1])}
          insert = BarrierInsertMany(barrier, keys, values) {T: float, component_index: 0}
          y = BarrierTakeMany(barrier, x, ^insert) {component_types: [float]}
        )"}},
      {"ParallelMapDatasetV2.num_parallel_calls",
       Long(1),
       {kDataset,
        "y = ParallelMapDatasetV2(range, x) {f: @twice, Targuments: [], output_types: [int64], "
        "output_shapes: [<>]}"}},
      {"GetElementAtIndex.index",
       Long(1),
       {kDataset, "y = GetElementAtIndex(range, x) {output_types: [int64], output_shapes: [<>]}"}},
      {"GatherV2.axis",
       Int(0),
       {kCollective,
        "y = GatherV2(value, first, x) {Tparams: float, Tindices: int32, Taxis: int32}"}},
      {"LinSpace.start",
       Tensor::Scalar(1.0f),
       {kNumbers, "y = LinSpace(x, four, two) {T: float, Tidx: int32}"}},
      {"LinSpace.stop",
       Tensor::Scalar(1.0f),
       {kNumbers, "y = LinSpace(four, x, two) {T: float, Tidx: int32}"}},
      {"MatrixDiagV2.padding_value",
       Tensor::Scalar(1.0f),
       {kNumbers, "y = MatrixDiagV2(values, one, open, open, x) {T: float}"}},
      {"RegexFullMatch.pattern", Tensor::Scalar("a"), {kNumbers, "y = RegexFullMatch(text, x)"}},
      {"RegexReplace.rewrite",
       Tensor::Scalar("a"),
       {kNumbers, "y = RegexReplace(text, pattern, x)"}},
      {"Fingerprint.method",
       Tensor::Scalar("farmhash64"),
       {kNumbers, "y = Fingerprint(text, x) {T: string}"}},
      {"ReadFile.filename", Tensor::Scalar("/dev/null"), {"", "y = ReadFile(x)"}},
      {"CreateSummaryFileWriter.logdir",
       Tensor::Scalar(absl::StrCat(::testing::TempDir(), "/events")),
       {kTexts, "y = CreateSummaryFileWriter(writer, x, one, one, text)"}},
      {"SparseCrossV2.sep",
       Tensor::Scalar("_"),
       {kTexts,
        "y = SparseCrossV2(indices, names, dims, x) {N: 1, sparse_types: [string], dense_types: "
        "[]}"}},
      {"Unbatch.id",
       Long(7),
       {kBatch, "y = Unbatch(rows, index, x) {T: float, timeout_micros: 100000}"}},
      {"ParseSingleSequenceExample.context_dense_keys",
       Tensor::Scalar("key"),
       {kTexts,
        "y = ParseSingleSequenceExample(text, names, x, value, text) {Ncontext_dense: 1, "
        "Tcontext_dense: [float], context_dense_shapes: [<>]}"}},
      {"ParseSingleSequenceExample.debug_name",
       Tensor::Scalar("name"),
       {kTexts,
        "y = ParseSingleSequenceExample(text, names, text, value, x) {Ncontext_dense: 1, "
        "Tcontext_dense: [float], context_dense_shapes: [<>]}"}},
      {"SparseSplit.split_dim", Long(0), {"", R"(
          first = Const() {dtype: int64, value: int64([0])}
          columns = Const() {dtype: int32, value: int32(1)}
          indices = ExpandDims(first, columns) {T: int64, Tdim: int32}
          values = Const() {dtype: float, value: float([1])}
          shape = Const() {dtype: int64, value: int64([2])}
          y = SparseSplit(x, indices, values, shape) {T: float, num_split: 2}
        )"}},
  };
}

std::vector<Case> LenientCases() {
  static const std::string writes_summary = absl::StrCat(
      R"(folder = Const() {dtype: string, value: string(")", ::testing::TempDir(), R"(/events")}
         create = CreateSummaryFileWriter(writer, folder, one, one, text)
         y = WriteScalarSummary(writer, x, text, one, ^create) {T: int32}
      )");
  return {
      {"MapStage.key",
       Long(3),
       {kStages,
        "y = MapStage(x, all, value) {dtypes: [float], fake_dtypes: [float], shared_name: \"n\"}"}},
      {"QueueDequeueManyV2.n", Int(1), {"", R"(
          queue = FIFOQueueV2() {component_types: [float], shapes: [<>]}
          value = Const() {dtype: float, value: float(1)}
          put = QueueEnqueueV2(queue, value) {Tcomponents: [float]}
          y = QueueDequeueManyV2(queue, x, ^put) {component_types: [float]}
        )"}},
      {"SparseCrossHashed.num_buckets",
       Long(10),
       {kTexts,
        "y = SparseCrossHashed(indices, names, dims, x, yes, longs) {N: 1, sparse_types: [string], "
        "dense_types: []}"}},
      {"SparseCrossHashed.strong_hash",
       Tensor::Scalar(true),
       {kTexts,
        "y = SparseCrossHashed(indices, names, dims, ten, x, longs) {N: 1, sparse_types: [string], "
        "dense_types: []}"}},
      {"WriteScalarSummary.step", Long(1), {kTexts, writes_summary.c_str()}},
      {"ExpandDims.dim", Int(0), {kCollective, "y = ExpandDims(value, x) {T: float, Tdim: int32}"}},
      {"Range.start", Int(0), {kNumbers, "y = Range(x, two, one) {Tidx: int32}"}},
      {"ConcatV2.axis",
       Int(0),
       {kCollective, "y = ConcatV2(value, value, x) {T: float, N: 2, Tidx: int32}"}},
  };
}

// Runs "y" with `value` for "x".
absl::Status RunWith(const Case& argument, const Tensor& value) {
  const std::unique_ptr<Session> session = *Session::Create(SessionOptions());
  tensorflow::GraphDef graph =
      GraphFromText(absl::StrCat("x = Placeholder() {dtype: ", DTypeName(value.dtype()),
                                 ", shape: <*>}\n", argument.nodes.common, argument.nodes.own));
  graph.mutable_versions()->set_producer(1000);
  if (absl::Status status = session->Extend(graph); !status.ok()) return status;
  return session->Run({{"x:0", value}}, {}, {"y"}, nullptr);
}

TEST(ScalarArgumentsTest, VectorsOfOneElementAreRefusedAsTensorFlowRefusesThem) {
  for (const Case& argument : StrictCases()) {
    const absl::Status scalar = RunWith(argument, argument.value);
    EXPECT_TRUE(scalar.ok()) << argument.name << ": " << scalar;
    const absl::Status vector = RunWith(argument, VectorOf(argument.value));
    EXPECT_EQ(vector.code(), absl::StatusCode::kInvalidArgument) << argument.name << ": " << vector;
    EXPECT_THAT(std::string(vector.message()), ::testing::HasSubstr("scalar")) << argument.name;
  }
}

TEST(ScalarArgumentsTest, ColorsOfWrittenImagesAreVectors) {
  const std::string own = absl::StrCat(R"(
    step = Const() {dtype: int64, value: int64(1)}
    tag = Const() {dtype: string, value: string("t")}
    dims = Const() {dtype: int32, value: int32([1, 1, 2, 1])}
    image = Reshape(value, dims) {T: float, Tshape: int32}
    suffix = Const() {dtype: string, value: string("")}
    writer = SummaryWriter()
    folder = Const() {dtype: string, value: string(")",
                                       ::testing::TempDir(), R"(/events")}
    create = CreateSummaryFileWriter(writer, folder, one, one, suffix)
    y = WriteImageSummary(writer, step, tag, image, x, ^create) {T: float}
  )");
  const Tensor color = Tensor::Vector<uint8_t>({255});
  const Case argument = {"WriteImageSummary.bad_color", color, {kCollective, own.c_str()}};
  EXPECT_TRUE(RunWith(argument, color).ok()) << RunWith(argument, color);
  EXPECT_EQ(RunWith(argument, Tensor::Scalar<uint8_t>(255)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ScalarArgumentsTest, BroadcastsOfAnotherShapeThanDeclaredAreInternalErrors) {
  const Case argument = {"CollectiveBcastSend.input",
                         Tensor::Vector<float>({1, 2, 3}),
                         {"",
                          "y = CollectiveBcastSend(x) {T: float, group_size: 1, group_key: 1, "
                          "instance_key: 1, shape: <3>}"}};
  EXPECT_TRUE(RunWith(argument, argument.value).ok()) << RunWith(argument, argument.value);
  EXPECT_EQ(RunWith(argument, Tensor::Vector<float>({1, 2})).code(), absl::StatusCode::kInternal);
}

TEST(ScalarArgumentsTest, BuffersOfCsvFilesHoldSomething) {
  const Case argument = {"CSVDataset.buffer_size", Long(1), {"", R"(
    files = Const() {dtype: string, value: string(["none"])}
    compression = Const() {dtype: string, value: string("")}
    yes = Const() {dtype: bool, value: bool(true)}
    comma = Const() {dtype: string, value: string(",")}
    columns = Const() {dtype: int64, value: int64([])}
    fallback = Const() {dtype: float, value: float([1])}
    y = CSVDataset(files, compression, x, yes, comma, yes, compression, columns, fallback)
        {output_types: [float], output_shapes: [<>]}
  )"}};
  EXPECT_TRUE(RunWith(argument, Long(1)).ok()) << RunWith(argument, Long(1));
  for (const int64_t size : {0, -1}) {
    EXPECT_EQ(RunWith(argument, Long(size)).code(), absl::StatusCode::kInvalidArgument) << size;
  }
}

TEST(ScalarArgumentsTest, VectorsOfOneElementAreTakenWhereTensorFlowTakesThem) {
  for (const Case& argument : LenientCases()) {
    const absl::Status vector = RunWith(argument, VectorOf(argument.value));
    EXPECT_TRUE(vector.ok()) << argument.name << ": " << vector;
  }
}

}  // namespace
}  // namespace tessera
