#include "runtime/kernels/primitives/lstm_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/cpu/testing/random_floats.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

constexpr LstmGatePositions kPositions = {.input = 0, .forget = 2, .cell = 1, .output = 3};
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// An LSTM over some steps, with all operands of both passes.
struct Lstm {
  Lstm(int64_t num_steps, int64_t rows, int64_t num_units, bool has_peepholes)
      : steps(num_steps), batch(rows), units(num_units) {
    for (float& weight : recurrent) weight *= 0.2f;
    if (has_peepholes) {
      peepholes = {peephole_weights.data(), peephole_weights.data() + units,
                   peephole_weights.data() + 2 * units};
    }
  }

  int64_t matrix() const { return batch * units; }
  static std::vector<float> Zeros(int64_t count) { return std::vector<float>(count); }

  LstmForwardPass::Operands Forward() {
    return {.steps = steps,
            .forget_bias = 0.5f,
            .cell_clip = 1.5f,
            .peepholes = peepholes,
            .inputs = {inputs.data(), 4 * matrix()},
            .h0 = h0.data(),
            .c0 = c0.data(),
            .gates = GatesIn(gates.data(), units, kPositions),
            .gates_step = 4 * matrix(),
            .c = {c.data(), matrix()},
            .tanh_c = {tanh_c.data(), matrix()},
            .h = {h.data(), matrix()}};
  }
  LstmBackwardPass::Operands Backward() {
    return {.steps = steps,
            .peepholes = peepholes,
            .gates = GatesIn<const float>(gates.data(), units, kPositions),
            .gates_step = 4 * matrix(),
            .c0 = c0.data(),
            .c = {c.data(), matrix()},
            .tanh_c = {tanh_c.data(), matrix()},
            .d_y = {d_y.data(), matrix()},
            .d_cs = {d_cs.data(), matrix()},
            .d_h = d_h.data(),
            .d_c = d_c.data(),
            .d_sums = {d_sums.data(), 4 * matrix()}};
  }

  const int64_t steps, batch, units;
  std::vector<float> recurrent = RandomFloats(units * 4 * units, 1);
  std::vector<float> inputs = RandomFloats(steps * 4 * matrix(), 2);
  std::vector<float> h0 = RandomFloats(matrix(), 3), c0 = RandomFloats(matrix(), 4);
  const std::vector<float> peephole_weights = RandomFloats(3 * units, 5);
  LstmPeepholes peepholes;
  std::vector<float> gates = Zeros(steps * 4 * matrix());
  std::vector<float> c = Zeros(steps * matrix()), tanh_c = c, h = c;
  std::vector<float> d_y = RandomFloats(steps * matrix(), 6),
                     d_cs = RandomFloats(steps * matrix(), 7);
  std::vector<float> d_h = RandomFloats(matrix(), 8), d_c = RandomFloats(matrix(), 9);
  std::vector<float> d_sums = Zeros(steps * 4 * matrix());
};

// The product of `rows` and the recurrent weights, or their transpose.
std::vector<float> Product(const Lstm& lstm, const float* rows, bool transposed) {
  const int64_t k = transposed ? 4 * lstm.units : lstm.units, n = 5 * lstm.units - k;
  std::vector<float> result(lstm.batch * n);
  for (int64_t i = 0; i < lstm.batch; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += double{rows[i * k + p]} * lstm.recurrent[transposed ? j * k + p : p * n + j];
      }
      result[i * n + j] = static_cast<float>(sum);
    }
  }
  return result;
}

