// From a seed and a number to a random case.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"
#include "tests/random_cases/random_call.h"
#include "tests/random_cases/random_graph.h"

namespace tessera {

// Makes cases of one op, of several, and of sequences of ops on one resource. Each depends on the
// seed, its number, the registered ops and the recorded calls alone. Used by one thread at a time.
class CaseMaker {
 public:
  struct Options {
    std::vector<const OpDef*> ops;  // of which cases are made
    std::string recorded;           // a directory of recorded calls; empty: none
    bool hostile = false;           // see CallOptions
    double share_of_sequences = 0;  // of cases by makers: see sequence.h
    double share_of_graphs = 0.5;   // of cases with several ops, among the others
  };
  explicit CaseMaker(Options options);

  tensorflow::GraphDef Make(uint64_t seed, uint64_t number) const;

 private:
  const Options options_;
  const std::vector<const OpDef*> everyday_;  // among the ops
  const RecordedCalls recorded_;
  const CallMaker calls_;
};

}  // namespace tessera
