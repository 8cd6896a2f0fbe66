#include "serving/core/helper_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

TEST(HelperThreadTest, WorksBesideTheCallerOnce) {
  int count = 0;
  {
    HelperThread thread([&] { ++count; });
    thread.Join();
    EXPECT_EQ(count, 1);
  }
  EXPECT_EQ(count, 1);
  {
    const HelperThread thread([&] { ++count; });
  }
  EXPECT_EQ(count, 2);
}

// Exits with 0 if work is done that no thread can be started for. For a process of its own, whose
// user it changes, because limits do not bind root.
void WorksWithoutAThread() {
  if (geteuid() == 0 && setuid(65534) != 0) _exit(0);
  rlimit threads;
  getrlimit(RLIMIT_NPROC, &threads);
  threads.rlim_cur = 0;
  setrlimit(RLIMIT_NPROC, &threads);
  int count = 0;
  {
    HelperThread thread([&] { ++count; });
    if (count != 0) _exit(1);
    thread.Join();
  }
  _exit(count == 1 ? 0 : 2);
}

TEST(HelperThreadDeathTest, WorksWhenItIsJoinedWhereNoThreadCanBeStarted) {
  EXPECT_EXIT(WorksWithoutAThread(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera::serving
