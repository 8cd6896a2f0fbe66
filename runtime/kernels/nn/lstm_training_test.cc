#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

constexpr int64_t kUnits = 24;
// So many rows are multiplied by packed weights, half of them by a product a step.
constexpr int64_t kBatch = 8, kSteps = 20;

Tensor Random(const Shape& shape, int seed, float scale) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  Tensor t = Tensor::Allocate(DType::kFloat, shape).value();
  for (float& x : t.flat<float>()) x = normal(random);
  return t;
}
Tensor Zeros(const Shape& shape) {
  Tensor t = Tensor::Allocate(DType::kFloat, shape).value();
  std::fill(t.flat<float>().begin(), t.flat<float>().end(), 0.0f);
  return t;
}

// The rows [begin, end) of the batch, which is the last dimension but one.
Tensor Rows(const Tensor& t, int64_t begin, int64_t end) {
  if (t.rank() == 2) return t.Slice(begin, end).DeepCopy().value();
  Tensor rows = Tensor::Allocate(DType::kFloat, {t.dim(0), end - begin, t.dim(2)}).value();
  for (int64_t step = 0; step < t.dim(0); ++step) {
    const Tensor from = t.SubSlice(step).Slice(begin, end);
    std::copy_n(from.data<float>(), from.num_elements(),
                rows.data<float>() + step * from.num_elements());
  }
  return rows;
}

void ExpectNear(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    const float value = expected.data<float>()[i];
    ASSERT_NEAR(got.data<float>()[i], value, 2e-5 * (1 + std::fabs(value))) << "at " << i;
  }
}

// The operands of an LSTM, and its outputs and gradients.
struct Lstm {
  Tensor x = Random({kSteps, kBatch, 4 * kUnits}, 1, 1);
  Tensor recurrent = Random({kUnits, 4 * kUnits}, 2, 0.2f);
  Tensor h = Random({kBatch, kUnits}, 3, 1), c = Random({kBatch, kUnits}, 4, 1);
  Tensor d_h = Random({kBatch, kUnits}, 5, 1), d_c = Random({kBatch, kUnits}, 6, 1);

  Lstm Part(int64_t begin, int64_t end) const {
    return {Rows(x, begin, end),   recurrent,
            Rows(h, begin, end),   Rows(c, begin, end),
            Rows(d_h, begin, end), Rows(d_c, begin, end)};
  }

  static const AttrMap& Gates() {
    static const auto* const attrs = new AttrMap{{"gates", std::vector<int64_t>{0, 1, 2, 3}}};
    return *attrs;
  }
  // Runs a kernel, which may work in place of the inputs that nobody else holds.
  static std::vector<Tensor> Run(absl::string_view op, std::vector<Tensor> inputs) {
    return KernelRunner::Create(op, inputs, Gates()).value().Run(std::move(inputs)).value();
  }
  std::vector<Tensor> Forward(int32_t steps = kSteps) const { return Forward(x, steps); }
  std::vector<Tensor> Forward(Tensor sequence, int32_t steps) const {
    std::vector<Tensor> inputs = {Tensor(), recurrent, h, c, Tensor::Scalar(steps)};
    inputs[0] = std::move(sequence);  // a braced list would hold another share
    return Run("_LstmTraining", std::move(inputs));
  }
  // The gradients of x, the weights, and the initial states.
  std::vector<Tensor> Backward(std::vector<Tensor> forward) const {
    std::vector<Tensor> inputs = {recurrent, h, c};
    std::move(forward.begin(), forward.begin() + 4, std::back_inserter(inputs));
    inputs.insert(inputs.end(), {d_h, d_c});
    return Run("_LstmGradient", std::move(inputs));
  }
};

