// Integrals of elementary functions, and inverses of some, in double precision: relative errors are
// about 1e-14. Outside a function's domain the result is NaN. Thread-safe.
// Formulas: NIST Digital Library of Mathematical Functions, chapters 6, 7 and 25.
#pragma once

namespace tessera::special {

// The inverse of erf, and of the normal distribution function.
double Erfinv(double x);
double Ndtri(double p);
// exp(-x^2) times the integral of exp(t^2) over [0, x].
double Dawsn(double x);
// The exponential integral Ei(x), for x >= 0.
double Expint(double x);
// The integrals of cos(pi t^2 / 2) and sin(pi t^2 / 2) over [0, x].
double FresnelCos(double x);
double FresnelSin(double x);
// The integral of log(t) / (1 - t) over [1, x]: the dilogarithm of 1 - x. For finite x >= 0.
double Spence(double x);

}  // namespace tessera::special
