#include "runtime/kernels/primitives/recurrent_cell.h"

#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/recurrent_cell_rows.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

void LstmCellOnCpu(const LstmCell::Operands& operands) {
  static const auto run = HasAvx512() ? avx512::RunLstmCell : avx2::RunLstmCell;
  run(operands);
}
REGISTER_PRIMITIVE(LstmCell, kCpu, LstmCellOnCpu);

void LstmCellGradientOnCpu(const LstmCellGradient::Operands& operands) {
  static const auto run = HasAvx512() ? avx512::RunLstmCellGradient : avx2::RunLstmCellGradient;
  run(operands);
}
REGISTER_PRIMITIVE(LstmCellGradient, kCpu, LstmCellGradientOnCpu);

void GruCellOnCpu(const GruCell::Operands& operands) {
  static const auto run = HasAvx512() ? avx512::RunGruCell : avx2::RunGruCell;
  run(operands);
}
REGISTER_PRIMITIVE(GruCell, kCpu, GruCellOnCpu);

}  // namespace
}  // namespace tessera
