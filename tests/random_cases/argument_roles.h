// What the inputs of ops usually hold, by the names of the arguments.
#pragma once

#include "runtime/framework/op.h"
#include "runtime/tensor/tensor.h"
#include "tests/random_cases/random.h"

namespace tessera {

// Draws the value of an input called `arg`. `base` is the shape that most inputs of the call have:
// axes, sizes and indices refer to it. A name without a meaning gives a tensor of the shape `base`,
// or of one that broadcasts to it. Every role is left out now and then, so that no op depends on
// it.
Tensor RandomInput(Random& random, const ArgDef& arg, DType dtype, const Shape& base, bool hostile);

// Draws a shape that broadcasts to `base`, or has little to do with it.
Shape RelatedShape(Random& random, const Shape& base);

// Returns whether the argument's values are sizes of an output: drawn at random they ask for any
// amount of memory.
bool GivesSizes(const ArgDef& arg);

}  // namespace tessera
