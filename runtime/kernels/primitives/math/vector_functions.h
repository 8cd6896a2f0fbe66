// Declares that functions of the C library have vector forms, so that loops over them vectorise.
//
// The forms are those of libmvec, which belongs to glibc since 2.35; they are within 4 units in the
// last place. glibc's own headers declare them for -ffast-math alone, because they neither set
// errno nor raise exceptions.
#pragma once

#include <cmath>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__CUDACC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#define TESSERA_VECTOR_FUNCTION(name)                         \
  [[gnu::simd("notinbranch")]] float name##f(float) noexcept; \
  [[gnu::simd("notinbranch")]] double name(double) noexcept;
#define TESSERA_BINARY_VECTOR_FUNCTION(name)                         \
  [[gnu::simd("notinbranch")]] float name##f(float, float) noexcept; \
  [[gnu::simd("notinbranch")]] double name(double, double) noexcept;

extern "C" {
TESSERA_VECTOR_FUNCTION(sin)
TESSERA_VECTOR_FUNCTION(cos)
TESSERA_VECTOR_FUNCTION(tan)
TESSERA_VECTOR_FUNCTION(asin)
TESSERA_VECTOR_FUNCTION(acos)
TESSERA_VECTOR_FUNCTION(atan)
TESSERA_VECTOR_FUNCTION(sinh)
TESSERA_VECTOR_FUNCTION(cosh)
TESSERA_VECTOR_FUNCTION(tanh)
TESSERA_VECTOR_FUNCTION(asinh)
TESSERA_VECTOR_FUNCTION(acosh)
TESSERA_VECTOR_FUNCTION(atanh)
TESSERA_VECTOR_FUNCTION(exp)
TESSERA_VECTOR_FUNCTION(expm1)
TESSERA_VECTOR_FUNCTION(log)
TESSERA_VECTOR_FUNCTION(log1p)
TESSERA_VECTOR_FUNCTION(erf)
TESSERA_VECTOR_FUNCTION(erfc)
TESSERA_BINARY_VECTOR_FUNCTION(atan2)
}

#undef TESSERA_VECTOR_FUNCTION
#undef TESSERA_BINARY_VECTOR_FUNCTION

#endif
