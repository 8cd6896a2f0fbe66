#include "serving/server/descriptor_limit.h"

#include <sys/resource.h>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

TEST(DescriptorLimitTest, IsRaisedToTheHardLimit) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  for (int i = 0; i < 2; ++i) {
    RaiseDescriptorLimit();
    rlimit raised = {};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &raised), 0);
    EXPECT_EQ(raised.rlim_cur, limit.rlim_max);
    EXPECT_EQ(raised.rlim_max, limit.rlim_max);
  }
}

}  // namespace
}  // namespace tessera::serving
