// Moved.
#pragma once
#include "runtime/kernels/primitives/math/elementary_functions.h"
