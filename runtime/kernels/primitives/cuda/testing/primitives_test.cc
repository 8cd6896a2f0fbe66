// The GPU's primitives beside those of the CPU, at sizes that the recorded calls of ops do not
// have: several blocks, slices that are merged, rows longer than a block, sorting beyond shared
// memory.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/advance_generator.h"
#include "runtime/kernels/primitives/attention.h"
#include "runtime/kernels/primitives/batch_norm.h"
#include "runtime/kernels/primitives/bincount.h"
#include "runtime/kernels/primitives/convolution_gradient.h"
#include "runtime/kernels/primitives/cross_entropy.h"
#include "runtime/kernels/primitives/cuda/testing/both_devices.h"
#include "runtime/kernels/primitives/key_of_seeds.h"
#include "runtime/kernels/primitives/layer_norm.h"
#include "runtime/kernels/primitives/optimizer_update.h"
#include "runtime/kernels/primitives/pooling.h"
#include "runtime/kernels/primitives/random_fill.h"
#include "runtime/kernels/primitives/reduce.h"
#include "runtime/kernels/primitives/scan.h"
#include "runtime/kernels/primitives/scatter.h"
#include "runtime/kernels/primitives/segment_reduce.h"
#include "runtime/kernels/primitives/softmax.h"
#include "runtime/kernels/primitives/sort.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
using PrimitivesTest = BothDevicesTest;

TEST_F(PrimitivesTest, ReductionsOfEachLayout) {
  const struct {
    Shape shape;
    std::vector<bool> reduced;
    Shape result;
  } kCases[] = {
      {{100001}, {true}, {}},
      {{3, 5000}, {false, true}, {3}},
      {{5000, 3}, {true, false}, {3}},
      {{70, 33, 19}, {true, false, true}, {33}},
      {{7, 64, 9}, {false, true, false}, {7, 9}},
  };
  for (const auto& c : kCases) {
    for (const ReduceKind kind :
         {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kEuclideanNorm}) {
      const Tensor x = Floats(c.shape, 0, 1);
      Tensor y[2] = {Empty(DType::kFloat, c.result), Empty(DType::kFloat, c.result)};
      const absl::InlinedVector<bool, 4> reduced(c.reduced.begin(), c.reduced.end());
      OnBoth<Reduce>([&](auto* make, int device) {
        return make(kind, DType::kFloat)->Run(ctx_, x, reduced, &y[device]);
      });
      ExpectNear(y[0], y[1]);
    }
  }
}

TEST_F(PrimitivesTest, ASumOfSquaresThatWrapsAroundHasNoRoot) {
  Tensor x = Empty(DType::kInt32, {2, 2});
  x.flat<int32_t>()[0] = 46341;  // its square is 2^31 and more
  x.flat<int32_t>()[1] = 0;
  x.flat<int32_t>()[2] = 3;
  x.flat<int32_t>()[3] = 4;
  Tensor y[2] = {Empty(DType::kInt32, {2}), Empty(DType::kInt32, {2})};
  OnBoth<Reduce>([&](auto* make, int device) {
    return make(ReduceKind::kEuclideanNorm, DType::kInt32)->Run(ctx_, x, {false, true}, &y[device]);
  });
  EXPECT_EQ(y[0].flat<int32_t>()[0], std::numeric_limits<int32_t>::min());
  ExpectSameBytes(y[0], y[1]);
}

TEST_F(PrimitivesTest, NarrowIntegersWrapAroundInReductions) {
  Tensor x = Empty(DType::kInt8, {3, 256});  // a count that is 0 as int8
  for (int8_t& v : x.flat<int8_t>()) v = 101;
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kProd}) {
    Tensor y[2] = {Empty(DType::kInt8, {3}), Empty(DType::kInt8, {3})};
    OnBoth<Reduce>([&](auto* make, int device) {
      return make(kind, DType::kInt8)->Run(ctx_, x, {false, true}, &y[device]);
    });
    ExpectSameBytes(y[0], y[1]);
  }
}