TEST(LstmTrainingTest, RowsOfALargeBatchAreThoseOfSmallOnes) {
  const Lstm whole;
  const std::vector<Tensor> outputs = whole.Forward();
  const std::vector<Tensor> gradients = whole.Backward(outputs);
  Tensor d_recurrent = Zeros({kUnits, 4 * kUnits});
  for (const int64_t begin : {int64_t{0}, kBatch / 2}) {
    const int64_t end = begin + kBatch / 2;
    const Lstm part = whole.Part(begin, end);
    const std::vector<Tensor> part_outputs = part.Forward();
    for (size_t i = 0; i < outputs.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "output " << i);
      ExpectNear(Rows(outputs[i], begin, end), part_outputs[i]);
    }
    const std::vector<Tensor> part_gradients = part.Backward(part_outputs);
    for (const int i : {0, 2, 3}) {
      SCOPED_TRACE(testing::Message() << "gradient " << i);
      ExpectNear(Rows(gradients[i], begin, end), part_gradients[i]);
    }
    for (int64_t i = 0; i < d_recurrent.num_elements(); ++i) {
      d_recurrent.data<float>()[i] += part_gradients[1].data<float>()[i];
    }
  }
  ExpectNear(gradients[1], d_recurrent);
}

TEST(LstmTrainingTest, WorksInPlaceWithTheSameBits) {
  for (const int32_t steps : {int32_t{kSteps}, int32_t{kSteps - 3}}) {
    const Lstm lstm;
    const std::vector<Tensor> outputs = lstm.Forward(steps);
    const std::vector<Tensor> gradients = lstm.Backward(outputs);
    EXPECT_NE(outputs[0].raw(), lstm.x.raw());
    EXPECT_NE(gradients[0].raw(), outputs[0].raw());

    Tensor x = lstm.x.DeepCopy().value();
    const char* const place = x.raw();
    std::vector<Tensor> in_place = lstm.Forward(std::move(x), steps);
    EXPECT_EQ(in_place[0].raw(), place);
    EXPECT_TRUE(std::ranges::equal(in_place[0].Slice(0, steps).flat<float>(),
                                   outputs[0].Slice(0, steps).flat<float>()));
    for (size_t i = 1; i < outputs.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(in_place[i].flat<float>(), outputs[i].flat<float>())) << i;
    }
    const std::vector<Tensor> gradients_in_place = lstm.Backward(std::move(in_place));
    EXPECT_EQ(gradients_in_place[0].raw(), place);
    for (size_t i = 0; i < gradients.size(); ++i) {
      EXPECT_TRUE(
          std::ranges::equal(gradients_in_place[i].flat<float>(), gradients[i].flat<float>()))
          << i;
    }
    for (const float d : gradients[0].Slice(steps, kSteps).flat<float>()) EXPECT_EQ(d, 0);
  }
}

TEST(LstmTrainingTest, OutputsOfZeroBeforeTheFirstStepMakeNoDifference) {
  Lstm zero, tiny;
  zero.h = Zeros({kBatch, kUnits});
  tiny.h = Random({kBatch, kUnits}, 7, 1e-12f);
  const std::vector<Tensor> zero_outputs = zero.Forward(), tiny_outputs = tiny.Forward();
  for (size_t i = 0; i < zero_outputs.size(); ++i) ExpectNear(zero_outputs[i], tiny_outputs[i]);
  ExpectNear(zero.Backward(zero_outputs)[1], tiny.Backward(tiny_outputs)[1]);
}

TEST(LstmTrainingTest, ZerosTimesNaNIsNaNInTheGradientOfTheWeights) {
  Lstm lstm;
  lstm.h = Zeros({kBatch, kUnits});
  const std::vector<Tensor> outputs = lstm.Forward();
  // The initial cell state enters the gradient of the first step's forget gate alone.
  lstm.c.data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  const Tensor gradient = lstm.Backward(outputs)[1];
  for (int64_t i = 0; i < gradient.num_elements(); ++i) {
    EXPECT_EQ(std::isnan(gradient.data<float>()[i]), i % (4 * kUnits) == kUnits + 5) << "at " << i;
  }
}

}  // namespace
}  // namespace tessera
