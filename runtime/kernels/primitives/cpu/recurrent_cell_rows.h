// The loops of recurrent cells, compiled for AVX-512 (F, BW, DQ and VL) and for what every
// processor here has.
#pragma once

#include "runtime/kernels/primitives/recurrent_cell.h"

namespace tessera {

namespace avx512 {
void RunLstmCell(const LstmCell::Operands& operands);
void RunLstmCellGradient(const LstmCellGradient::Operands& operands);
void RunGruCell(const GruCell::Operands& operands);
}  // namespace avx512
namespace avx2 {
void RunLstmCell(const LstmCell::Operands& operands);
void RunLstmCellGradient(const LstmCellGradient::Operands& operands);
void RunGruCell(const GruCell::Operands& operands);
}  // namespace avx2

}  // namespace tessera
