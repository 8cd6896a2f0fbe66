// Constant weights are packed by OpKernel::Prepare(): the first run after it reads none of them.
#include <cmath>
#include <cstring>
#include <random>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using Ints = std::vector<int64_t>;
using Ops = std::vector<std::string>;

Tensor Floats(const Shape& shape, int seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  Tensor tensor = Tensor::Zeros(DType::kFloat, shape).value();
  for (float& x : tensor.flat<float>()) x = value(random);
  return tensor;
}

Tensor Bytes(DType dtype, const Shape& shape, int seed) {
  std::mt19937 random(seed);
  Tensor tensor = Tensor::Zeros(dtype, shape).value();
  for (size_t i = 0; i < tensor.size_bytes(); ++i) {
    tensor.mutable_raw()[i] = static_cast<char>(random());
  }
  return tensor;
}

Tensor Number(float x) { return Tensor::Scalar<float>(x); }

// A call of an op, and the positions of its weights.
struct Call {
  const char* op;
  std::vector<Tensor> inputs;
  std::vector<int> weights;
  AttrMap attrs;
};

double LargestOf(const Tensor& tensor) {
  double largest = 0;
  for (const float x : tensor.flat<float>()) largest = std::max<double>(largest, std::abs(x));
  return largest;
}

void ExpectSame(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.shape(), want.shape());
  if (want.dtype() != DType::kFloat) {
    EXPECT_EQ(std::memcmp(got.raw(), want.raw(), want.size_bytes()), 0);
    return;
  }
  const double tolerance = 1e-5 * LargestOf(want);
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], tolerance) << i;
  }
}

// Overwrites constant weights once the kernel is prepared, and expects what weights that vary give.
void ExpectPrepared(const Call& call, Numerics numerics) {
  SCOPED_TRACE(call.op);
  KernelRunner varying =
      KernelRunner::Create(call.op, call.inputs, call.attrs, {.numerics = numerics}).value();
  const std::vector<Tensor> expected = varying.Run(call.inputs).value();
  std::vector<Tensor> inputs = call.inputs;
  for (const int i : call.weights) inputs[i] = inputs[i].DeepCopy().value();
  KernelRunner prepared = KernelRunner::Create(call.op, inputs, call.attrs,
                                               {.constants = call.weights, .numerics = numerics})
                              .value();
  constexpr char kOtherByte = 0x5a;  // four of them are a float of 1.5e16
  for (const int i : call.weights) {
    std::memset(inputs[i].mutable_raw(), kOtherByte, inputs[i].size_bytes());
  }
  for (int run = 0; run < 2; ++run) {
    const std::vector<Tensor> got = prepared.Run(inputs).value();
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) ExpectSame(got[i], expected[i]);
  }
}

void ExpectPrepared(const std::vector<Call>& calls, Numerics numerics) {
  for (const Call& call : calls) ExpectPrepared(call, numerics);
}

Call MatMul(int64_t m, bool transpose_b) {
  return {
      .op = "MatMul",
      .inputs = {Floats({m, 256}, 1), Floats(transpose_b ? Shape{288, 256} : Shape{256, 288}, 2)},
      .weights = {1},
      .attrs = {{"transpose_b", transpose_b}}};
}

Call BatchMatMul(bool adjoint) {
  return {
      .op = "BatchMatMulV2",
      .inputs = {Floats({2, 3, 256}, 1), Floats(adjoint ? Shape{288, 256} : Shape{256, 288}, 2)},
      .weights = {1},
      .attrs = {{"adj_y", adjoint}}};
}

TEST(PreparedWeightsTest, MatricesWithStrictNumerics) {
  ExpectPrepared({MatMul(1, false), MatMul(40, true), BatchMatMul(false), BatchMatMul(true)},
                 Numerics::kStrict);
}

TEST(PreparedWeightsTest, MatricesWithFastNumericsWhereASingleRowGainsByIt) {
  const MachineSpeeds& speeds = SpeedsForCpu();
  if (speeds.has_amx || !speeds.has_avx512 || speeds.packed_gemv_bytes <= speeds.gemv_bytes) {
    GTEST_SKIP() << "needs a processor that reads packed weights faster";
  }
  ExpectPrepared({MatMul(1, false), MatMul(40, true), BatchMatMul(false), BatchMatMul(true)},
                 Numerics::kFast);
}

TEST(PreparedWeightsTest, RecurrentBlocks) {
  if (!SpeedsForCpu().has_avx512) GTEST_SKIP() << "needs AVX-512";
  const int64_t batch = 3, inputs = 20, cells = 32;
  const auto peephole = [&](int seed) { return Floats({cells}, seed); };
  const std::vector<Tensor> of_cell = {Floats({batch, inputs}, 1),
                                       Floats({batch, cells}, 2),
                                       Floats({batch, cells}, 3),
                                       Floats({inputs + cells, 4 * cells}, 4),
                                       peephole(5),
                                       peephole(6),
                                       peephole(7),
                                       Floats({4 * cells}, 8)};
  std::vector<Tensor> of_sequence = of_cell;
  of_sequence[0] = Floats({5, batch, inputs}, 9);
  of_sequence.insert(of_sequence.begin(), Tensor::Scalar<int64_t>(5));
  ExpectPrepared(
      {{.op = "LSTMBlockCell", .inputs = of_cell, .weights = {3}, .attrs = {}},
       {.op = "BlockLSTM", .inputs = of_sequence, .weights = {4}, .attrs = {}},
       {.op = "GRUBlockCell",
        .inputs = {Floats({batch, inputs}, 1), Floats({batch, cells}, 2),
                   Floats({inputs + cells, 2 * cells}, 3), Floats({inputs + cells, cells}, 4),
                   Floats({2 * cells}, 5), Floats({cells}, 6)},
        .weights = {2, 3},
        .attrs = {}}},
      Numerics::kStrict);
}