TEST_F(PrimitivesTest, SoftmaxOfLongRowsAndOfRowsThatAreNotFinite) {
  for (const int64_t columns : {1, 31, 33, 1024, 1025, 5003}) {
    Tensor x = Floats({5, columns}, -20, 20);
    x.data<float>()[columns + columns / 2] = kNaN;
    x.data<float>()[2 * columns] = kInf;
    for (int64_t c = 0; c < columns; ++c) x.data<float>()[3 * columns + c] = -kInf;
    for (const SoftmaxKind kind : {SoftmaxKind::kSoftmax, SoftmaxKind::kLogSoftmax}) {
      Tensor y[2] = {Empty(DType::kFloat, x.shape()), Empty(DType::kFloat, x.shape())};
      OnBoth<Softmax>(
          [&](auto* run, int device) { return run(ctx_, kind, 5, columns, x, &y[device]); });
      ExpectNear(y[0], y[1]);
    }
  }
}

TEST_F(PrimitivesTest, LabelThatIsNoClassGivesNaN) {
  const Tensor logits = Floats({3, 40});
  const Tensor labels = Tensor::Vector<int32_t>({2, 40, -1});
  Tensor loss = Empty(DType::kFloat, {3}), gradient = Empty(DType::kFloat, {3, 40});
  ASSERT_TRUE(PrimitiveImplementations<SparseSoftmaxCrossEntropy>::Find(kEmulated)(
                  ctx_, logits, labels, &loss, &gradient)
                  .ok());
  EXPECT_TRUE(std::isfinite(loss.flat<float>()[0]));
  EXPECT_TRUE(std::isnan(loss.flat<float>()[1]));
  EXPECT_TRUE(std::isnan(gradient.flat<float>()[80]));
}

TEST_F(PrimitivesTest, LayerNormInPlace) {
  for (const int64_t columns : {7, 768, 1500}) {
    const Tensor x = Floats({9, columns}, 1, 3), addend = Floats({9, columns});
    const Tensor gamma = Floats({columns}), beta = Floats({columns});
    Tensor y[2] = {Copy(x), Copy(x)};
    OnBoth<LayerNorm>([&](auto* run, int device) {
      return run(ctx_, {.rows = 9,
                        .columns = columns,
                        .epsilon = 1e-3f,
                        .x = y[device],
                        .addend = &addend,
                        .gamma = gamma,
                        .beta = beta,
                        .y = &y[device]});
    });
    ExpectNear(y[0], y[1], 1e-4f);
  }
}

TEST_F(PrimitivesTest, TopKSortsBeyondSharedMemoryWithNaNsLast) {
  for (const int64_t count : {1, 500, 513, 3001}) {
    Tensor x = Floats({2, count}, -3, 3);
    for (float& v : x.flat<float>()) v = std::round(v * 100) / 100;  // with equal elements
    if (count > 10) x.data<float>()[5] = kNaN, x.data<float>()[6] = -kInf;
    for (const bool greatest : {true, false}) {
      Tensor values[2], indices[2];
      OnBoth<TopK>([&](auto* run, int device) {
        values[device] = Empty(DType::kFloat, x.shape());
        indices[device] = Empty(DType::kInt32, x.shape());
        return run(ctx_, {.axis = 1, .k = count, .is_greatest = greatest}, x, &values[device],
                   &indices[device]);
      });
      ExpectNear(values[0], values[1], 0);
      ExpectSameBytes(indices[0], indices[1]);
    }
  }
}

TEST_F(PrimitivesTest, ScansOfLongAndShortLines) {
  for (const Shape& shape : {Shape{3, 1000, 2}, Shape{5, 100}, Shape{1, 257}}) {
    const Tensor x = Floats(shape);
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        Tensor y[2] = {Empty(DType::kFloat, shape), Empty(DType::kFloat, shape)};
        OnBoth<Scan>([&](auto* run, int device) {
          return run(ctx_, {ScanKind::kSum, 1, exclusive, reverse}, x, &y[device]);
        });
        ExpectNear(y[0], y[1], 1e-4f);
      }
    }
  }
}

TEST_F(PrimitivesTest, RepeatedIndicesTakePartInOrder) {
  const Tensor updates = Floats({3000, 3});
  const Tensor indices = Indices(3000, 0, 49);
  for (const ScatterOp op : {ScatterOp::kUpdate, ScatterOp::kAdd, ScatterOp::kMax}) {
    const Tensor target = Floats({50, 3});
    Tensor y[2] = {Copy(target), Copy(target)};
    OnBoth<Scatter>([&](auto* run, int device) {
      return run(ctx_, op, {.size = 50, .slice = 3}, indices, BadIndices::kError, updates,
                 &y[device]);
    });
    ExpectSameBytes(y[0], y[1]);
  }
}

