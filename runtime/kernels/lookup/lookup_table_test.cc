#include "runtime/kernels/lookup/lookup_table.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/tensor/tensor.h"

namespace tessera {
namespace {

LookupTable::Options DenseOptions(Tensor empty_key, Tensor deleted_key, Shape value_shape) {
  LookupTable::Options options;
  options.key_dtype = empty_key.dtype();
  options.key_shape = empty_key.shape();
  options.value_dtype = DType::kFloat;
  options.value_shape = value_shape;
  options.allocator = HeapAllocator();
  options.empty_key = std::move(empty_key);
  options.deleted_key = std::move(deleted_key);
  return options;
}

// TensorFlow exports a dense table of scalar keys as a matrix of one column.
TEST(LookupTableTest, DenseTableTakesTheBucketsOfScalarKeysAndVectorValues) {
  auto table = LookupTable::Make(
                   DenseOptions(Tensor::Scalar<int64_t>(-1), Tensor::Scalar<int64_t>(-2), Shape{2}))
                   .value();

  ASSERT_TRUE(table
                  ->Import(Tensor::Of<int64_t>({4, 1}, {-1, 5, -2, 7}),
                           Tensor::Of<float>({4, 2}, {0, 0, 1, 2, 0, 0, 3, 4}))
                  .ok());

  EXPECT_EQ(table->size(), 2);
  const Tensor found = table
                           ->Find(Tensor::Vector<int64_t>({7, 6, 5}),
                                  Tensor::Vector<float>({-1, -1}), HeapAllocator())
                           .value();
  EXPECT_EQ(found.shape(), (Shape{3, 2}));
  EXPECT_EQ(found.flat<float>(), absl::MakeConstSpan({3.f, 4.f, -1.f, -1.f, 1.f, 2.f}));
}

TEST(LookupTableTest, DenseTableTakesTheBucketsOfKeysAndValuesThatAreMatrices) {
  auto table = LookupTable::Make(DenseOptions(Tensor::Of<int64_t>({2, 1}, {0, 0}),
                                              Tensor::Of<int64_t>({2, 1}, {-1, -1}), Shape{1, 2}))
                   .value();

  ASSERT_TRUE(table
                  ->Import(Tensor::Of<int64_t>({2, 2}, {0, 0, 3, 4}),
                           Tensor::Of<float>({2, 2}, {0, 0, 5, 6}))
                  .ok());

  EXPECT_EQ(table->size(), 1);
  const Tensor found = table
                           ->Find(Tensor::Of<int64_t>({1, 2, 1}, {3, 4}),
                                  Tensor::Of<float>({1, 2}, {0, 0}), HeapAllocator())
                           .value();
  EXPECT_EQ(found.shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(found.flat<float>(), absl::MakeConstSpan({5.f, 6.f}));
}

TEST(LookupTableTest, DenseTableTakesAnExportWithoutBuckets) {
  auto table = LookupTable::Make(
                   DenseOptions(Tensor::Scalar<int64_t>(-1), Tensor::Scalar<int64_t>(-2), Shape{2}))
                   .value();

  ASSERT_TRUE(table->Import(Tensor::Of<int64_t>({0, 1}, {}), Tensor::Of<float>({0, 2}, {})).ok());

  EXPECT_EQ(table->size(), 0);
}

TEST(LookupTableTest, DenseTableRefusesBucketsThatDoNotFit) {
  auto table = LookupTable::Make(
                   DenseOptions(Tensor::Scalar<int64_t>(-1), Tensor::Scalar<int64_t>(-2), Shape{2}))
                   .value();

  EXPECT_EQ(
      table->Import(Tensor::Of<int64_t>({2, 1}, {5, 6}), Tensor::Of<float>({1, 2}, {1, 2})).code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      table->Import(Tensor::Of<int64_t>({1, 1}, {5}), Tensor::Of<float>({1, 3}, {1, 2, 3})).code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      table->Import(Tensor::Of<int32_t>({1, 1}, {5}), Tensor::Of<float>({1, 2}, {1, 2})).code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
