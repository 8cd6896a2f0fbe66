// Sizes that a request may name though no memory holds them, or nothing lies inside: kernels answer
// at once, with an error or with what is empty.
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/strides.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

Tensor Floats(const Shape& shape) { return Tensor::Zeros(DType::kFloat, shape).value(); }

// No values, yet `rows` rows.
std::vector<Tensor> EmptyMatrix(int64_t rows) {
  return {Tensor::Zeros(DType::kInt64, {0, 2}).value(), Tensor::Zeros(DType::kInt64, {0}).value(),
          Tensor::Vector<int64_t>({rows, 3})};
}

absl::StatusOr<std::vector<Tensor>> RunAll(absl::string_view op, std::vector<Tensor> inputs,
                                           AttrMap attrs = {}) {
  ASSIGN_OR_RETURN(KernelRunner runner, KernelRunner::Create(op, inputs, std::move(attrs)));
  return runner.Run(std::move(inputs));
}

TEST(HostileSizesTest, RowsWithoutValuesAreNotCounted) {
  std::vector<Tensor> inputs = EmptyMatrix(kHuge);
  inputs.push_back(Tensor::Zeros(DType::kInt64, {0}).value());
  const auto counts = RunAll("SparseCountSparseOutput", inputs,
                             {{"output_type", DType::kInt64}, {"binary_output", false}});
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ((*counts)[0].shape(), Shape({0, 2}));
  EXPECT_EQ((*counts)[2].flat<int64_t>()[0], kHuge);
}

TEST(HostileSizesTest, RowsOfNothingHaveNoBins) {
  const auto bins = RunOp("DenseBincount", {Tensor::Zeros(DType::kInt64, {kHuge, 0}).value(),
                                            Tensor::Scalar<int64_t>(0), Floats({0})});
  ASSERT_TRUE(bins.ok()) << bins.status();
  EXPECT_EQ(bins->shape(), Shape({kHuge, 0}));
}

