#include "runtime/kernels/primitives/cpu/recurrent_cell_rows.h"

#include "runtime/kernels/primitives/cpu/vector_abi.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"

namespace tessera::TESSERA_VECTOR_ABI {
namespace {

using math::Sigmoid;
using math::Tanh;

template <bool kPeephole, bool kAddends>
void LstmRows(const LstmCell::Operands& o) {
  const float limit = o.cell_clip > 0 ? o.cell_clip : math::kInf;
  const float forget_bias = o.forget_bias;
  const float *const p_i = o.peepholes.input, *const p_f = o.peepholes.forget,
                     *const p_o = o.peepholes.output;
  for (int64_t row = 0; row < o.rows; ++row) {
    const int64_t from = row * o.sums.stride, to = row * o.gates.stride, at = row * o.units;
    const float *const s_i = o.sums.input + from, *const s_f = o.sums.forget + from,
                       *const s_g = o.sums.cell + from, *const s_o = o.sums.output + from;
    const int64_t added = row * o.addends.stride;
    const float *const a_i = o.addends.input + added, *const a_f = o.addends.forget + added,
                       *const a_g = o.addends.cell + added, *const a_o = o.addends.output + added;
    float *const g_i = o.gates.input + to, *const g_f = o.gates.forget + to,
                 *const g_g = o.gates.cell + to, *const g_o = o.gates.output + to;
    const float* const c_prev = o.c_prev + at;
    float *const c = o.c + at, *const tanh_c = o.tanh_c + at, *const h = o.h + at;
#pragma GCC ivdep
    for (int64_t j = 0; j < o.units; ++j) {
      const float before = c_prev[j];
      float sum_i = s_i[j], sum_f = s_f[j], sum_g = s_g[j], sum_o = s_o[j];
      if (kAddends) {
        sum_i += a_i[j];
        sum_f += a_f[j];
        sum_g += a_g[j];
        sum_o += a_o[j];
      }
      sum_f += forget_bias;
      if (kPeephole) {
        sum_i += before * p_i[j];
        sum_f += before * p_f[j];
      }
      const float i = Sigmoid(sum_i), f = Sigmoid(sum_f), g = Tanh(sum_g);
      const float sum = f * before + i * g;
      const float low = sum < -limit ? -limit : sum;
      const float now = low > limit ? limit : low;
      if (kPeephole) sum_o += now * p_o[j];
      const float out = Sigmoid(sum_o), squashed = Tanh(now);
      g_i[j] = i;
      g_f[j] = f;
      g_g[j] = g;
      g_o[j] = out;
      c[j] = now;
      tanh_c[j] = squashed;
      h[j] = out * squashed;
    }
  }
}

template <bool kPeephole>
void LstmGradientRows(const LstmCellGradient::Operands& o) {
  const float *const p_i = o.peepholes.input, *const p_f = o.peepholes.forget,
                     *const p_o = o.peepholes.output;
  for (int64_t row = 0; row < o.rows; ++row) {
    const int64_t from = row * o.gates.stride, to = row * o.d_sums.stride, at = row * o.units;
    const float *const g_i = o.gates.input + from, *const g_f = o.gates.forget + from,
                       *const g_g = o.gates.cell + from, *const g_o = o.gates.output + from;
    float *const d_i = o.d_sums.input + to, *const d_f = o.d_sums.forget + to,
                 *const d_g = o.d_sums.cell + to, *const d_o = o.d_sums.output + to;
    const float *const c_prev = o.c_prev + at, *const tanh_c = o.tanh_c + at,
                       *const d_h = o.d_h + at, *const d_c = o.d_c + at;
    float* const d_c_prev = o.d_c_prev + at;
#pragma GCC ivdep
    for (int64_t j = 0; j < o.units; ++j) {
      const float i = g_i[j], f = g_f[j], g = g_g[j], out = g_o[j], squashed = tanh_c[j];
      const float grad_o = out * (1 - out) * d_h[j] * squashed;
      float grad_c = (1 - squashed * squashed) * d_h[j] * out + d_c[j];
      if (kPeephole) grad_c += grad_o * p_o[j];
      const float grad_f = f * (1 - f) * grad_c * c_prev[j];
      const float grad_i = i * (1 - i) * grad_c * g;
      float grad_c_prev = grad_c * f;
      if (kPeephole) grad_c_prev += grad_i * p_i[j] + grad_f * p_f[j];
      d_i[j] = grad_i;
      d_f[j] = grad_f;
      d_g[j] = (1 - g * g) * grad_c * i;
      d_o[j] = grad_o;
      d_c_prev[j] = grad_c_prev;
    }
  }
}

}  // namespace

void RunLstmCell(const LstmCell::Operands& operands) {
  const bool adds = operands.addends.input != nullptr;
  if (operands.peepholes.input != nullptr) {
    adds ? LstmRows<true, true>(operands) : LstmRows<true, false>(operands);
  } else {
    adds ? LstmRows<false, true>(operands) : LstmRows<false, false>(operands);
  }
}

void RunLstmCellGradient(const LstmCellGradient::Operands& operands) {
  if (operands.peepholes.input != nullptr) {
    LstmGradientRows<true>(operands);
  } else {
    LstmGradientRows<false>(operands);
  }
}

void RunGruCell(const GruCell::Operands& o) {
  for (int64_t row = 0; row < o.rows; ++row) {
    const int64_t from = row * o.input.stride, also = row * o.recurrent.stride, at = row * o.units;
    const float *const x_z = o.input.update + from, *const x_r = o.input.reset + from,
                       *const x_h = o.input.candidate + from;
    const float *const r_z = o.recurrent.update + also, *const r_r = o.recurrent.reset + also,
                       *const r_h = o.recurrent.candidate + also;
    const float* const h_prev = o.h_prev + at;
    float* const h = o.h + at;
#pragma GCC ivdep
    for (int64_t j = 0; j < o.units; ++j) {
      const float z = Sigmoid(x_z[j] + r_z[j]), r = Sigmoid(x_r[j] + r_r[j]);
      const float candidate = Tanh(x_h[j] + r * r_h[j]);
      h[j] = z * h_prev[j] + (1 - z) * candidate;
    }
  }
}

}  // namespace tessera::TESSERA_VECTOR_ABI
