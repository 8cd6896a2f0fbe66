#include "tests/conformance/ops_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/file_system.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

TEST(OpsPageTest, TheStoredPageIsCurrent) {
  const std::string kernels = ReadFile("tests/data/tensorflow_kernels.tsv").value();
  const std::string exceptions = ReadFile("tests/conformance/ops_exceptions.tsv").value();
  const absl::StatusOr<std::string> page = OpsPage(kernels, exceptions);
  ASSERT_TRUE(page.ok()) << page.status();
  // A difference of a thousand lines tells nothing more than this.
  EXPECT_TRUE(*page == ReadFile("docs/ops.md").value())
      << "docs/ops.md is not current: run scripts/ops_page";
}

// The declaration of L2Loss forbids strings, which therefore do not count.
TEST(OpsPageTest, CountsOpsAndDTypes) {
  const std::string page = OpsPage(
                               "NoOp\nL2Loss\tT=float,string\nRequantize\tTinput=qint32,quint8\n"
                               "Foo\tT=float\nTpuFoo\n",
                               "chips\tTpu*\n")
                               .value();
  EXPECT_THAT(page, HasSubstr("| ops with a kernel here | 3 of 5, 60.0 % |"));
  EXPECT_THAT(page, HasSubstr("| the same without the exceptions below | 3 of 4, 75.0 % |"));
  EXPECT_THAT(page, HasSubstr("counted by attribute | 2 of 3, 66.7 % |"));
  EXPECT_THAT(page, HasSubstr("| chips | `TpuFoo` |"));
  EXPECT_THAT(page, HasSubstr("## Not there yet\n\n`Foo`."));
  EXPECT_THAT(page, HasSubstr("| Tinput: quint8 | CPU |"));
}

TEST(OpsPageTest, RefusesExceptionsWithAKernel) {
  const absl::Status status = OpsPage("NoOp\n", "none\tNo*\n").status();
  EXPECT_THAT(status.ToString(), HasSubstr("NoOp has a kernel"));
}

}  // namespace
}  // namespace tessera
