// Recognises the cells of recurrent layers in the bodies of loops over sequences.
#pragma once

#include <optional>
#include <vector>

#include "runtime/optimize/sequence_loop.h"

namespace tessera {

// A sum that makes the gates: a product with the input or the output of the step before, and
// biases. All are values of the loop's body.
struct GateSum {
  Endpoint weights;  // invariant; without a node, the input is the product itself
  std::vector<Endpoint> biases;
};

// An LSTM whose products with input and output are added before they are split into gates.
struct LstmCellPattern {
  int h = -1, c = -1;          // loop variables
  GateSum input;               // all biases are here
  Endpoint recurrent;          // the weights of the product with h
  std::vector<int64_t> gates;  // positions of input, forget, cell, output
  float forget_bias = 0;
  // The activated gates in the same order, the activated cell state, and the new states.
  std::vector<Endpoint> activated;
  Endpoint tanh_c, new_c, new_h;
};
// Returns the cell that computes all states of the loop; nullopt if they are something else.
std::optional<LstmCellPattern> AsLstmCell(const SequenceLoop& loop);

// A GRU that resets after the product.
struct GruCellPattern {
  int h = -1;  // loop variable
  GateSum input, recurrent;
  std::vector<int64_t> gates;  // positions of update, reset, candidate
  // The number of units that slices of columns imply; -1: it follows from the weights.
  int64_t units = -1;
  Endpoint new_h;
};
std::optional<GruCellPattern> AsGruCell(const SequenceLoop& loop);

}  // namespace tessera