// Computes both passes by one product and one cell for each step.
void RunForwardStepByStep(Lstm* lstm) {
  auto* const cell = PrimitiveImplementations<LstmCell>::Find(kCpu);
  const LstmForwardPass::Operands o = lstm->Forward();
  for (int64_t t = 0; t < o.steps; ++t) {
    std::vector<float> sums = Product(*lstm, t == 0 ? o.h0 : o.h.At(t - 1), false);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += o.inputs.At(t)[i];
    cell({.rows = lstm->batch,
          .units = lstm->units,
          .forget_bias = o.forget_bias,
          .cell_clip = o.cell_clip,
          .sums = GatesIn<const float>(sums.data(), lstm->units, kPositions),
          .peepholes = o.peepholes,
          .c_prev = t == 0 ? o.c0 : o.c.At(t - 1),
          .gates = Advance(o.gates, t * o.gates_step),
          .c = o.c.At(t),
          .tanh_c = o.tanh_c.At(t),
          .h = o.h.At(t)});
  }
}
void RunBackwardStepByStep(Lstm* lstm) {
  auto* const cell = PrimitiveImplementations<LstmCellGradient>::Find(kCpu);
  const LstmBackwardPass::Operands o = lstm->Backward();
  for (int64_t t = o.steps; t-- > 0;) {
    for (int64_t i = 0; i < lstm->matrix(); ++i) {
      o.d_h[i] += o.d_y.At(t)[i];
      o.d_c[i] += o.d_cs.At(t)[i];
    }
    cell({.rows = lstm->batch,
          .units = lstm->units,
          .gates = Advance(o.gates, t * o.gates_step),
          .peepholes = o.peepholes,
          .c_prev = t == 0 ? o.c0 : o.c.At(t - 1),
          .tanh_c = o.tanh_c.At(t),
          .d_h = o.d_h,
          .d_c = o.d_c,
          .d_sums = GatesIn(o.d_sums.At(t), lstm->units, kPositions),
          .d_c_prev = o.d_c});
    const std::vector<float> product = Product(*lstm, o.d_sums.At(t), true);
    std::copy(product.begin(), product.end(), o.d_h);
  }
}

void ExpectNear(const std::vector<float>& got, const std::vector<float>& expected,
                const char* name) {
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 2e-5 * (1 + std::fabs(expected[i]))) << name << " at " << i;
  }
}

class LstmPassTest : public ::testing::Test {
 protected:
  template <typename Pass>
  std::unique_ptr<Pass> Make(const Lstm& lstm) {
    auto* const make = PrimitiveImplementations<Pass>::Find(kCpu);
    auto pass = make(
        ctx_, {.units = lstm.units, .positions = kPositions, .recurrent = lstm.recurrent.data()});
    EXPECT_TRUE(pass.ok()) << pass.status();
    return *std::move(pass);
  }

  StepContext step_;
  KernelContext ctx_{step_, nullptr};
};

TEST_F(LstmPassTest, GivesWhatProductsAndCellsGive) {
  for (const bool has_peepholes : {false, true}) {
    // Rows of 128 units conflict in the cache and are therefore copied.
    for (const auto& [steps, batch, units] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
             {1, 1, 1}, {3, 2, 5}, {4, 14, 32}, {3, 31, 33}, {5, 32, 128}}) {
      SCOPED_TRACE(testing::Message() << steps << " steps, " << batch << " rows, " << units
                                      << " units, peepholes: " << has_peepholes);
      Lstm expected(steps, batch, units, has_peepholes), got = expected;
      RunForwardStepByStep(&expected);
      // The batch is computed in two shares, as two threads would do it.
      const auto forward = Make<LstmForwardPass>(got);
      ASSERT_TRUE(forward->Run(ctx_, got.Forward(), 0, batch / 2).ok());
      ASSERT_TRUE(forward->Run(ctx_, got.Forward(), batch / 2, batch).ok());
      ExpectNear(got.gates, expected.gates, "gates");
      ExpectNear(got.c, expected.c, "c");
      ExpectNear(got.tanh_c, expected.tanh_c, "tanh_c");
      ExpectNear(got.h, expected.h, "h");

      RunBackwardStepByStep(&expected);
      const auto backward = Make<LstmBackwardPass>(got);
      ASSERT_TRUE(backward->Run(ctx_, got.Backward(), 0, batch / 2).ok());
      ASSERT_TRUE(backward->Run(ctx_, got.Backward(), batch / 2, batch).ok());
      ExpectNear(got.d_sums, expected.d_sums, "d_sums");
      ExpectNear(got.d_h, expected.d_h, "d_h");
      ExpectNear(got.d_c, expected.d_c, "d_c");
    }
  }
}

