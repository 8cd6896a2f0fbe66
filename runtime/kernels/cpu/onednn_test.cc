#include "runtime/kernels/cpu/onednn.h"

#include <omp.h>

#include "gtest/gtest.h"
#include "runtime/base/background.h"

namespace tessera::onednn {
namespace {

TEST(ThreadBoundTest, ThreadsAreThoseOfThePoolAndOneWithoutOne) {
  const int before = omp_get_max_threads();
  ThreadPool pool({.num_threads = 3});
  {
    const ThreadBound bound(&pool);
    EXPECT_EQ(bound.num_threads(), 3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    const ThreadBound alone(nullptr);
    EXPECT_EQ(alone.num_threads(), 1);
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(ThreadBoundTest, InTheBackgroundThereAreNoMoreThanWorkThere) {
  ThreadPool pool({.num_threads = 3}), two({.num_threads = 2}), four({.num_threads = 4});
  BackgroundScope scope(&two);
  EXPECT_EQ(ThreadBound(&pool).num_threads(), 2);
  EXPECT_EQ(ThreadBound(nullptr).num_threads(), 1);
  BackgroundScope wider(&four);
  EXPECT_EQ(ThreadBound(&pool).num_threads(), 3);
}

}  // namespace
}  // namespace tessera::onednn
