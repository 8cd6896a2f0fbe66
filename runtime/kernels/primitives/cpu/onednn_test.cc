#include "runtime/kernels/primitives/cpu/onednn.h"

#include <omp.h>

#include "gtest/gtest.h"

namespace tessera::onednn {
namespace {

TEST(OneThreadTest, OpenMpHasOneThreadWhileItLives) {
  omp_set_num_threads(3);
  {
    const OneThread one_thread;
    EXPECT_EQ(omp_get_max_threads(), 1);
    { const OneThread inner; }
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), 3);
}

}  // namespace
}  // namespace tessera::onednn
