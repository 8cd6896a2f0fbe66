// A new process of TensorFlow's: loads a SavedModel by its C API, runs one step with a tensor of
// ones, and says so on standard output. Then it waits, so that its memory can be read.
//
//   tensorflow_load DIRECTORY INPUT_OPERATION OUTPUT_OPERATION DIM...
//
// benchmarks/load.py builds it against TensorFlow's Python package.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tensorflow/c/c_api.h"

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  TF_Status* const status = TF_NewStatus();
  const auto check = [status] {
    if (TF_GetCode(status) == TF_OK) return;
    std::fprintf(stderr, "tensorflow_load: %s\n", TF_Message(status));
    std::exit(1);
  };
  TF_Graph* const graph = TF_NewGraph();
  const char* const tags[] = {"serve"};
  TF_Session* const session = TF_LoadSessionFromSavedModel(TF_NewSessionOptions(), nullptr, argv[1],
                                                           tags, 1, graph, nullptr, status);
  check();

  std::vector<int64_t> dims;
  size_t count = 1;
  for (int i = 4; i < argc; ++i) {
    dims.push_back(std::atoll(argv[i]));
    count *= static_cast<size_t>(dims.back());
  }
  TF_Tensor* const ones = TF_AllocateTensor(TF_FLOAT, dims.data(), static_cast<int>(dims.size()),
                                            count * sizeof(float));
  std::fill_n(static_cast<float*>(TF_TensorData(ones)), count, 1.0f);
  const TF_Output input = {TF_GraphOperationByName(graph, argv[2]), 0};
  const TF_Output output = {TF_GraphOperationByName(graph, argv[3]), 0};
  if (input.oper == nullptr || output.oper == nullptr) return 2;
  TF_Tensor* answer = nullptr;
  TF_SessionRun(session, nullptr, &input, &ones, 1, &output, &answer, 1, nullptr, 0, nullptr,
                status);
  check();
  std::printf("answered, %zu bytes\n", TF_TensorByteSize(answer));
  std::fflush(stdout);
  pause();
}