TEST_F(PrimitivesTest, SegmentsWithoutRows) {
  const Tensor data = Floats({1000, 5});
  const Tensor ids = Indices(1000, -1, 19);
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMin}) {
    Tensor y[2] = {Empty(DType::kFloat, {30, 5}), Empty(DType::kFloat, {30, 5})};
    OnBoth<SegmentReduce>([&](auto* make, int device) {
      return make(kind, DType::kFloat, EmptySegment::kHighest, SegmentOrder::kAny)
          ->Run(ctx_, data, ids, &y[device]);
    });
    ExpectSameBytes(y[0], y[1]);
  }
}

TEST_F(PrimitivesTest, MaximaOfSegmentsOfInfinities) {
  const Tensor ids = Indices(40, -1, 19);
  for (const DType dtype : {DType::kFloat, DType::kHalf}) {
    Tensor data = Empty(dtype, {40, 5});
    const auto bits = dtype == DType::kFloat ? uint32_t{0xff800000} : uint32_t{0xfc00fc00};
    std::fill_n(reinterpret_cast<uint32_t*>(data.mutable_raw()), data.size_bytes() / 4, bits);
    Tensor y[2] = {Empty(dtype, {30, 5}), Empty(dtype, {30, 5})};
    OnBoth<SegmentReduce>([&](auto* make, int device) {
      return make(ReduceKind::kMax, dtype, EmptySegment::kLowest, SegmentOrder::kAny)
          ->Run(ctx_, data, ids, &y[device]);
    });
    ExpectSameBytes(y[0], y[1]);
  }
}

TEST_F(PrimitivesTest, WeightedBincountOfRows) {
  const Tensor values = Indices(2000, 0, 40);
  const Tensor weights = Floats({2000});
  Tensor bins[2] = {Empty(DType::kFloat, {3, 30}), Empty(DType::kFloat, {3, 30})};
  OnBoth<Bincount>([&](auto* run, int device) {
    return run(ctx_, {0, 700, 700, 2000}, values, weights, false, &bins[device]);
  });
  ExpectSameBytes(bins[0], bins[1]);
}

TEST_F(PrimitivesTest, TransposesOfOddSizes) {
  for (const DType dtype :
       {DType::kUint8, DType::kHalf, DType::kFloat, DType::kDouble, DType::kComplex128}) {
    const int64_t a = 3, b = 61, c = 45;
    Tensor x = Empty(dtype, {a, b, c});
    for (int64_t i = 0; i < static_cast<int64_t>(x.size_bytes()); ++i) {
      x.mutable_raw()[i] = static_cast<char>(random_());
    }
    Tensor y[2] = {Empty(dtype, {a, c, b}), Empty(dtype, {a, c, b})};
    OnBoth<StridedCopy>([&](auto* run, int device) {
      return run(ctx_, {a, c, b}, x, {{b * c, 1, c}}, &y[device], {{b * c, b, 1}});
    });
    ExpectSameBytes(y[0], y[1]);
  }
}

TEST_F(PrimitivesTest, RandomNumbersAreTheSame) {
  const Philox generator(12345, 678);
  for (const DType dtype : {DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble}) {
    for (const Distribution distribution :
         {Distribution::kUniform, Distribution::kTruncatedNormal, Distribution::kNormal}) {
      Tensor y[2] = {Empty(dtype, {4099}), Empty(dtype, {4099})};
      OnBoth<RandomFill>([&](auto* run, int device) {
        return run(ctx_, distribution, generator, {}, &y[device]);
      });
      ExpectSameBytes(y[0], y[1]);
    }
  }
  for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64}) {
    Tensor y[2] = {Empty(dtype, {1001}), Empty(dtype, {1001})};
    const IntegerRange range{static_cast<uint64_t>(-5), 1000};
    OnBoth<RandomFill>([&](auto* run, int device) {
      return run(ctx_, Distribution::kUniformInt, generator, range, &y[device]);
    });
    ExpectSameBytes(y[0], y[1]);
  }
}

