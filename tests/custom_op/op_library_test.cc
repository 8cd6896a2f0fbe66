#include "runtime/framework/op_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/shape_inference.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ContainerEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kLibrary[] = "tests/custom_op/libzero_out.so";

TEST(OpLibraryTest, AddsAnOpAndItsKernel) {
  ASSERT_EQ(OpRegistry::Global().Find("ZeroOut"), nullptr);
  const auto added = LoadOpLibrary(kLibrary);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_THAT(*added, ElementsAre("ZeroOut"));
  EXPECT_THAT(*LoadOpLibrary(kLibrary), IsEmpty()) << "the second time nothing is new";

  const OpDef* const op = OpRegistry::Global().Find("ZeroOut");
  ASSERT_NE(op, nullptr);
  ShapeContext shapes(*op, {}, {PartialShape({-1, 2})}, {nullptr}, 1);
  ASSERT_TRUE(op->shape_fn(shapes).ok());
  EXPECT_EQ(shapes.outputs()[0], PartialShape({-1, 2}));
  ASSERT_TRUE(shapes.WithRank(0, 2).ok());

  auto kernel = CreateKernel(
      KernelBuild(*op, "node", {}, {DType::kFloat}, {DType::kFloat}, nullptr, nullptr));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  StepContext step;
  KernelContext ctx(step, nullptr);
  Value input{Tensor::Vector<float>({3, 4, 5}), nullptr}, output;
  const KernelContext::InputSlot slot{0, 1};
  const DType type = DType::kFloat;
  ctx.Bind(&input, {&slot, 1}, &output, {&type, 1});
  ASSERT_TRUE((*kernel)->Compute(ctx).ok());
  EXPECT_THAT(output.tensor.flat<float>(), ElementsAre(3, 0, 0));
}

TEST(OpLibraryTest, ALibraryDeclaresTraits) {
  ASSERT_TRUE(LoadOpLibrary("tests/custom_op/libread_clock.so").ok());
  const OpDef* const op = OpRegistry::Global().Find("ReadClock");
  ASSERT_NE(op, nullptr);
  EXPECT_TRUE(op->traits == OpTraits(OpTrait::kReadsOutside));
}

TEST(OpLibraryTest, ALibraryOfOtherHeadersIsRefusedBeforeItRuns) {
  const auto added = LoadOpLibrary("tests/custom_op/libother_abi.so");
  EXPECT_EQ(added.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(added.status().message()),
              AllOf(HasSubstr("built for op ABI 999999"),
                    HasSubstr(absl::StrCat("this server has op ABI ", TESSERA_OP_ABI)),
                    HasSubstr("rebuild it against the headers of this server")));
  EXPECT_EQ(OpRegistry::Global().Find("FromOtherHeaders"), nullptr);
  // Nor does the dynamic linker let it run, where it is loaded by somebody else.
  EXPECT_EQ(dlopen("tests/custom_op/libother_abi.so", RTLD_NOW | RTLD_LOCAL), nullptr);
  EXPECT_THAT(dlerror(), HasSubstr("tessera_op_abi_999999"));
  EXPECT_EQ(OpRegistry::Global().Find("FromOtherHeaders"), nullptr);
}

// A library has these sizes compiled in.
TEST(OpLibraryTest, TheSizesOfTypesBelongToTheAbiNumber) {
  const std::map<std::string, size_t> sizes = {{"AttrValue", sizeof(AttrValue)},
                                               {"Buffer", sizeof(Buffer)},
                                               {"Device", sizeof(Device)},
                                               {"KernelBuild", sizeof(KernelBuild)},
                                               {"KernelContext", sizeof(KernelContext)},
                                               {"OpDef", sizeof(OpDef)},
                                               {"OpKernel", sizeof(OpKernel)},
                                               {"PartialShape", sizeof(PartialShape)},
                                               {"ShapeContext", sizeof(ShapeContext)},
                                               {"StepContext", sizeof(StepContext)},
                                               {"Tensor", sizeof(Tensor)},
                                               {"Value", sizeof(Value)}};
  const std::map<std::string, size_t> of_number_2 = {
      {"AttrValue", 96},      {"Buffer", 40},      {"Device", 192}, {"KernelBuild", 152},
      {"KernelContext", 120}, {"OpDef", 152},      {"OpKernel", 8}, {"PartialShape", 64},
      {"ShapeContext", 88},   {"StepContext", 80}, {"Tensor", 88},  {"Value", 96}};
  EXPECT_THAT(sizes, ContainerEq(of_number_2))
      << "raise TESSERA_OP_ABI (runtime/framework/op_abi.h), and write the new sizes here";
  EXPECT_EQ(TESSERA_OP_ABI, 2);
}

TEST(OpLibraryTest, ALibraryThatDeclaresAnOpAgainIsRefusedAsAWhole) {
  ASSERT_TRUE(LoadOpLibrary(kLibrary).ok());
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto added = LoadOpLibrary("tests/custom_op/libtaken_name.so");
    EXPECT_EQ(added.status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_THAT(std::string(added.status().message()),
                AllOf(HasSubstr("libtaken_name.so"),
                      HasSubstr("op 'ZeroOut' is declared already; give the op another name")));
  }
  EXPECT_EQ(OpRegistry::Global().Find("NotTaken"), nullptr);
  EXPECT_FALSE(KernelRegistry::Global().HasKernel("NotTaken"));
  EXPECT_EQ(OpRegistry::Global().Find("ZeroOut")->inputs.size(), 1)
      << "the first declaration stays";
}

TEST(OpLibraryTest, ALibraryWithoutAnAbiNumberIsRefused) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/libold.so");
  std::ofstream(path) << "\177ELF of another age";
  EXPECT_THAT(std::string(LoadOpLibrary(path).status().message()), HasSubstr("it names no op ABI"));
}

TEST(OpLibraryTest, AFileThatIsNotThereIsNotFound) {
  const auto added = LoadOpLibrary("/nonexistent/ops.so");
  EXPECT_EQ(added.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(added.status().message()), HasSubstr("/nonexistent/ops.so"));
}

}  // namespace
}  // namespace tessera