TEST(HostileSizesTest, NoWidthIsAboveTheGreatestInteger) {
  const Tensor values = Tensor::Vector<int64_t>({std::numeric_limits<int64_t>::max()});
  const auto counts =
      RunAll("DenseCountSparseOutput", {values, Tensor::Zeros(DType::kInt64, {0}).value()},
             {{"output_type", DType::kInt64}, {"binary_output", false}});
  EXPECT_EQ(counts.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HostileSizesTest, LogarithmOfSingularMatrixEnds) {
  const Tensor zeros = Tensor::Zeros(DType::kComplex128, {3, 3}).value();
  const auto logarithm = RunOp("MatrixLogarithm", {zeros});
  ASSERT_TRUE(logarithm.ok()) << logarithm.status();
  EXPECT_TRUE(std::isnan(logarithm->flat<std::complex<double>>()[0].real()));
}

TEST(HostileSizesTest, MoreClassesThanCountsAreRefused) {
  const Tensor classes = Tensor::Of<int64_t>({1, 1}, {0});
  const auto sampled = RunAll("FixedUnigramCandidateSampler", {classes},
                              {{"num_true", 1},
                               {"num_sampled", 2},
                               {"unique", true},
                               {"range_max", kHuge},
                               {"unigrams", std::vector<float>{1, 1}}});
  EXPECT_EQ(sampled.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HostileSizesTest, RowsWithoutValuesAreNotCrossed) {
  const auto crosses = RunAll("SparseCross", EmptyMatrix(std::numeric_limits<int32_t>::max()),
                              {{"N", 1},
                               {"hashed_output", true},
                               {"num_buckets", 0},
                               {"hash_key", 1},
                               {"sparse_types", std::vector<DType>{DType::kInt64}},
                               {"dense_types", std::vector<DType>{}},
                               {"out_type", DType::kInt64},
                               {"internal_type", DType::kInt64}});
  ASSERT_TRUE(crosses.ok()) << crosses.status();
  EXPECT_EQ((*crosses)[0].shape(), Shape({0, 2}));
}

TEST(HostileSizesTest, TooManyEmptyRowsAreNotFilled) {
  std::vector<Tensor> inputs = EmptyMatrix(int64_t{1} << 34);
  inputs.push_back(Tensor::Scalar<int64_t>(0));
  EXPECT_EQ(RunAll("SparseFillEmptyRows", inputs).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(HostileSizesTest, RowsOfNothingAddUpToNothing) {
  const auto sums = RunOp("SparseSegmentSum", {Floats({0, kHuge}), Tensor::Vector<int32_t>({}),
                                               Tensor::Vector<int32_t>({})});
  EXPECT_EQ(sums->shape(), Shape({0, kHuge}));
}

TEST(HostileSizesTest, GradientsOfEmptySegmentsAreEmpty) {
  const Tensor none = Tensor::Vector<int32_t>({});
  const auto gradient =
      RunOp("SparseSegmentMeanGrad", {Floats({kHuge, 0}), none, none, Tensor::Scalar<int32_t>(2)});
  EXPECT_EQ(gradient->shape(), Shape({2, 0}));
}

// Rows take memory even where no memory for their values is asked for.
TEST(HostileSizesTest, TooManyEmptyRowsAreNotSplit) {
  for (const char* op : {"SerializeManySparse", "AddManySparseToTensorsMap"}) {
    for (const int64_t rows : {kHuge, int64_t{1} << 26}) {
      EXPECT_EQ(RunAll(op, EmptyMatrix(rows), {{"T", DType::kInt64}}).status().code(),
                absl::StatusCode::kResourceExhausted);
    }
  }
}

TEST(HostileSizesTest, CentersWithoutCoordinatesAreEquallyNear) {
  const auto nearest =
      RunAll("NearestNeighbors", {Floats({1, 0}), Floats({kHuge, 0}), Tensor::Scalar<int64_t>(2)});
  ASSERT_TRUE(nearest.ok()) << nearest.status();
  EXPECT_EQ((*nearest)[0].flat<int64_t>()[1], 1);
  EXPECT_EQ((*nearest)[1].flat<float>()[1], 0);
  const auto none =
      RunAll("NearestNeighbors", {Floats({kHuge, 0}), Floats({1, 0}), Tensor::Scalar<int64_t>(0)});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ((*none)[0].shape(), Shape({kHuge, 0}));
}

TEST(HostileSizesTest, PointsWithoutCoordinatesAreNotDrawn) {
  const Tensor points = Floats({kHuge, 0}), three = Tensor::Scalar<int64_t>(3);
  const auto drawn = RunOp("KmeansPlusPlusInitialization", {points, three, three, three});
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_EQ(drawn->shape(), Shape({3, 0}));
}

TEST(HostileSizesTest, TooManyEmptyRowsOfVariantsAreNotJoined) {
  const Tensor variants = Tensor::Zeros(DType::kVariant, {kHuge, 0}).value();
  const auto joined = RunAll("RaggedTensorFromVariant", {variants},
                             {{"input_ragged_rank", 0},
                              {"output_ragged_rank", 2},
                              {"Tvalues", DType::kFloat},
                              {"Tsplits", DType::kInt64}});
  EXPECT_EQ(joined.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(HostileSizesTest, SystemsWithoutUnknownsAreSolved) {
  const auto solved = RunOp("MatrixTriangularSolve", {Floats({kHuge, 0, 0}), Floats({1, 0, 2})});
  EXPECT_EQ(solved->shape(), Shape({kHuge, 0, 2}));
  const auto crossed =
      RunOp("MatrixTriangularSolve", {Floats({1 << 20, 1, 1, 1}), Floats({1 << 20, 1, 1})});
  EXPECT_EQ(crossed.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(HostileSizesTest, EmptyStringsAreNotJoined) {
  const Tensor empty = Tensor::Zeros(DType::kString, {2, 0}).value();
  const auto joined = RunOp("UnsortedSegmentJoin", {empty, Tensor::Vector<int32_t>({0, 1}),
                                                    Tensor::Scalar<int64_t>(kHuge)});
  EXPECT_EQ(joined->shape(), Shape({kHuge, 0}));
}

TEST(HostileSizesTest, EmptyRowsAreNotShuffled) {
  EXPECT_EQ(RunOp("RandomShuffle", {Floats({kHuge, 0})})->shape(), Shape({kHuge, 0}));
}

TEST(HostileSizesTest, EmptyRowsHaveNoGreatestElements) {
  const auto best = RunAll("TopKV2", {Floats({kHuge, 0}), Tensor::Scalar<int32_t>(0)});
  EXPECT_EQ((*best)[0].shape(), Shape({kHuge, 0}));
}

TEST(HostileSizesTest, EmptyMatricesHaveNoFactors) {
  EXPECT_EQ((*RunAll("Qr", {Floats({kHuge, 2, 0})}))[1].shape(), Shape({kHuge, 0, 0}));
  EXPECT_EQ((*RunAll("Svd", {Floats({kHuge, 2, 0})}))[0].shape(), Shape({kHuge, 0}));
}

TEST(HostileSizesTest, ImagesWithoutPixelsStayEmpty) {
  const auto warped =
      RunOp("ImageProjectiveTransformV2",
            {Floats({kHuge, 2, 2, 0}), Floats({1, 8}), Tensor::Vector<int32_t>({2, 2})},
            {{"interpolation", "NEAREST"}});
  EXPECT_EQ(warped->shape(), Shape({kHuge, 2, 2, 0}));
  const std::vector<int64_t> ones = {1, 1, 1, 1};
  const auto patches =
      RunOp("ExtractImagePatches", {Floats({kHuge, 2, 2, 0})},
            {{"ksizes", ones}, {"strides", ones}, {"rates", ones}, {"padding", "VALID"}});
  EXPECT_EQ(patches->shape(), Shape({kHuge, 2, 2, 0}));
  const auto scaled =
      RunOp("ScaleAndTranslate", {Floats({0, 2, 2, 1}), Tensor::Vector<int32_t>({1 << 30, 1 << 30}),
                                  Tensor::Vector<float>({1, 1}), Tensor::Vector<float>({0, 0})});
  EXPECT_EQ(scaled->shape(), Shape({0, 1 << 30, 1 << 30, 1}));
  const auto gradient = RunOp(
      "MaxPoolGrad", {Floats({kHuge, 2, 2, 0}), Floats({kHuge, 2, 2, 0}), Floats({kHuge, 2, 2, 0})},
      {{"ksize", ones}, {"strides", ones}, {"padding", "VALID"}});
  EXPECT_EQ(gradient->shape(), Shape({kHuge, 2, 2, 0}));
}

TEST(HostileSizesTest, NothingIsDrawnFromNoRows) {
  const auto drawn = RunOp("Multinomial", {Floats({0, kHuge}), Tensor::Scalar<int32_t>(3)});
  EXPECT_EQ(drawn->shape(), Shape({0, 3}));
}

TEST(HostileSizesTest, GradientsOfNothingAreEmpty) {
  const auto resized = RunOp(
      "ResizeNearestNeighborGrad",
      {Floats({0, std::numeric_limits<int32_t>::max(), 4, 1}), Tensor::Vector<int32_t>({2, 2})});
  EXPECT_EQ(resized->shape(), Shape({0, 2, 2, 1}));
  const Tensor none = Tensor::Zeros(DType::kInt32, {2, 2}).value();
  const auto folded = RunOp("MirrorPadGrad", {Floats({kHuge, 0}), none}, {{"mode", "SYMMETRIC"}});
  EXPECT_EQ(folded->shape(), Shape({kHuge, 0}));
}

TEST(HostileSizesTest, BoxesOfNoClassAreNotDetected) {
  const Tensor one = Tensor::Scalar<int32_t>(1), half = Tensor::Scalar(0.5f);
  const auto detected =
      RunAll("CombinedNonMaxSuppression",
             {Floats({1, kHuge, 0, 4}), Floats({1, kHuge, 0}), one, one, half, half},
             {{"pad_per_class", false}, {"clip_boxes", true}});
  ASSERT_TRUE(detected.ok()) << detected.status();
  EXPECT_EQ((*detected)[3].flat<int32_t>()[0], 0);
}

TEST(HostileSizesTest, TooManyRaggedRowsAreNotGathered) {
  const auto gathered = RunAll("RaggedGather",
                               {Tensor::Vector<int64_t>({0, 1}), Floats({1}),
                                Tensor::Zeros(DType::kInt64, {kHuge, 0}).value()},
                               {{"PARAMS_RAGGED_RANK", 1},
                                {"OUTPUT_RAGGED_RANK", 2},
                                {"Tvalues", DType::kFloat},
                                {"Tsplits", DType::kInt64},
                                {"Tindices", DType::kInt64}});
  EXPECT_EQ(gathered.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(HostileSizesTest, RaggedRowsWithoutElementsHaveNoPlaces) {
  const auto sparse =
      RunAll("RaggedTensorToSparse", {Tensor::Vector<int64_t>({0, kHuge}), Floats({kHuge, 0})},
             {{"RAGGED_RANK", 1}, {"T", DType::kFloat}, {"Tsplits", DType::kInt64}});
  ASSERT_TRUE(sparse.ok()) << sparse.status();
  EXPECT_EQ((*sparse)[0].shape(), Shape({0, 3}));
  EXPECT_EQ((*sparse)[2].flat<int64_t>(), absl::MakeConstSpan({int64_t{1}, kHuge, int64_t{0}}));
}

TEST(HostileSizesTest, PlacesWithoutCoordinatesRepeat) {
  const Tensor places = Tensor::Zeros(DType::kInt64, {kHuge, 0}).value();
  const Tensor scalar = Tensor::Vector<int64_t>({});
  const auto dense =
      RunOp("SparseToDense", {places, scalar, Tensor::Scalar(1.f), Tensor::Scalar(0.f)});
  EXPECT_EQ(dense.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HostileSizesTest, NothingIsQuantizedManyTimes) {
  const auto y = RunAll(
      "QuantizeV2", {Floats({kHuge, 1, 0}), Tensor::Vector<float>({0}), Tensor::Vector<float>({1})},
      {{"T", DType::kQuint8}, {"axis", 1}});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0].shape(), Shape({kHuge, 1, 0}));
}

TEST(HostileSizesTest, ListsAreOfAsManyTensorsOfTheirTypes) {
  const AttrMap floats = {{"T", DType::kFloat}, {"N", 1}};
  for (const std::vector<DType>& types :
       std::vector<std::vector<DType>>{{DType::kFloat, DType::kFloat}, {DType::kInt64}}) {
    AttrMap attrs = floats;
    attrs["out_types"] = types;
    EXPECT_EQ(RunAll("_ArrayToList", {Floats({2})}, attrs).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(HostileSizesTest, BlocksWhoseSquareOverflowsAreRefused) {
  const auto y = RunOp("DepthToSpace", {Floats({1, 1, 1, 4})}, {{"block_size", int64_t{1} << 32}});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HostileSizesTest, DefaultsHaveTheShapeOfTheirPlaceholder) {
  const auto run = [](PartialShape shape) {
    return RunAll("PlaceholderWithDefault", {Floats({2, 3})}, {{"shape", std::move(shape)}});
  };
  EXPECT_TRUE(run(PartialShape({-1, 3})).ok());
  EXPECT_TRUE(run(PartialShape()).ok());
  EXPECT_EQ(run(PartialShape({2})).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HostileSizesTest, NothingIsAddedToBooleans) {
  const Tensor handle = Tensor::Scalar(ResourceHandle());
  for (const char* op : {"AssignAddVariableOp", "AssignSubVariableOp"}) {
    EXPECT_EQ(RunAll(op, {handle, Tensor::Scalar(true)}, {{"dtype", DType::kBool}}).status().code(),
              absl::StatusCode::kNotFound);
  }
}

TEST(HostileSizesTest, NothingIsDrawnIntoImagesWithoutPixels) {
  const Tensor box = Tensor::Of<float>({1, 1, 4}, {-2, 1, 2, -5});
  const auto drawn = RunOp("DrawBoundingBoxes", {Floats({1, kHuge, 0, 1}), box});
  EXPECT_EQ(drawn->shape(), Shape({1, kHuge, 0, 1}));
}

TEST(HostileSizesTest, CropsWithoutChannelsHaveNoGradient) {
  constexpr int64_t kLargest = int64_t{1} << 24;
  const Tensor box = Tensor::Of<float>({1, 4}, {0, 0, 1, 1}), first = Tensor::Vector<int32_t>({0});
  const Tensor crops = Floats({1, kLargest, kLargest, 0});
  const auto of_image =
      RunOp("CropAndResizeGradImage", {crops, box, first, Tensor::Vector<int32_t>({1, 2, 2, 0})},
            {{"T", DType::kFloat}});
  EXPECT_EQ(of_image->shape(), Shape({1, 2, 2, 0}));
  const auto of_box = RunOp("CropAndResizeGradBoxes", {crops, Floats({1, 2, 2, 0}), box, first});
  ASSERT_TRUE(of_box.ok()) << of_box.status();
  EXPECT_EQ(of_box->flat<float>()[3], 0);
}

TEST(HostileSizesTest, WindowsOfImagesWithoutChannelsAreEmpty) {
  const auto glimpse =
      RunOp("ExtractGlimpse",
            {Floats({1, kHuge, 1, 0}),
             Tensor::Vector<int32_t>({std::numeric_limits<int32_t>::max(), 1}), Floats({1, 2})});
  EXPECT_EQ(glimpse->shape(), Shape({1, std::numeric_limits<int32_t>::max(), 1, 0}));
  const auto crop =
      RunOp("RandomCrop", {Floats({kHuge, 3, 0}), Tensor::Vector<int64_t>({kHuge, 2})});
  EXPECT_EQ(crop->shape(), Shape({kHuge, 2, 0}));
}

// 7 times kInverse wraps around to 1.
TEST(HostileSizesTest, PatchesWhoseVolumeOverflowsAreRefused) {
  constexpr int64_t kInverse = 7905747460161236407;
  const std::vector<int64_t> ones = {1, 1, 1, 1, 1};
  const auto patches = RunOp("ExtractVolumePatches", {Floats({1, 2, 2, 2, 1})},
                             {{"ksizes", std::vector<int64_t>{1, 7, kInverse, 1, 1}},
                              {"strides", ones},
                              {"padding", "SAME"}});
  EXPECT_EQ(patches.status().code(), absl::StatusCode::kInvalidArgument);
  constexpr int64_t kLong = std::numeric_limits<int32_t>::max();
  const auto long_patches = RunOp("ExtractVolumePatches", {Floats({1, 2, 2, 2, 1})},
                                  {{"ksizes", std::vector<int64_t>{1, kLong, kLong, kLong, 1}},
                                   {"strides", ones},
                                   {"padding", "SAME"}});
  EXPECT_EQ(long_patches.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HostileSizesTest, WindowsThatFitInNoNumberAreRefused) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> ones = {1, 1, 1, 1};
  const auto pool = [&](std::vector<int64_t> ksize, std::vector<int64_t> paddings) {
    return RunOp("MaxPool", {Floats({1, 2, 2, 1})},
                 {{"ksize", std::move(ksize)},
                  {"strides", ones},
                  {"padding", paddings.empty() ? "SAME" : "EXPLICIT"},
                  {"explicit_paddings", std::move(paddings)}});
  };
  EXPECT_TRUE(pool({1, 2, 2, 1}, {0, 0, 1, 1, 0, 0, 0, 0}).ok());
  EXPECT_EQ(pool({1, 2, 2, 1}, {0, 0, kMost, kMost, 0, 0, 0, 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(HostileSizesTest, PooledImagesWithoutChannelsAreRefused) {
  const Tensor shape = Tensor::Vector<int64_t>({1, kHuge, 1 << 20, 0});
  const auto gradient = RunOp("FractionalAvgPoolGrad",
                              {shape, Floats({1, 1, 1, 0}), Tensor::Vector<int64_t>({0, kHuge}),
                               Tensor::Vector<int64_t>({0, 1 << 20})});
  EXPECT_EQ(gradient.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HostileSizesTest, JoinedSizesThatOverflowAreRefused) {
  constexpr int64_t kQuarter = int64_t{1} << 62;
  const Tensor wide = Floats({0, kQuarter}), axis = Tensor::Scalar<int32_t>(1);
  EXPECT_EQ(RunOp("ConcatV2", {wide, wide, wide, wide, axis}, {{"N", 4}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::vector<int64_t> quarters(5, kQuarter);
  EXPECT_EQ(RunAll("SplitV", {wide, Tensor::Vector<int64_t>(quarters), axis}, {{"num_split", 5}})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(HostileSizesTest, ProductsWithoutElementsAreNotOrdered) {
  // lhs_contracting_dimensions: 1, rhs_contracting_dimensions: 0
  const std::string numbers("\x0a\x01\x01\x12\x01\x00", 6);
  const auto product = RunOp("XlaDot", {Floats({1 << 30, 0}), Floats({0, 0})},
                             {{"dimension_numbers", numbers}, {"precision_config", std::string()}});
  EXPECT_EQ(product->shape(), Shape({1 << 30, 0}));
}

TEST(HostileSizesTest, SlicesWithoutElementsGiveZeros) {
  // offset_dims: 1, collapsed_slice_dims: 0, start_index_map: 0, index_vector_dim: 1
  const std::string numbers("\x0a\x01\x01\x12\x01\x00\x1a\x01\x00\x20\x01", 11);
  const auto gather = [&](const Shape& operand, std::vector<int32_t> sizes) {
    return RunOp(
        "XlaGather",
        {Floats(operand), Tensor::Of<int32_t>({2, 1}, {0, 2}), Tensor::Vector<int32_t>(sizes)},
        {{"dimension_numbers", numbers}, {"indices_are_sorted", false}});
  };
  EXPECT_EQ(gather({3, 2}, {1, 2})->shape(), Shape({2, 2}));
  EXPECT_EQ(gather({3, 2}, {1, 0})->shape(), Shape({2, 0}));
  for (const Shape& operand : {Shape{3, 2}, Shape{0, 2}}) {
    const auto zeros = gather(operand, {0, 2});
    ASSERT_TRUE(zeros.ok()) << zeros.status();
    EXPECT_EQ(zeros->shape(), Shape({2, 2}));
    EXPECT_EQ(zeros->flat<float>()[3], 0);
  }
}

TEST(HostileSizesTest, StepsOfAnEmptyBatchAreNotTaken) {
  const Tensor states = Floats({0, 3}), weights = Floats({6, 12}), peepholes = Floats({3});
  const auto y = RunAll("BlockLSTM", {Tensor::Scalar(kHuge), Floats({kHuge, 0, 3}), states, states,
                                      weights, peepholes, peepholes, peepholes, Floats({12})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[6].shape(), Shape({kHuge, 0, 3}));
}

TEST(HostileSizesTest, ImagesWithoutPixelsAreNotMirrored) {
  const Tensor none = Tensor::Zeros(DType::kInt32, {4, 2}).value();
  const Tensor images = Floats({0, kHuge, 4, 1}), filter = Floats({2, 2, 1, 3});
  const AttrMap attrs = {
      {"mode", "REFLECT"}, {"strides", std::vector<int64_t>(4, 1)}, {"padding", "VALID"}};
  const auto padded = RunOp("FusedPadConv2D", {images, none, filter}, attrs);
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_EQ(padded->shape(), Shape({0, kHuge - 1, 3, 3}));
  const Tensor size = Tensor::Vector<int32_t>({std::numeric_limits<int32_t>::max(), 2});
  const auto resized = RunOp("FusedResizeAndPadConv2D", {images, size, none, filter}, attrs);
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_EQ(resized->shape(), Shape({0, std::numeric_limits<int32_t>::max() - 1, 1, 3}));
}

TEST(HostileSizesTest, QuantizedProductsWithoutElementsAreNotComputed) {
  const Tensor a = Tensor::Zeros(DType::kQint8, {kHuge, 0}).value();
  const Tensor b = Tensor::Zeros(DType::kQint8, {0, 0}).value();
  const Tensor scale = Tensor::Scalar(1.f), zero = Tensor::Scalar<int32_t>(0);
  const AttrMap of_right = {{"rhs_quantization_min_val", -128}, {"rhs_quantization_max_val", 127}};
  AttrMap attrs = of_right;
  for (const char* side : {"lhs", "output"}) {
    attrs[absl::StrCat(side, "_quantization_min_val")] = int64_t{-128};
    attrs[absl::StrCat(side, "_quantization_max_val")] = int64_t{127};
  }
  attrs["Tout"] = DType::kQint32;
  const auto y = RunOp("UniformQuantizedDot", {a, b, scale, zero, scale, zero, scale, zero}, attrs);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->shape(), Shape({kHuge, 0}));
  AttrMap hybrid = of_right;
  hybrid["Tout"] = DType::kFloat;
  const auto z = RunOp("UniformQuantizedDotHybrid", {Floats({kHuge, 0}), b, scale, zero}, hybrid);
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_EQ(z->shape(), Shape({kHuge, 0}));
}

TEST(HostileSizesTest, QuantizedConvolutionsWithoutElementsAreNotComputed) {
  const auto bytes = [](const Shape& shape) { return Tensor::Zeros(DType::kQint8, shape).value(); };
  const Tensor scale = Tensor::Scalar(1.f), zero = Tensor::Scalar<int32_t>(0);
  AttrMap attrs = {{"padding", "SAME"}, {"Tout", DType::kFloat}};
  const auto add_range = [&](const std::string& side, int64_t min, int64_t max) {
    attrs[side + "_quantization_min_val"] = min;
    attrs[side + "_quantization_max_val"] = max;
  };
  add_range("rhs", -128, 127);
  const auto images = RunOp("UniformQuantizedConvolutionHybrid",
                            {Floats({kHuge, 1, 0, 0}), bytes({2, 1, 1, 1}), scale, zero}, attrs);
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ(images->shape(), Shape({kHuge, 2, 0, 0}));
  add_range("lhs", -128, 127);
  add_range("output", std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  attrs["Tout"] = DType::kQint32;
  const auto features = RunOp(
      "UniformQuantizedConvolution",
      {bytes({0, 0, 3, 3}), bytes({kHuge, 0, 1, 1}), scale, zero, scale, zero, scale, zero}, attrs);
  ASSERT_TRUE(features.ok()) << features.status();
  EXPECT_EQ(features->shape(), Shape({0, kHuge, 3, 3}));
}

TEST(HostileSizesTest, NoWeightsAreMadeForImagesOfAnEmptyBatch) {
  const Tensor zero = Tensor::Scalar(0.f);
  const auto resized = RunAll("QuantizedResizeBilinear",
                              {Floats({0, 2, 2, 1}), Tensor::Vector<int32_t>({1 << 30, 1 << 30}),
                               zero, Tensor::Scalar(1.f)});
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_EQ((*resized)[0].shape(), Shape({0, 1 << 30, 1 << 30, 1}));
  const auto gradient =
      RunOp("ResizeBilinearGrad", {Floats({0, 1 << 30, 1 << 30, 1}), Floats({0, 2, 2, 1})});
  EXPECT_EQ(gradient->shape(), Shape({0, 2, 2, 1}));
}

TEST(HostileSizesTest, ProductsThatOverflowAreThoseOfShapesWithoutElements) {
  constexpr int64_t kOdd = kHuge + 1;  // a square that is not 0 modulo 2^64
  const Shape shape{0, kOdd, kOdd};
  EXPECT_EQ(DimProduct(shape, 1, 3), 0);
  EXPECT_EQ(DimProduct(shape, 1, 2), kOdd);
  EXPECT_EQ(DimProduct(shape, 0, 3), 0);
  EXPECT_EQ(DimProduct(shape, 3, 3), 1);
  EXPECT_EQ(RowMajorStrides(shape.dims())[2], 1);
  EXPECT_EQ(RowMajorStrides(shape.dims())[1], kOdd);
  EXPECT_EQ(RowMajorStrides(shape.dims())[0], 0);
}

TEST(HostileSizesTest, TooManySetsWithoutElementsAreRefused) {
  const Tensor many = Tensor::Zeros(DType::kInt32, {1 << 20, 1 << 10, 0}).value();
  const Tensor few = Tensor::Zeros(DType::kInt32, {2, 3, 0}).value();
  const Tensor none = Tensor::Zeros(DType::kInt32, {0}).value();
  const AttrMap attrs{{"set_operation", std::string("union")}};
  const Tensor positions = Tensor::Zeros(DType::kInt64, {0, 3}).value();
  const Tensor shape = Tensor::Vector<int64_t>({1 << 20, 1 << 10, 1});
  EXPECT_EQ(RunAll("DenseToDenseSetOperation", {many, many}, attrs).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(
      RunAll("DenseToSparseSetOperation", {many, positions, none, shape}, attrs).status().code(),
      absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RunAll("SetSize", {positions, none, shape}).status().code(),
            absl::StatusCode::kResourceExhausted);
  const auto united = RunAll("DenseToDenseSetOperation", {few, few}, attrs);
  ASSERT_TRUE(united.ok()) << united.status();
  EXPECT_EQ((*united)[0].shape(), Shape({0, 3}));
}

}  // namespace
}  // namespace tessera