TEST_F(PrimitivesTest, GeneratorsOfSeedsInMemory) {
  const int64_t pair[] = {-3, 1234567890123};
  for (const DType dtype : {DType::kInt32, DType::kInt64}) {
    Tensor seeds = Empty(dtype, {2});
    for (int i : {0, 1}) {
      if (dtype == DType::kInt64) seeds.flat<int64_t>()[i] = pair[i];
      if (dtype == DType::kInt32) seeds.flat<int32_t>()[i] = static_cast<int32_t>(pair[i]);
    }
    Tensor key[2], counter[2], y[2];
    OnBoth<KeyOfSeeds>([&](auto* run, int device) {
      key[device] = Empty(DType::kUint64, {1}), counter[device] = Empty(DType::kUint64, {2});
      return run(ctx_, seeds, &key[device], &counter[device]);
    });
    ExpectSameBytes(key[0], key[1]);
    ExpectSameBytes(counter[0], counter[1]);
    OnBoth<RandomFill>([&](auto* run, int device) {
      y[device] = Empty(DType::kFloat, {1001});
      const PhiloxSource source(key[device], counter[device]);
      return run(ctx_, Distribution::kNormal, source, {}, &y[device]);
    });
    ExpectSameBytes(y[0], y[1]);
  }
}

TEST_F(PrimitivesTest, GeneratorsInMemoryMoveOn) {
  Tensor state[2], before[2];
  OnBoth<AdvanceGenerator>([&](auto* run, int device) {
    state[device] = Tensor::Vector<int64_t>({-2, 7, 5});
    before[device] = Empty(DType::kUint64, {3});
    return run(ctx_, /*blocks=*/3, &state[device], &before[device]);
  });
  // The lower half of the counter carries into the upper one.
  EXPECT_EQ(state[0].flat<int64_t>()[0], 1);
  EXPECT_EQ(state[0].flat<int64_t>()[1], 8);
  EXPECT_EQ(before[0].flat<uint64_t>()[0], ~uint64_t{1});
  ExpectSameBytes(state[0], state[1]);
  ExpectSameBytes(before[0], before[1]);
}

TEST_F(PrimitivesTest, BatchNormTrainsAsOnTheCpu) {
  const ChannelShape kShapes[] = {{.outer = 700, .channels = 5, .inner = 1},
                                  {.outer = 3, .channels = 5, .inner = 200}};
  for (const ChannelShape& shape : kShapes) {
    const Tensor x = Floats({shape.outer, shape.channels, shape.inner}, 99, 101);
    const Tensor dy = Floats(x.shape());
    const Tensor vector = Floats({5}, 0.5f, 2);
    Tensor y[2], dx[2], mean[2], variance[2], saved_mean[2], saved_variance[2], dscale[2],
        doffset[2];
    for (int device : {0, 1}) {
      y[device] = Empty(DType::kFloat, x.shape()), dx[device] = Empty(DType::kFloat, x.shape());
      for (Tensor* t : {&mean[device], &variance[device], &saved_mean[device],
                        &saved_variance[device], &dscale[device], &doffset[device]}) {
        *t = Empty(DType::kFloat, {5});
      }
    }
    OnBoth<BatchNorm>([&](auto* run, int d) {
      return run(ctx_, {.shape = shape,
                        .epsilon = 1e-3f,
                        .is_training = true,
                        .average_factor = 0.1f,
                        .x = x,
                        .scale = vector,
                        .offset = vector,
                        .mean = vector,
                        .variance = vector,
                        .y = &y[d],
                        .average_mean = &mean[d],
                        .average_variance = &variance[d],
                        .saved_mean = &saved_mean[d],
                        .saved_variance = &saved_variance[d]});
    });
    ExpectNear(y[0], y[1], 1e-4f);
    ExpectNear(mean[0], mean[1]);
    ExpectNear(variance[0], variance[1]);
    ExpectNear(saved_variance[0], saved_variance[1]);
    OnBoth<BatchNormGradient>([&](auto* run, int d) {
      return run(ctx_, {.shape = shape,
                        .epsilon = 1e-3f,
                        .is_training = true,
                        .dy = dy,
                        .x = x,
                        .scale = vector,
                        .mean = saved_mean[0],
                        .variance = saved_variance[0],
                        .dx = &dx[d],
                        .dscale = &dscale[d],
                        .doffset = &doffset[d]});
    });
    ExpectNear(dx[0], dx[1], 1e-4f);
    ExpectNear(dscale[0], dscale[1], 1e-4f);
    ExpectNear(doffset[0], doffset[1], 1e-4f);
  }
}

