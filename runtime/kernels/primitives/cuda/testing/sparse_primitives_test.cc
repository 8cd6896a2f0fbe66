// The GPU's primitives of sparse tensors, look-ups and sets beside those of the CPU.
#include <algorithm>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/arithmetic_sequence.h"
#include "runtime/kernels/primitives/cuda/testing/both_devices.h"
#include "runtime/kernels/primitives/fill_empty_rows.h"
#include "runtime/kernels/primitives/find_unique.h"
#include "runtime/kernels/primitives/reshape_indices.h"
#include "runtime/kernels/primitives/segment_lookup.h"

namespace tessera {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class SparsePrimitivesTest : public BothDevicesTest {
 protected:
  void ExpectSameDistinct(const Tensor& values, DType index_type = DType::kInt64) {
    const int64_t count = values.dim(0);
    const Tensor rows = values.Reshaped(Shape{count, 1}).value();
    Tensor which[2] = {Empty(index_type, {count}), Empty(index_type, {count})};
    FindUnique::Distinct distinct[2];
    OnBoth<FindUnique>([&](auto* find, int device) -> absl::Status {
      auto found = find(ctx_, rows, /*with_counts=*/true, &which[device]);
      if (!found.ok()) return found.status();
      distinct[device] = *std::move(found);
      return absl::OkStatus();
    });
    ExpectSameBytes(which[0], which[1]);
    ASSERT_EQ(distinct[0].firsts.shape(), distinct[1].firsts.shape());
    ExpectSameBytes(distinct[0].firsts, distinct[1].firsts);
    ExpectSameBytes(distinct[0].counts, distinct[1].counts);
  }
  // n ascending numbers of [0, segments).
  Tensor Segments(int64_t n, int64_t segments) {
    Tensor ids = Indices(n, 0, segments - 1);
    auto flat = ids.flat<int32_t>();
    std::sort(flat.begin(), flat.end());
    return ids;
  }
};

TEST_F(SparsePrimitivesTest, DistinctElementsInTheOrderOfTheirFirstPlaces) {
  ExpectSameDistinct(Indices(5000, -40, 700));
  ExpectSameDistinct(Indices(3000, 0, 1), DType::kInt32);
  ExpectSameDistinct(Indices(1, 3, 3));
  ExpectSameDistinct(Empty(DType::kInt32, {0}));
  ExpectSameDistinct(Tensor::Vector<float>({2, -0.0f, kNaN, 0, 2, kNaN, -1}));
  ExpectSameDistinct(Tensor::Vector<bool>({true, false, true}));
  ExpectSameDistinct(Tensor::Vector<uint64_t>({~uint64_t{0}, 0, ~uint64_t{0}, 7}));
  ExpectSameDistinct(Tensor::Vector<int64_t>(
      {std::numeric_limits<int64_t>::max(), -1, std::numeric_limits<int64_t>::max()}));
}

TEST_F(SparsePrimitivesTest, EmptyRowsGetTheDefault) {
  const struct {
    int64_t count, rows;
  } kCases[] = {{0, 0}, {0, 5}, {1, 1}, {300, 40}, {40, 3000}, {2000, 1500}};
  for (const auto& c : kCases) {
    Tensor indices = Empty(DType::kInt64, {c.count, 3});
    const Tensor rows = Indices(3 * c.count, 0, std::max<int64_t>(c.rows, 1) - 1);
    for (int64_t i = 0; i < 3 * c.count; ++i) {
      indices.flat<int64_t>()[i] = rows.flat<int32_t>()[i];
    }
    const Tensor values = Floats({c.count});
    const Tensor fallback = Tensor::Scalar(7.0f);
    Tensor is_empty[2] = {Empty(DType::kBool, {c.rows}), Empty(DType::kBool, {c.rows})};
    Tensor positions[2] = {Empty(DType::kInt64, {c.count}), Empty(DType::kInt64, {c.count})};
    FillEmptyRows::Filled filled[2];
    OnBoth<FillEmptyRows>([&](auto* fill, int device) -> absl::Status {
      auto result = fill(ctx_, indices, values, fallback, &is_empty[device], &positions[device]);
      if (!result.ok()) return result.status();
      filled[device] = *std::move(result);
      return absl::OkStatus();
    });
    ASSERT_EQ(filled[0].indices.shape(), filled[1].indices.shape());
    ExpectSameBytes(filled[0].indices, filled[1].indices);
    ExpectSameBytes(filled[0].values, filled[1].values);
    ExpectSameBytes(is_empty[0], is_empty[1]);
    ExpectSameBytes(positions[0], positions[1]);
  }
}

TEST_F(SparsePrimitivesTest, ARowThatDoesNotExistIsAnError) {
  for (const absl::string_view device : {kCpu, kEmulated}) {
    for (const int64_t row : {-1, 2}) {
      const Tensor indices = Tensor::Of<int64_t>(Shape{2, 1}, {1, row});
      Tensor is_empty = Empty(DType::kBool, {2}), positions = Empty(DType::kInt64, {2});
      const auto filled = PrimitiveImplementations<FillEmptyRows>::Find(device)(
          ctx_, indices, Tensor::Vector<float>({1, 2}), Tensor::Scalar(0.0f), &is_empty,
          &positions);
      EXPECT_EQ(filled.status().code(), absl::StatusCode::kInvalidArgument) << device << row;
    }
  }
}

TEST_F(SparsePrimitivesTest, CoordinatesOfAnotherShape) {
  Tensor from = Empty(DType::kInt64, {500, 2});
  const Tensor a = Indices(500, 0, 59), b = Indices(500, 0, 69);
  for (int64_t i = 0; i < 500; ++i) {
    from.flat<int64_t>()[2 * i] = a.flat<int32_t>()[i];
    from.flat<int64_t>()[2 * i + 1] = b.flat<int32_t>()[i];
  }
  Tensor to[2] = {Empty(DType::kInt64, {500, 3}), Empty(DType::kInt64, {500, 3})};
  OnBoth<ReshapeIndices>([&](auto* reshape, int device) {
    return reshape(ctx_, {60, 70}, from, {7, 6, 100}, &to[device]);
  });
  ExpectSameBytes(to[0], to[1]);
}

TEST_F(SparsePrimitivesTest, SegmentsOfLookedUpRows) {
  for (const SegmentDivisor divisor :
       {SegmentDivisor::kOne, SegmentDivisor::kCount, SegmentDivisor::kRootOfCount}) {
    const Tensor data = Floats({90, 17}), indices = Indices(700, 0, 89), ids = Segments(700, 120);
    Tensor sums[2] = {Empty(DType::kFloat, {130, 17}), Empty(DType::kFloat, {130, 17})};
    OnBoth<SegmentLookup>([&](auto* look_up, int device) {
      return look_up(ctx_, divisor, data, indices, ids, &sums[device]);
    });
    ExpectNear(sums[0], sums[1], 1e-6f);
    const Tensor gradient = Floats({130, 17});
    Tensor rows[2] = {Empty(DType::kFloat, {95, 17}), Empty(DType::kFloat, {95, 17})};
    OnBoth<SegmentLookupGradient>([&](auto* add_up, int device) {
      return add_up(ctx_, divisor, gradient, indices, ids, &rows[device]);
    });
    ExpectNear(rows[0], rows[1], 1e-5f);
  }
}

TEST_F(SparsePrimitivesTest, NoIndicesGiveZeros) {
  const Tensor none = Empty(DType::kInt32, {0});
  Tensor sums[2] = {Empty(DType::kFloat, {3, 2}), Empty(DType::kFloat, {3, 2})};
  OnBoth<SegmentLookup>([&](auto* look_up, int device) {
    return look_up(ctx_, SegmentDivisor::kCount, Floats({4, 2}), none, none, &sums[device]);
  });
  ExpectSameBytes(sums[0], sums[1]);
  EXPECT_EQ(sums[0].flat<float>()[5], 0);
}

TEST_F(SparsePrimitivesTest, SequencesOfEachKindOfNumber) {
  Tensor y[2] = {Empty(DType::kFloat, {70000}), Empty(DType::kFloat, {70000})};
  OnBoth<ArithmeticSequence>([&](auto* run, int device) {
    return run(ctx_, Tensor::Scalar(-3.5f), Tensor::Scalar(0.25f), &y[device]);
  });
  ExpectSameBytes(y[0], y[1]);
  Tensor n[2] = {Empty(DType::kInt64, {9}), Empty(DType::kInt64, {9})};
  OnBoth<ArithmeticSequence>([&](auto* run, int device) {
    return run(ctx_, Tensor::Scalar(int64_t{1} << 40), Tensor::Scalar(int64_t{-7}), &n[device]);
  });
  ExpectSameBytes(n[0], n[1]);
}

}  // namespace
}  // namespace tessera
