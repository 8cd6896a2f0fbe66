// A library that was built against headers with another ABI number.
#define TESSERA_OP_ABI 999999
#include "runtime/framework/op.h"

namespace {

REGISTER_OP("FromOtherHeaders").Output("y: float");

}  // namespace