TEST_F(PrimitivesTest, SparseAdamUpdatesRepeatedRowsInOrder) {
  const OptimizerStep step{OptimizerRule::kAdam, false, {0.1, 0.9, 0.99, 1e-7, 0.9, 0.99}};
  const Tensor variable = Floats({20, 3}), zeros = Floats({20, 3}, 0, 0);
  const Tensor gradient = Floats({64, 3});
  const Tensor indices = Indices(64, 0, 19);
  Tensor var[2] = {Copy(variable), Copy(variable)}, m[2] = {Copy(zeros), Copy(zeros)},
         v[2] = {Copy(zeros), Copy(zeros)};
  OnBoth<OptimizerUpdate>([&](auto* run, int d) {
    return run(ctx_, step, gradient, &indices, &var[d], &m[d], &v[d], nullptr);
  });
  ExpectNear(var[0], var[1]);
  ExpectNear(v[0], v[1]);
}

TEST_F(PrimitivesTest, ScalarsOfAnOptimizerMayLieOnTheDevice) {
  OptimizerStep step{OptimizerRule::kAdagradDa, false, {0.1, 0.01, 0.02, 7}};
  const Tensor scalars[] = {Tensor::Scalar(0.1f), Tensor::Scalar(0.01f), Tensor::Scalar(0.02f),
                            Tensor::Scalar(int64_t{7})};
  const Tensor variable = Floats({300}), sums = Floats({300}, 1, 2), gradient = Floats({300});
  Tensor var[2] = {Copy(variable), Copy(variable)}, a[2] = {Copy(sums), Copy(sums)},
         b[2] = {Copy(sums), Copy(sums)};
  OnBoth<OptimizerUpdate>([&](auto* run, int d) {
    if (d == 1) {
      step.scalars = {};
      for (size_t i = 0; i < 4; ++i) step.on_device[i] = &scalars[i];
    }
    return run(ctx_, step, gradient, nullptr, &var[d], &a[d], &b[d], nullptr);
  });
  ExpectNear(var[0], var[1]);
}

// Heads come before the tokens in the query, and after them in the key and in the output.
AttentionInputs TokensFirst(const Tensor& query, const Tensor& key, const Tensor& value,
                            const Tensor& mask) {
  AttentionInputs inputs{.query = &query, .key = &key, .value = &value};
  inputs.key_order.heads_first = false;
  inputs.output_order.heads_first = false;
  inputs.batch = query.dim(0), inputs.heads = query.dim(1), inputs.queries = query.dim(2);
  inputs.keys = key.dim(1);
  inputs.scale = 0.5f;
  inputs.masks.emplace_back(mask, false);
  return inputs;
}

TEST_F(PrimitivesTest, AttentionOverManyKeysWithMasks) {
  const int64_t batch = 2, heads = 2, queries = 3, keys = 600, features = 5, width = 7;
  const Tensor query = Floats({batch, heads, queries, features});
  const Tensor key = Floats({batch, keys, heads, features});
  const Tensor value = Floats({batch, heads, keys, width});
  const Tensor mask = Floats({batch, 1, 1, keys}, -4, 0);
  Tensor y[2];
  OnBoth<Attention>([&](auto* run, int d) {
    y[d] = Empty(DType::kFloat, {batch, queries, heads, width});
    return run(ctx_, TokensFirst(query, key, value, mask), &y[d]);
  });
  ExpectNear(y[0], y[1], 1e-4f);
}

// Queries and keys that are no multiples of a tile, in both orders of heads and tokens.
TEST_F(PrimitivesTest, AttentionByTiles) {
  const int64_t batch = 2, heads = 2, queries = 70, keys = 150, features = 20, width = 40;
  const Tensor query = Floats({batch, heads, queries, features}, -3, 3);
  const Tensor key = Floats({batch, keys, heads, features});
  const Tensor value = Floats({1, 1, keys, width});
  const Tensor mask = Floats({batch, 1, 1, keys}, -4, 0);
  Tensor keep = Empty(DType::kBool, {queries, keys});
  for (const bool by_keep : {false, true}) {
    // The query 3 sees no key.
    for (int64_t q = 0; q < queries; ++q) {
      for (int64_t k = 0; k < keys; ++k) keep.flat<bool>()[q * keys + k] = k <= q && q != 3;
    }
    Tensor y[2];
    OnBoth<Attention>([&](auto* run, int d) {
      AttentionInputs inputs = TokensFirst(query, key, value, mask);
      if (by_keep) inputs.keep.emplace(keep, false), inputs.masked = -1e9f;
      y[d] = Empty(DType::kFloat, {batch, queries, heads, width});
      return run(ctx_, inputs, &y[d]);
    });
    ExpectNear(y[0], y[1], 1e-5f);
  }
}

