// One step of an LSTM for a batch, forward and backward: S. Hochreiter, J. Schmidhuber, Long
// short-term memory, 1997, with forget gates and peepholes (F. Gers, 2000).
#pragma once

#include "Eigen/Core"

namespace tessera {

using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Where the gates stand in products with the weights, in units of the cell size.
struct LstmGateOrder {
  int input, cell, forget, output;
};
inline constexpr LstmGateOrder kIcfo = {0, 1, 2, 3};  // LSTMBlockCell, BlockLSTM
inline constexpr LstmGateOrder kIfco = {0, 2, 1, 3};  // BlockLSTMV2

// The parameters of a cell. Peephole weights are of size 0 where they are not used.
struct LstmWeights {
  RowMatrix w;  // [inputs + cells, 4 * cells]
  Eigen::RowVectorXf wci, wcf, wco;
  Eigen::RowVectorXf b;
  LstmGateOrder order = kIcfo;
  float forget_bias = 1;
  float cell_clip = 0;  // limits the cell state if it is positive

  int64_t cells() const { return w.cols() / 4; }
};

// What a step computes, each [batch, cells]: gates, cell state, their activations, and output.
struct LstmState {
  RowMatrix i, cs, f, o, ci, co, h;
};

// `xh` is the input beside the previous output, [batch, inputs + cells].
LstmState LstmForward(const LstmWeights& weights, const RowMatrix& xh, const RowMatrix& cs_prev);

struct LstmGradient {
  RowMatrix cs_prev;                 // [batch, cells]
  RowMatrix gates;                   // [batch, 4 * cells], before the activations
  Eigen::RowVectorXf wci, wcf, wco;  // [cells]; zero without peepholes
};
// From the gradients of cell state and output. Clipping passes gradients on.
LstmGradient LstmBackward(const LstmWeights& weights, const LstmState& state,
                          const RowMatrix& cs_prev, const RowMatrix& cs_grad,
                          const RowMatrix& h_grad);

}  // namespace tessera
