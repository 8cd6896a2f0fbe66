#include "runtime/kernels/primitives/cuda/cublaslt_plan.h"

#include <gtest/gtest.h>

namespace tessera::cuda {
namespace {

class ProductPlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<const CublasLt*> lt = LoadCublasLt();
    if (!lt.ok()) GTEST_SKIP() << lt.status();
    lt_ = *lt;
  }
  static Product SomeProduct() {
    Product product{};
    product.dtype = DType::kFloat;
    product.m = 3, product.n = 32, product.k = 64;
    product.batch = 2, product.a_stride = product.b_stride = 1;
    product.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    product.alignment = 16;
    return product;
  }

  const CublasLt* lt_ = nullptr;
};

TEST_F(ProductPlanTest, DescribesEachTransposition) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      Product product = SomeProduct();
      product.transpose_a = transpose_a, product.transpose_b = transpose_b;
      product.conjugate_a = transpose_a;
      ProductPlan plan(*lt_);
      const absl::Status status =
          plan.Describe(product, {CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F}, Scales());
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

TEST_F(ProductPlanTest, DescribesOperandsOf8BitsWithTheirScales) {
  for (const cudaDataType_t output : {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF}) {
    Product product = SomeProduct();
    product.transpose_b = product.is_e4m3 = true;
    product.batch = 1;
    product.epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
    ProductPlan plan(*lt_);
    // Nothing reads the scales.
    const float scale = 1;
    const absl::Status status = plan.Describe(
        product, {CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, output}, {&scale, &scale});
    EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace tessera::cuda
