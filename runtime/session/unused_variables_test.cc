#include "runtime/session/unused_variables.h"

#include <fstream>
#include <memory>
#include <numeric>
#include <string>

#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/host/mapped_file.h"
#include "runtime/host/testing/mapping_state.h"
#include "runtime/tensor/buffer.h"

namespace tessera {
namespace {

constexpr int64_t kFloats = 1 << 18;
constexpr size_t kBytes = kFloats * sizeof(float);

float Sum(const Tensor& tensor) {
  const auto values = tensor.flat<float>();
  return std::accumulate(values.begin(), values.end(), 0.0f);
}

IntrusivePtr<Variable> Add(const std::string& name, Tensor value, ResourceManager* resources) {
  IntrusivePtr<Variable> variable =
      MakeRefCounted<Variable>(DType::kFloat, PartialShape(value.shape()));
  variable->Assign(std::move(value));
  EXPECT_TRUE(resources->Create("", Variable::kTypeName, name, variable).ok());
  return variable;
}

TEST(UnusedVariablesTest, OnlyPagesOfThoseThatNothingElseHoldsLeave) {
  // A file each: the kernel may map a whole one as one page.
  const auto map = [](const std::string& name) {
    const std::string path = JoinPath(::testing::TempDir(), name);
    std::ofstream(path) << std::string(kBytes, '\0');
    return *MappedFile::Open(path);
  };
  const auto unused_file = map("unused"), used_file = map("used");
  if (!CanGuard(used_file->path())) GTEST_SKIP() << "needs leases on files";

  ResourceManager resources;
  const auto value = [&](const std::shared_ptr<const MappedFile>& file) {
    return Tensor::View(DType::kFloat, {kFloats}, MapBuffer(file, 0, kBytes));
  };
  const auto unused = Add("unused", value(unused_file), &resources);
  const auto used = Add("used", value(used_file), &resources);
  Add("without a value", Tensor(), &resources);
  Add("in memory", Tensor::Zeros(DType::kFloat, {kFloats}).value(), &resources);
  const Tensor held = used->Read();
  EXPECT_EQ(Sum(unused->Read()) + Sum(held), 0);
  EXPECT_EQ(ResidentSize(unused_file->data()), kBytes >> 10);

  ReleaseUnusedVariables(resources);
  EXPECT_EQ(ResidentSize(unused_file->data()), 0);
  EXPECT_EQ(ResidentSize(used_file->data()), kBytes >> 10);
  EXPECT_EQ(Sum(unused->Read()), 0) << "it can be read all the same";
}

}  // namespace
}  // namespace tessera
