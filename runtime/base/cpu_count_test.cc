#include "runtime/base/cpu_count.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace tessera {
namespace {

class CpuCountTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  const std::string root_ =
      testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(CpuCountTest, ThereIsACore) { EXPECT_GE(AvailableCores(), 1); }

TEST_F(CpuCountTest, NoLimitIsZero) {
  EXPECT_EQ(CoresOfControlGroups("", root_), 0);
  EXPECT_EQ(CoresOfControlGroups("0::/\n", root_), 0);
  Write("cpu.max", "max 100000\n");
  EXPECT_EQ(CoresOfControlGroups("0::/\n", root_), 0);
  Write("cpu.max", "0 0\n");
  EXPECT_EQ(CoresOfControlGroups("0::/\n", root_), 0);
  Write("cpu.max", "nonsense");
  EXPECT_EQ(CoresOfControlGroups("0::/\nmore\nnonsense:", root_), 0);
}

TEST_F(CpuCountTest, LimitsAreRoundedUp) {
  Write("cpu.max", "100000 100000\n");
  EXPECT_EQ(CoresOfControlGroups("0::/\n", root_), 1);
  Write("cpu.max", "150000 100000\n");
  EXPECT_EQ(CoresOfControlGroups("0::/\n", root_), 2);
  Write("cpu.max", "1000 100000\n");
  EXPECT_EQ(CoresOfControlGroups("0::/\n", root_), 1);
  Write("cpu.max", "9223372036854775807 1\n");
  EXPECT_GT(CoresOfControlGroups("0::/\n", root_), 1000);
}

TEST_F(CpuCountTest, TheStrictestOfTheParentsCounts) {
  Write("pods/cpu.max", "300000 100000\n");
  Write("pods/a/cpu.max", "800000 100000\n");
  EXPECT_EQ(CoresOfControlGroups("0::/pods/a/container\n", root_), 3);
  Write("pods/a/container/cpu.max", "200000 100000\n");
  EXPECT_EQ(CoresOfControlGroups("0::/pods/a/container\n", root_), 2);
}

TEST_F(CpuCountTest, Version1) {
  Write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  Write("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const char kMemberships[] = "3:memory:/docker/x\n2:cpu,cpuacct:/docker/x\n";
  EXPECT_EQ(CoresOfControlGroups(kMemberships, root_), 0);
  Write("cpu,cpuacct/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(CoresOfControlGroups(kMemberships, root_), 4);
}

}  // namespace
}  // namespace tessera
