#include "runtime/host/core_set.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(CoreSetTest, AShareIsRoundedAndOfTheseCores) {
  const CoreSet all = CoreSet::OfThisThread();
  ASSERT_GE(all.size(), 1);
  EXPECT_EQ(all.Share(1), all);
  EXPECT_EQ(all.Share(1e-9).size(), 1) << "something must be able to run";
  EXPECT_EQ(all.Share(0.5).size(), std::max<long>(1, std::lround(0.5 * all.size())));
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    EXPECT_TRUE(!all.Share(0.5).Contains(core) || all.Contains(core)) << core;
  }
}

TEST(CoreSetTest, AThreadAndThoseItStartsStayThere) {
  const CoreSet before = CoreSet::OfThisThread();
  const CoreSet one = before.Share(1e-9);
  std::thread([&] {
    ASSERT_TRUE(one.BindThisThread().ok());
    EXPECT_EQ(CoreSet::OfThisThread(), one);
    std::thread([&] { EXPECT_EQ(CoreSet::OfThisThread(), one); }).join();
  }).join();
  EXPECT_EQ(CoreSet::OfThisThread(), before) << "others run where they did";
}

TEST(CoreSetTest, TheEmptySetKeepsNobody) {
  const CoreSet none;
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(none.Share(0.5).empty());
  const CoreSet before = CoreSet::OfThisThread();
  EXPECT_TRUE(none.BindThisThread().ok());
  EXPECT_EQ(CoreSet::OfThisThread(), before);
}

}  // namespace
}  // namespace tessera
