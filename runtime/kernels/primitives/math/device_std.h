// The standard library for functions that are compiled for GPUs too.
//
//   template <typename T>
//   TESSERA_DEVICE_FUNCTION Complex<T> Twice(Complex<T> x) { return device_std::conj(x) * T{2}; }
//
// Complex numbers are Complex<T>. Functions of the standard library that may get complex numbers,
// and what is not a mathematical function (bit_cast, numeric_limits), come from namespace
// device_std; those of real numbers may come from std, where CUDA declares them for the device too.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <limits>

#include "runtime/kernels/primitives/device_function.h"

#ifdef __CUDACC__

#include <cuda/std/bit>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/limits>

namespace tessera {
namespace device_std = ::cuda::std;
}

#else

namespace tessera {
namespace device_std = ::std;
}

#endif

namespace tessera {

template <typename T>
using Complex = device_std::complex<T>;

}  // namespace tessera
