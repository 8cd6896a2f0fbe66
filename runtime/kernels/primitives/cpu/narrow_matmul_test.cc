// Matrix products of half and bfloat16 whose right-hand side is constant.
#include <cmath>

#include "gtest/gtest.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"
#include "runtime/kernels/primitives/matmul.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

Tensor RandomNarrow(DType dtype, const Shape& shape, int seed) {
  Tensor narrow = Tensor::Allocate(dtype, shape).value();
  NarrowFromFloat(RandomTensor(shape, seed), &narrow);
  return narrow;
}

Tensor Widen(const Tensor& narrow) { return WidenToFloat(narrow, HeapAllocator()).value(); }

class NarrowMatMulTest : public ::testing::TestWithParam<DType> {
 protected:
  // Multiplies `rows` rows by `b`, and expects sums that are rounded once. Input 1 of the kernel is
  // `weights`.
  void ExpectProduct(MatMul& product, int64_t rows, bool transpose_b, const Tensor& weights,
                     const Tensor& b) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << transpose_b);
    const int64_t n = b.dim(transpose_b ? 0 : 1), k = b.dim(transpose_b ? 1 : 0);
    const PostOps post_ops{.bias = true, .add = true, .activation = Activation::kRelu};
    const Tensor a = RandomNarrow(GetParam(), {rows, k}, 2);
    const Tensor bias = RandomNarrow(GetParam(), {n}, 3);
    const Tensor addend = RandomNarrow(GetParam(), {rows, n}, 4);
    const std::vector<double> want = ReferenceMatMul(rows, n, k, transpose_b, post_ops, Widen(a),
                                                     Widen(b), Widen(bias), Widen(addend));
    Tensor output = addend.DeepCopy().value();
    Value inputs[] = {{.tensor = a}, {.tensor = weights}};
    const KernelContext::InputSlot slots[] = {{.index = 0, .last_use = 0},
                                              {.index = 1, .last_use = 0}};
    StepContext step;
    step.intra_op_pool = &pool_;
    KernelContext ctx(step, nullptr);
    ctx.Bind(inputs, slots, nullptr, {});

    ASSERT_TRUE(product
                    .Run(ctx, {.m = rows, .n = n, .k = k, .transpose_b = transpose_b}, post_ops, a,
                         b, {.bias = &bias, .addend = &addend}, &output)
                    .ok());

    const double ulp = GetParam() == DType::kHalf ? 1.0 / 1024 : 1.0 / 128;
    const Tensor got = Widen(output);
    for (int64_t i = 0; i < rows * n; ++i) {
      ASSERT_NEAR(got.data<float>()[i], want[i], ulp * std::abs(want[i]) + 1e-4) << "at " << i;
    }
  }

  ThreadPool pool_{{.name = "test", .num_threads = 3}};
};

TEST_P(NarrowMatMulTest, ConstantWeightsMultiplyAnyNumberOfRows) {
  const OpDef op;
  const AttrMap attrs;
  for (const bool transpose_b : {false, true}) {
    const Shape shape = transpose_b ? Shape{300, 257} : Shape{257, 300};
    const Tensor weights = RandomNarrow(GetParam(), shape, 1);
    const KernelBuild build(op, "product", attrs, {GetParam(), GetParam()}, {GetParam()}, nullptr,
                            nullptr, {.constant_inputs = {nullptr, &weights}});
    const auto product = (*PrimitiveImplementations<MatMul>::Find(kCpu))(build, 1);
    ASSERT_TRUE(product->Prepare({}, transpose_b, WeightUse::kOnceARun).ok());

    for (const int64_t rows : {1, 3, 40, 200, 1}) {
      ExpectProduct(*product, rows, transpose_b, weights, weights);
    }

    // Weights that the kernel derives from the constant have other values.
    for (const int64_t rows : {3, 40, 200}) {
      ExpectProduct(*product, rows, transpose_b, weights, RandomNarrow(GetParam(), shape, 5));
      ExpectProduct(*product, rows, transpose_b, weights, weights);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, NarrowMatMulTest,
                         ::testing::Values(DType::kHalf, DType::kBfloat16));

}  // namespace
}  // namespace tessera
