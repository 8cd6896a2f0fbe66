// Whether kernels and declarations, which are written apart from each other, agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

using ::testing::IsEmpty;

bool HasArg(const OpDef& op, const std::string& name) {
  for (const auto* args : {&op.inputs, &op.outputs}) {
    for (const ArgDef& arg : *args) {
      if (arg.name == name) return true;
    }
  }
  return false;
}

TEST(KernelDeclarationsTest, KernelsNameOpsAttributesAndArgumentsThatAreDeclared) {
  ASSERT_GT(KernelRegistry::Global().All().size(), 500u);
  std::set<std::string> mistakes;
  for (const KernelDef* kernel : KernelRegistry::Global().All()) {
    const OpDef* const op = OpRegistry::Global().Find(kernel->op);
    if (op == nullptr) {
      mistakes.insert(kernel->op);
      continue;
    }
    for (const auto& constraint : kernel->constraints) {
      if (op->FindAttr(constraint.attr) == nullptr) {
        mistakes.insert(absl::StrCat(kernel->op, " attribute ", constraint.attr));
      }
    }
    for (const std::string& arg : kernel->host_memory_args) {
      if (!HasArg(*op, arg)) mistakes.insert(absl::StrCat(kernel->op, " argument ", arg));
    }
  }
  EXPECT_THAT(mistakes, IsEmpty());
}

}  // namespace
}  // namespace tessera
