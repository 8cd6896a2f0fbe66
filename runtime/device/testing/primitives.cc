// Which primitives the accelerator for tests has. Op classes that are made of these run on it.
#include "runtime/device/testing/deferred_primitive.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/gather.h"
#include "runtime/kernels/primitives/one_hot.h"
#include "runtime/kernels/primitives/optimizer_update.h"
#include "runtime/kernels/primitives/ravel_multi_index.h"
#include "runtime/kernels/primitives/scatter.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

#define REGISTER_DEFERRED(P) REGISTER_PRIMITIVE(P, kTestAccelerator, DeferredPrimitive<P>::Run)

REGISTER_DEFERRED(Fill);
REGISTER_DEFERRED(Gather);
REGISTER_DEFERRED(OneHot);
REGISTER_DEFERRED(OptimizerUpdate);
REGISTER_DEFERRED(RavelMultiIndex);
REGISTER_DEFERRED(Scatter);
REGISTER_DEFERRED(StridedCopy);

}  // namespace
}  // namespace tessera
