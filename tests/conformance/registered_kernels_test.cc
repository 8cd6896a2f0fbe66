// What all registered kernels promise, against the declarations of their ops.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

bool Has(const std::vector<ArgDef>& args, absl::string_view name) {
  return std::any_of(args.begin(), args.end(),
                     [name](const ArgDef& arg) { return arg.name == name; });
}

TEST(RegisteredKernelsTest, HostMemoryNamesArgumentsOfTheOp) {
  for (const KernelDef* kernel : KernelRegistry::Global().All()) {
    const OpDef* const op = OpRegistry::Global().Find(kernel->op);
    if (op == nullptr) continue;  // a kernel without a declaration: tested with the declarations
    for (const std::string& arg : kernel->host_memory_args) {
      EXPECT_TRUE(Has(op->inputs, arg) || Has(op->outputs, arg))
          << kernel->op << ": no argument '" << arg << "'";
    }
  }
}

TEST(RegisteredKernelsTest, TypeConstraintsNameTypeAttributesOfTheOp) {
  for (const KernelDef* kernel : KernelRegistry::Global().All()) {
    const OpDef* const op = OpRegistry::Global().Find(kernel->op);
    if (op == nullptr) continue;
    for (const TypeConstraint& constraint : kernel->constraints) {
      const AttrDef* const attr = op->FindAttr(constraint.attr);
      EXPECT_TRUE(attr != nullptr && (attr->type == "type" || attr->type == "list(type)"))
          << kernel->op << ": no attribute '" << constraint.attr << "' of type 'type'";
    }
  }
}

}  // namespace
}  // namespace tessera
