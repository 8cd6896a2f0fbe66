#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/onednn.h"

namespace tessera {
namespace {

// Returns the file of the program or library that `address` lies in.
std::string HomeOf(const void* address) {
  Dl_info info;
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fname : "nowhere";
}

// With one function from the program and one from a second libgomp, every thread would take itself
// for the first.
TEST(OpenMpWaitingTest, WholeOfOpenMpThatOneDnnUsesIsTheProgramsOwn) {
  onednn::Engine();  // so that oneDNN is linked, and libgomp.so with it
  const std::string program = HomeOf(reinterpret_cast<const void*>(&HomeOf));
  ASSERT_NE(program, "nowhere");
  for (const char* symbol : {"GOMP_barrier", "GOMP_parallel", "omp_get_max_threads",
                             "omp_get_num_threads", "omp_get_thread_num", "omp_in_parallel"}) {
    EXPECT_EQ(HomeOf(dlsym(RTLD_DEFAULT, symbol)), program) << symbol;
  }
}

TEST(OpenMpWaitingTest, SpinningIsLimitedBeforeMain) {
  EXPECT_STREQ(std::getenv("GOMP_SPINCOUNT"), "1000");
}

}  // namespace
}  // namespace tessera