TEST_F(PrimitivesTest, AttentionLeavesOutTilesThatAreMasked) {
  const int64_t length = 200, features = 8;
  const Tensor query = Floats({1, 1, length, features});
  Tensor value = Floats({1, 1, length, features});
  Tensor keep = Empty(DType::kBool, {length, length});
  for (int64_t i = 0; i < length * length; ++i) keep.flat<bool>()[i] = i % length <= i / length;
  // In the last tile of keys, which the last tile of queries alone sees.
  value.flat<float>()[199 * features] = std::numeric_limits<float>::quiet_NaN();
  AttentionInputs inputs{.query = &query, .key = &query, .value = &value};
  inputs.batch = 1, inputs.heads = 1, inputs.queries = length, inputs.keys = length;
  inputs.keep.emplace(keep, false), inputs.masked = -1e9f;
  Tensor y = Empty(DType::kFloat, query.shape());
  ASSERT_TRUE(PrimitiveImplementations<Attention>::Find(kEmulated)(ctx_, inputs, &y).ok());
  EXPECT_FALSE(std::isnan(y.flat<float>()[191 * features]));
  EXPECT_TRUE(std::isnan(y.flat<float>()[192 * features]));
}

TEST_F(PrimitivesTest, GradientsOfGroupedDilatedConvolution) {
  ConvolutionShape shape;
  shape.batch = 2, shape.in_channels = 6, shape.out_channels = 4, shape.groups = 2;
  shape.input = {9, 8}, shape.filter = {3, 2}, shape.output = {4, 4};
  shape.strides = {2, 2}, shape.dilations = {2, 1}, shape.pad_before = {1, 0};
  shape.pad_after = {1, 0};
  const Tensor x = Floats({2, 9, 8, 6}), filter = Floats({3, 2, 3, 4});
  const Tensor gradient = Floats({2, 4, 4, 4});
  Tensor dx[2], df[2];
  OnBoth<ConvolutionInputGradient>([&](auto* run, int d) {
    dx[d] = Empty(DType::kFloat, x.shape());
    return run(ctx_, shape, gradient, filter, &dx[d]);
  });
  OnBoth<ConvolutionFilterGradient>([&](auto* run, int d) {
    df[d] = Empty(DType::kFloat, filter.shape());
    return run(ctx_, shape, x, gradient, &df[d]);
  });
  ExpectNear(dx[0], dx[1], 1e-4f);
  ExpectNear(df[0], df[1], 1e-4f);
}

TEST_F(PrimitivesTest, GradientsOfOverlappingPools) {
  PoolShape s;
  s.batch = 2, s.channels = 3;
  s.input[1] = 13, s.input[2] = 11, s.window[1] = s.window[2] = 3;
  s.stride[1] = s.stride[2] = 2, s.pad[1] = s.pad[2] = 1;
  s.output[1] = 7, s.output[2] = 6;
  Tensor x = Floats({2, 13, 11, 3});
  for (float& v : x.flat<float>()) v = std::round(v * 3);  // with equal maxima
  const Tensor gradient = Floats({2, 7, 6, 3});
  for (const EqualMaxima equal : {EqualMaxima::kFirst, EqualMaxima::kAll}) {
    Tensor y[2] = {Empty(DType::kFloat, x.shape()), Empty(DType::kFloat, x.shape())};
    OnBoth<MaxPoolGradient>(
        [&](auto* run, int d) { return run(ctx_, s, equal, x, gradient, &y[d]); });
    ExpectNear(y[0], y[1]);
  }
  Tensor y[2] = {Empty(DType::kFloat, x.shape()), Empty(DType::kFloat, x.shape())};
  OnBoth<AveragePoolGradient>([&](auto* run, int d) { return run(ctx_, s, gradient, &y[d]); });
  ExpectNear(y[0], y[1]);
}

}  // namespace
}  // namespace tessera
