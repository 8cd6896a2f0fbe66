// Any bytes as the folder of a decision forest: loading fails with a status, and what loads can be
// asked.
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "runtime/base/logging.h"
#include "runtime/kernels/forest/forest_model.h"

namespace {

// A folder of this process, on a file system in memory where there is one.
std::string MakeFolder() {
  const char* parent = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  static std::string path;
  path = std::string(parent) + "/decision_forest_fuzzer_XXXXXX";
  CHECK(::mkdtemp(path.data()) != nullptr);
  std::atexit([] { std::filesystem::remove_all(path); });
  return path;
}

// Cuts the next part off: its size in two bytes, the low one first, and its bytes.
std::string TakePart(std::string* bytes) {
  if (bytes->size() < 2) return "";
  const size_t size = static_cast<uint8_t>((*bytes)[0]) + (static_cast<uint8_t>((*bytes)[1]) << 8);
  const std::string part = bytes->substr(2, size);
  bytes->erase(0, 2 + part.size());
  return part;
}

void Write(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

}  // namespace

// The files header.pb, data_spec.pb and that of the kind of model, and the rest for the nodes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string folder = MakeFolder();
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Write(folder + "/header.pb", TakePart(&bytes));
  Write(folder + "/data_spec.pb", TakePart(&bytes));
  const std::string header = TakePart(&bytes);
  Write(folder + "/random_forest_header.pb", header);
  Write(folder + "/gradient_boosted_trees_header.pb", header);
  Write(folder + "/nodes-00000-of-00001", bytes);

  const auto model = tessera::ForestModel::Load(folder, "");
  if (!model.ok()) return 0;
  const tessera::Forest& forest = (*model)->forest();
  constexpr int64_t kExamples = 9;
  const auto count = [](size_t columns) { return static_cast<size_t>(kExamples) * columns; };
  std::vector<float> numbers(count(forest.columns.num_numbers), 0.5f);
  if (!numbers.empty()) numbers[0] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> booleans(count(forest.columns.num_booleans), 1.0f);
  std::vector<int32_t> categories(count(forest.columns.category_sizes.size()), 1);
  if (!categories.empty()) categories[0] = std::numeric_limits<int32_t>::min();
  const std::vector<int32_t> values(count(forest.columns.set_sizes.size()), 1);
  std::vector<int64_t> splits(values.size() + 1);
  for (size_t i = 0; i < splits.size(); ++i) splits[i] = static_cast<int64_t>(i);
  std::vector<float> predictions(count((*model)->output_dim()));
  (*model)->Predict({.numbers = numbers,
                     .booleans = booleans,
                     .categories = categories,
                     .set_values = values,
                     .set_splits = splits},
                    0, kExamples, predictions.data());
  return 0;
}
