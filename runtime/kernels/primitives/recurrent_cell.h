// Recurrent cells after their matrix products: gates, states and outputs of a batch, row by row.
// LSTM: S. Hochreiter, J. Schmidhuber, Long short-term memory, 1997, with forget gates and
// peepholes (F. Gers, 2000). GRU: K. Cho et al., Learning phrase representations using RNN
// encoder-decoder, 2014, in the variant of cuDNN, which resets after the product.
//
// All pointers are to floats in the memory of the device. This header is plain C++, because loops
// that are compiled for other instruction sets include it.
#pragma once

#include <cstdint>

namespace tessera {

// Four matrices [rows, units], one for each gate. Their rows are `stride` floats apart.
template <typename T>
struct LstmGates {
  T* input = nullptr;
  T* forget = nullptr;
  T* cell = nullptr;
  T* output = nullptr;
  int64_t stride = 0;
};

// The positions of the gates in a row of 4 * units columns, in units of the cell size.
struct LstmGatePositions {
  int input, forget, cell, output;
};

// Returns the gates in a matrix of 4 * units columns.
template <typename T>
LstmGates<T> GatesIn(T* sums, int64_t units, const LstmGatePositions& at) {
  return {sums + at.input * units, sums + at.forget * units, sums + at.cell * units,
          sums + at.output * units, 4 * units};
}
// Returns the gates that lie `offset` floats further on.
template <typename T>
LstmGates<T> Advance(const LstmGates<T>& gates, int64_t offset) {
  return {gates.input + offset, gates.forget + offset, gates.cell + offset, gates.output + offset,
          gates.stride};
}

// The weights [units] with which the cell state enters the gates. All are null if there are no
// peepholes.
struct LstmPeepholes {
  const float* input = nullptr;
  const float* forget = nullptr;
  const float* output = nullptr;
};

// One step of an LSTM. Matrices other than the gates are [rows, units] without gaps.
struct LstmCell {
  struct Operands {
    int64_t rows = 0, units = 0;
    float forget_bias = 0;
    float cell_clip = 0;             // limits the cell state if it is positive
    LstmGates<const float> sums;     // the products, before the activations
    LstmGates<const float> addends;  // added to the sums; null: nothing is added
    LstmPeepholes peepholes;
    const float* c_prev = nullptr;
    LstmGates<float> gates;  // activated; may be `sums`
    float* c = nullptr;      // may be `c_prev`
    float* tanh_c = nullptr;
    float* h = nullptr;
  };

  // Computes c = sigmoid(forget) * c_prev + sigmoid(input) * tanh(cell) and h = sigmoid(output) *
  // tanh(c) on the calling thread.
  using Function = void(const Operands& operands);
};

// The gradient of LstmCell.
struct LstmCellGradient {
  struct Operands {
    int64_t rows = 0, units = 0;
    LstmGates<const float> gates;  // activated
    LstmPeepholes peepholes;
    const float* c_prev = nullptr;
    const float* tanh_c = nullptr;
    const float* d_h = nullptr;
    const float* d_c = nullptr;  // from the following step
    LstmGates<float> d_sums;     // may be `gates`
    float* d_c_prev = nullptr;   // may be `d_c`
  };

  // Computes the gradients on the calling thread. Clipping passes gradients on unchanged.
  using Function = void(const Operands& operands);
};

// Three matrices [rows, units], one for each gate. Their rows are `stride` floats apart.
struct GruGates {
  const float* update = nullptr;
  const float* reset = nullptr;
  const float* candidate = nullptr;
  int64_t stride = 0;
};

// One step of a GRU that resets after the product. Matrices other than the gates are [rows, units]
// without gaps.
struct GruCell {
  struct Operands {
    int64_t rows = 0, units = 0;
    GruGates input;      // products with the input, before the activations
    GruGates recurrent;  // products with the previous output
    const float* h_prev = nullptr;
    float* h = nullptr;  // may be `h_prev`
  };

  // Computes h = z * h_prev + (1 - z) * tanh(candidate of the input + r * candidate of the output),
  // with z = sigmoid(update) and r = sigmoid(reset), on the calling thread.
  using Function = void(const Operands& operands);
};

}  // namespace tessera