TEST_F(LstmPassTest, ThreadsShareTheUnitsOfASingleRow) {
  ThreadPool pool({.name = "units", .num_threads = 3});
  StepContext step;
  step.intra_op_pool = &pool;
  KernelContext several(step, nullptr);
  // The first has no whole panels for each gate, and the second has more threads than shares.
  for (const int64_t units : {150, 160, 224, 320}) {
    SCOPED_TRACE(testing::Message() << units << " units");
    Lstm expected(12, 1, units, true), alone = expected, shared = expected, in_place = expected;
    RunForwardStepByStep(&expected);
    const auto pass = Make<LstmForwardPass>(expected);
    ASSERT_TRUE(pass->Run(ctx_, alone.Forward(), 0, 1).ok());
    ExpectNear(alone.gates, expected.gates, "gates");
    ExpectNear(alone.tanh_c, expected.tanh_c, "tanh_c");
    ExpectNear(alone.h, expected.h, "h");
    ASSERT_TRUE(pass->Run(several, shared.Forward(), 0, 1).ok());
    EXPECT_EQ(shared.gates, alone.gates);
    EXPECT_EQ(shared.c, alone.c);
    EXPECT_EQ(shared.tanh_c, alone.tanh_c);
    EXPECT_EQ(shared.h, alone.h);
    // The outputs overwrite what the other threads still multiply.
    LstmForwardPass::Operands o = in_place.Forward();
    o.h = {in_place.h0.data(), 0};
    o.c = {in_place.c0.data(), 0};
    ASSERT_TRUE(pass->Run(several, o, 0, 1).ok());
    EXPECT_EQ(in_place.h0, std::vector<float>(alone.h.end() - units, alone.h.end()));
    EXPECT_EQ(in_place.c0, std::vector<float>(alone.c.end() - units, alone.c.end()));
  }
}

TEST_F(LstmPassTest, BeginsWithAnOutputOfZeros) {
  Lstm expected(3, 15, 20, true);
  std::fill(expected.h0.begin(), expected.h0.end(), 0.0f);
  Lstm got = expected;
  RunForwardStepByStep(&expected);
  ASSERT_TRUE(Make<LstmForwardPass>(got)->Run(ctx_, got.Forward(), 0, got.batch).ok());
  ExpectNear(got.gates, expected.gates, "gates");
  ExpectNear(got.h, expected.h, "h");
}

TEST_F(LstmPassTest, StepsMayShareTheirStatesAndGates) {
  Lstm expected(6, 9, 40, false), got = expected;
  RunForwardStepByStep(&expected);
  LstmForwardPass::Operands o = got.Forward();
  // The states begin where they end, and the gates are overwritten in each step.
  o.h = {got.h0.data(), 0};
  o.c = {got.c0.data(), 0};
  o.tanh_c.step = 0;
  o.gates_step = 0;
  ASSERT_TRUE(Make<LstmForwardPass>(got)->Run(ctx_, o, 0, got.batch).ok());
  const std::vector<float> last_h(expected.h.end() - expected.matrix(), expected.h.end());
  const std::vector<float> last_c(expected.c.end() - expected.matrix(), expected.c.end());
  ExpectNear(got.h0, last_h, "h");
  ExpectNear(got.c0, last_c, "c");
}

TEST_F(LstmPassTest, GatesMayReplaceTheInputs) {
  Lstm expected(4, 20, 24, false), got = expected;
  RunForwardStepByStep(&expected);
  LstmForwardPass::Operands o = got.Forward();
  o.gates = GatesIn(got.inputs.data(), got.units, kPositions);
  ASSERT_TRUE(Make<LstmForwardPass>(got)->Run(ctx_, o, 0, got.batch).ok());
  ExpectNear(got.inputs, expected.gates, "gates");
}

TEST_F(LstmPassTest, ANaNStaysInItsRow) {
  Lstm lstm(5, 16, 32, false);
  lstm.h0[3 * lstm.units + 7] = kNaN;
  ASSERT_TRUE(Make<LstmForwardPass>(lstm)->Run(ctx_, lstm.Forward(), 0, lstm.batch).ok());
  const float* const h = lstm.h.data() + 4 * lstm.matrix();
  for (int64_t i = 0; i < lstm.matrix(); ++i) {
    EXPECT_EQ(std::isnan(h[i]), i / lstm.units == 3) << "at " << i;
  }
}

TEST_F(LstmPassTest, RefusesWeightsThatAreNotFinite) {
  Lstm lstm(1, 4, 8, false);
  lstm.recurrent[77] = kNaN;
  EXPECT_EQ(Make<LstmForwardPass>(lstm), nullptr);
  EXPECT_EQ(Make<LstmBackwardPass>(lstm), nullptr);
  lstm.recurrent[77] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Make<LstmForwardPass>(lstm), nullptr);
  EXPECT_EQ(Make<LstmBackwardPass>(lstm), nullptr);
}

}  // namespace
}  // namespace tessera
