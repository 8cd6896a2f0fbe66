#include "runtime/kernels/nn/lstm_cell.h"

namespace tessera {
namespace {

RowMatrix Sigmoid(const RowMatrix& x) { return (1 + (-x.array()).exp()).inverse().matrix(); }

}  // namespace

LstmState LstmForward(const LstmWeights& weights, const RowMatrix& xh, const RowMatrix& cs_prev) {
  const int64_t cells = weights.cells();
  const bool peephole = weights.wci.size() > 0;
  RowMatrix gates = xh * weights.w;
  gates.rowwise() += weights.b;
  auto gate = [&](int position) -> RowMatrix { return gates.middleCols(position * cells, cells); };
  auto with_peephole = [&](RowMatrix x, const RowMatrix& cs, const Eigen::RowVectorXf& w) {
    if (peephole) x.array() += cs.array().rowwise() * w.array();
    return x;
  };
  LstmState state;
  state.i = Sigmoid(with_peephole(gate(weights.order.input), cs_prev, weights.wci));
  state.ci = gate(weights.order.cell).array().tanh().matrix();
  RowMatrix forget = gate(weights.order.forget);
  forget.array() += weights.forget_bias;
  state.f = Sigmoid(with_peephole(std::move(forget), cs_prev, weights.wcf));
  state.cs = (state.i.array() * state.ci.array() + state.f.array() * cs_prev.array()).matrix();
  if (weights.cell_clip > 0) {
    state.cs = state.cs.array().max(-weights.cell_clip).min(weights.cell_clip).matrix();
  }
  state.o = Sigmoid(with_peephole(gate(weights.order.output), state.cs, weights.wco));
  state.co = state.cs.array().tanh().matrix();
  state.h = (state.o.array() * state.co.array()).matrix();
  return state;
}

LstmGradient LstmBackward(const LstmWeights& weights, const LstmState& state,
                          const RowMatrix& cs_prev, const RowMatrix& cs_grad,
                          const RowMatrix& h_grad) {
  const int64_t cells = weights.cells();
  const bool peephole = weights.wci.size() > 0;
  const auto i = state.i.array(), f = state.f.array(), o = state.o.array(), ci = state.ci.array(),
             co = state.co.array(), dh = h_grad.array();
  const RowMatrix d_o = (o * (1 - o) * dh * co).matrix();
  RowMatrix d_cs = ((1 - co * co) * dh * o + cs_grad.array()).matrix();
  if (peephole) d_cs.array() += d_o.array().rowwise() * weights.wco.array();
  const RowMatrix d_ci = ((1 - ci * ci) * d_cs.array() * i).matrix();
  const RowMatrix d_f = (f * (1 - f) * d_cs.array() * cs_prev.array()).matrix();
  const RowMatrix d_i = (i * (1 - i) * d_cs.array() * ci).matrix();
  LstmGradient gradient;
  gradient.gates.resize(d_i.rows(), 4 * cells);
  gradient.gates.middleCols(weights.order.input * cells, cells) = d_i;
  gradient.gates.middleCols(weights.order.cell * cells, cells) = d_ci;
  gradient.gates.middleCols(weights.order.forget * cells, cells) = d_f;
  gradient.gates.middleCols(weights.order.output * cells, cells) = d_o;
  gradient.cs_prev = (d_cs.array() * f).matrix();
  gradient.wci = gradient.wcf = gradient.wco = Eigen::RowVectorXf::Zero(cells);
  if (peephole) {
    gradient.cs_prev.array() +=
        d_i.array().rowwise() * weights.wci.array() + d_f.array().rowwise() * weights.wcf.array();
    gradient.wci = (d_i.array() * cs_prev.array()).matrix().colwise().sum();
    gradient.wcf = (d_f.array() * cs_prev.array()).matrix().colwise().sum();
    gradient.wco = (d_o.array() * state.cs.array()).matrix().colwise().sum();
  }
  return gradient;
}

}  // namespace tessera