TEST(PreparedWeightsTest, SeparableBlocks) {
  const auto attrs = [](int64_t layers, const Ops& expand) {
    return AttrMap{{"num_layers", layers},
                   {"strides", Ints{1, 1, 1, 1}},
                   {"padding", "SAME"},
                   {"expand_ops", expand},
                   {"depthwise_ops", Ops{"BiasAdd", "Relu6"}},
                   {"project_ops", Ops{"BiasAdd"}}};
  };
  const std::vector<Call> calls = {
      {.op = "_SeparableBlock",
       .inputs = {Floats({2, 5, 5, 12}, 1), Floats({1, 1, 12, 36}, 2), Floats({3, 3, 36, 1}, 3),
                  Floats({1, 1, 36, 20}, 4), Floats({36}, 5), Floats({36}, 6), Floats({20}, 7)},
       .weights = {1, 2, 3},
       .attrs = attrs(3, {"BiasAdd", "Relu6"})},
      {.op = "_SeparableBlock",
       .inputs = {Floats({2, 5, 5, 36}, 1), Floats({3, 3, 36, 1}, 3), Floats({1, 1, 36, 20}, 4),
                  Floats({36}, 6), Floats({20}, 7)},
       .weights = {1, 2},
       .attrs = attrs(2, {})}};
  for (const Numerics numerics : {Numerics::kFast, Numerics::kStrict}) {
    ExpectPrepared(calls, numerics);
  }
}

TEST(PreparedWeightsTest, BytesOfMatrices) {
  for (const DType dtype : {DType::kQint8, DType::kQuint8}) {
    for (const bool transpose : {false, true}) {
      const Shape shape = transpose ? Shape{70, 33} : Shape{33, 70};
      ExpectPrepared({.op = "QuantizedMatMul",
                      .inputs = {Bytes(DType::kQuint8, {3, 33}, 1), Bytes(dtype, shape, 2),
                                 Number(-0.5), Number(2), Number(-1), Number(1.5)},
                      .weights = {1},
                      .attrs = {{"transpose_b", transpose}, {"Toutput", DType::kQint32}}},
                     Numerics::kFast);
    }
  }
  for (const bool transpose : {false, true}) {
    ExpectPrepared({.op = "QuantizedMatMulWithBias",
                    .inputs = {Bytes(DType::kQuint8, {3, 33}, 1),
                               Bytes(DType::kQint8, transpose ? Shape{70, 33} : Shape{33, 70}, 2),
                               Floats({70}, 3), Number(-0.5), Number(2), Number(-1), Number(1.5)},
                    .weights = {1},
                    .attrs = {{"transpose_b", transpose}}},
                   Numerics::kFast);
  }
}

TEST(PreparedWeightsTest, BytesOfFilters) {
  const AttrMap attrs = {
      {"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}, {"out_type", DType::kQint32}};
  const Tensor images = Bytes(DType::kQuint8, {2, 6, 7, 5}, 1);
  for (const DType dtype : {DType::kQint8, DType::kQuint8}) {
    ExpectPrepared({.op = "QuantizedConv2D",
                    .inputs = {images, Bytes(dtype, {3, 3, 5, 19}, 2), Number(-0.5), Number(2),
                               Number(-1), Number(1.5)},
                    .weights = {1},
                    .attrs = attrs},
                   Numerics::kFast);
  }
  ExpectPrepared({.op = "QuantizedConv2DWithBias",
                  .inputs = {images, Bytes(DType::kQint8, {3, 3, 5, 19}, 2), Floats({19}, 3),
                             Number(0), Number(2), Number(-1), Number(1.5)},
                  .weights = {1},
                  .attrs = attrs},
                 Numerics::kFast);
}

// What a kernel cannot multiply by is left to Compute(), which says so.
TEST(PreparedWeightsTest, WeightsOfOtherShapesAreRefusedByTheRun) {
  const auto run = [](const Call& call) {
    absl::StatusOr<KernelRunner> runner =
        KernelRunner::Create(call.op, call.inputs, call.attrs, {.constants = call.weights});
    if (!runner.ok()) return runner.status();
    return runner->Run(call.inputs).status();
  };
  for (const Shape& shape : {Shape{}, Shape{33}, Shape{33, 0}, Shape{34, 70}, Shape{1, 33, 70}}) {
    const absl::Status status =
        run({.op = "QuantizedMatMul",
             .inputs = {Bytes(DType::kQuint8, {3, 33}, 1), Bytes(DType::kQint8, shape, 2),
                        Number(0), Number(2), Number(-1), Number(1)},
             .weights = {1},
             .attrs = {{"Toutput", DType::kQint32}}});
    const bool fits = shape.rank() == 2 && shape.dim(0) == 33;
    EXPECT_EQ(status.code(), fits ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument)
        << shape.ToString() << ": " << status;
  }
  EXPECT_EQ(run({.op = "LSTMBlockCell",
                 .inputs = {Floats({3, 20}, 1), Floats({3, 32}, 2), Floats({3, 32}, 3),
                            Floats({8, 128}, 4), Floats({32}, 5), Floats({32}, 6), Floats({32}, 7),
                            Floats({128}, 8)},
                 .weights = {3},
                 .attrs = {}})
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
