#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// An attention with a mask that adds to each score.
struct Attention {
  int64_t batch = 2, heads = 3, queries = 5, keys = 6, features = 8, value_features = 4;
  bool heads_first = false;

  Shape MakeShape(int64_t tokens, int64_t size) const {
    return heads_first ? Shape{batch, heads, tokens, size} : Shape{batch, tokens, heads, size};
  }
  int64_t At(int64_t tokens, int64_t size, int64_t image, int64_t head, int64_t token) const {
    return heads_first ? ((image * heads + head) * tokens + token) * size
                       : ((image * tokens + token) * heads + head) * size;
  }

  Tensor query = RandomTensor(MakeShape(queries, features), 1);
  Tensor key = RandomTensor(MakeShape(keys, features), 2);
  Tensor value = RandomTensor(MakeShape(keys, value_features), 3);
  Tensor mask = RandomTensor({batch, heads, queries, keys}, 4);

  absl::StatusOr<Tensor> Run(ThreadPool* pool = nullptr) const {
    return RunOp("_Attention", {query, key, value, mask},
                 {{"num_masks", 1},
                  {"num_keeps", 0},
                  {"scale", 0.3f},
                  {"heads_first", std::vector<bool>(4, heads_first)}},
                 pool);
  }

  std::string Name() const {
    return testing::PrintToString(
        std::vector<int64_t>{batch, heads, queries, keys, features, value_features, heads_first});
  }

  void ExpectExact() const {
    SCOPED_TRACE(Name());
    const absl::StatusOr<Tensor> output = Run();
    ASSERT_TRUE(output.ok()) << output.status();
    for (int64_t image = 0; image < batch; ++image) {
      for (int64_t head = 0; head < heads; ++head) {
        for (int64_t i = 0; i < queries; ++i) ExpectExact(*output, image, head, i);
      }
    }
  }

 private:
  void ExpectExact(const Tensor& output, int64_t image, int64_t head, int64_t i) const {
    const float* const q = query.data<float>() + At(queries, features, image, head, i);
    const int64_t row = (image * heads + head) * queries + i;
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      const float* const k = key.data<float>() + At(keys, features, image, head, j);
      double score = 0;
      for (int64_t f = 0; f < features; ++f) score += double{q[f]} * k[f];
      weights.push_back(std::exp(score * 0.3f + mask.data<float>()[row * keys + j]));
      sum += weights.back();
    }
    for (int64_t f = 0; f < value_features; ++f) {
      double expected = 0;
      for (int64_t j = 0; j < keys; ++j) {
        const float* const v = value.data<float>() + At(keys, value_features, image, head, j);
        expected += weights[j] / sum * v[f];
      }
      const float* const out = output.data<float>() + At(queries, value_features, image, head, i);
      ASSERT_NEAR(out[f], expected, 1e-5) << i << ", " << f;
    }
  }
};

TEST(FusedAttentionTest, IsExactForAnySizes) {
  for (const bool heads_first : {false, true}) {
    Attention{.heads_first = heads_first}.ExpectExact();
    for (const int64_t size : {1, 15, 16, 17, 40, 64, 65, 130}) {
      Attention{.features = size, .heads_first = heads_first}.ExpectExact();
      Attention{.value_features = size, .heads_first = heads_first}.ExpectExact();
      Attention{.queries = 30, .value_features = size, .heads_first = heads_first}.ExpectExact();
      Attention{.queries = size, .heads_first = heads_first}.ExpectExact();
      Attention{.keys = size, .heads_first = heads_first}.ExpectExact();
    }
    // Some blocks of queries, and of keys that are added up at once.
    Attention{.queries = 301, .keys = 333, .heads_first = heads_first}.ExpectExact();
    Attention{.batch = 1, .heads = 1, .queries = 50, .keys = 2000}.ExpectExact();
  }
}

TEST(FusedAttentionTest, OfNothing) {
  EXPECT_EQ(Attention{.queries = 0}.Run()->num_elements(), 0);
  EXPECT_EQ(Attention{.batch = 0}.Run()->num_elements(), 0);
  EXPECT_EQ(Attention{.value_features = 0}.Run()->num_elements(), 0);
  Attention{.features = 0}.ExpectExact();
  const Tensor output = Attention{.keys = 0}.Run().value();
  for (const float x : output.flat<float>()) EXPECT_EQ(x, 0);
}

TEST(FusedAttentionTest, ThreadsChangeNoBit) {
  ThreadPool pool({.name = "test", .num_threads = 4});
  for (const int64_t heads : {1, 2, 5}) {
    const Attention attention{.heads = heads, .queries = 150, .keys = 170, .features = 40};
    const Tensor alone = attention.Run().value(), shared = attention.Run(&pool).value();
    for (int64_t i = 0; i < alone.num_elements(); ++i) {
      ASSERT_EQ(alone.flat<float>()[i], shared.flat<float>()[i]) << i;
    }
  }
}

TEST(FusedAttentionTest, RowsWithoutANumberStayAmongThemselves) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Attention attention{.batch = 1, .heads = 2, .queries = 40, .keys = 20, .heads_first = true};
  float* const mask = attention.mask.data<float>();
  std::fill_n(mask + 3 * 20, 20, -kInfinity);               // all of head 0's query 3
  std::fill_n(mask + 5 * 20, 19, -kInfinity);               // all but one key of query 5
  attention.query.flat<float>()[8 * 8] = NAN;               // query 8
  attention.value.flat<float>()[(20 + 7) * 4] = kInfinity;  // a feature of head 1's key 7
  const Tensor output = attention.Run().value();
  const float* const out = output.data<float>();
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t f = 0; f < 4; ++f) {
      EXPECT_EQ(std::isnan(out[i * 4 + f]), i == 3 || i == 8) << i;
      EXPECT_EQ(std::isinf(out[(40 + i) * 4 + f]), f == 0) << i;
    }
  }
  for (int64_t f = 0; f < 4; ++f) {
    EXPECT_EQ(out[5 * 4 + f], attention.value.flat<float>()[19 * 4 + f]);
  }
}

}  // namespace
}  // namespace tessera
