#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace tessera {
namespace {

// The file of the program or library whose definition of `symbol` others are bound to.
std::string HomeOf(const char* symbol) {
  Dl_info info;
  void* const address = dlsym(RTLD_DEFAULT, symbol);
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fname : "nowhere";
}

// One function from here and one from a second libgomp, and every thread would be the first.
TEST(OpenMpWaitingTest, WholeOfOpenMpThatOneDnnUsesIsTheProgramsOwn) {
  const std::string program = HomeOf("GOMP_parallel");
  EXPECT_EQ(program.find("libgomp"), std::string::npos) << program;
  for (const char* symbol : {"GOMP_barrier", "omp_get_max_threads", "omp_get_num_threads",
                             "omp_get_thread_num", "omp_in_parallel"}) {
    EXPECT_EQ(HomeOf(symbol), program) << symbol;
  }
}

TEST(OpenMpWaitingTest, SpinningIsLimitedBeforeMain) {
  EXPECT_STREQ(std::getenv("GOMP_SPINCOUNT"), "1000");
}

}  // namespace
}  // namespace tessera
