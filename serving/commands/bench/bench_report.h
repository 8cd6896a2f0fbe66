// The report of a benchmark, as text for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/tensor/tensor.h"
#include "serving/commands/load/load_log.h"

namespace tessera::serving {

struct BenchReport {
  std::string subject;  // "model 'digits' at 127.0.0.1:8500", "/models/digits/2"
  std::string signature;
  std::map<std::string, Tensor> inputs;  // of each request
  int concurrency = 1;
  double rate = 0;  // requests a second that were to be sent; 0: as many as were answered
  WindowSummary summary;
  std::vector<std::string> failures;  // the first few, in words
};

// Returns the size of the first dimension if all inputs share it, which is the number of examples
// in a request as far as that can be told; 1 otherwise.
int64_t RowsPerRequest(const std::map<std::string, Tensor>& inputs);

// Lines with requests, throughput and quantiles of latencies, and a drawn histogram.
std::string BenchText(const BenchReport& report);

// An object with the same numbers, latencies in microseconds.
std::string BenchJson(const BenchReport& report);

}  // namespace tessera::serving
