// Runs a fuzz target on each input of its corpus, without libFuzzer. An input that fails ends the
// process; its path is the last line of the log.
#include <cstddef>
#include <cstdint>
#include <iostream>

#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

// Defined by some targets only.
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tessera {
namespace {

TEST(CorpusTest, EveryInputIsSurvived) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(nullptr, nullptr);
  const auto names = ListDirectory(FUZZ_CORPUS);
  ASSERT_TRUE(names.ok()) << names.status();
  ASSERT_FALSE(names->empty());
  for (const std::string& name : *names) {
    const std::string path = JoinPath(FUZZ_CORPUS, name);
    std::cout << path << std::endl;
    const auto input = ReadFile(path);
    ASSERT_TRUE(input.ok()) << input.status();
    EXPECT_EQ(
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input->data()), input->size()), 0);
  }
}

}  // namespace
}  // namespace tessera
