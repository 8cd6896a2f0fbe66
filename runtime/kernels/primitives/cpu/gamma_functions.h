// The gamma function and what is built on it, in double precision: relative errors are about 1e-14
// for moderate arguments. Outside a function's domain the result is NaN. Thread-safe.
// Formulas: NIST Digital Library of Mathematical Functions, chapters 5, 8 and 25.
#pragma once

namespace tessera::special {

// log|gamma(x)|.
double Lgamma(double x);
// Derivative of log(gamma(x)). NaN at the poles 0, -1, -2, ...
double Digamma(double x);
// Derivative of order n of Digamma(x), n = 0, 1, 2, ...
double Polygamma(double n, double x);
// Hurwitz' zeta: sum of (q + k)^-x for k = 0, 1, 2, ... Requires x >= 1, and for negative q that x
// be an integer.
double Zeta(double x, double q);

// Regularised incomplete gamma functions, lower and upper: a >= 0, x >= 0.
double Igamma(double a, double x);
double Igammac(double a, double x);
// Derivative of Igamma(a, x) by a.
double IgammaGradA(double a, double x);
// Derivative by alpha of a sample x of the gamma distribution, its quantile being kept.
double RandomGammaGrad(double alpha, double x);
// Regularised incomplete beta function: a > 0, b > 0, 0 <= x <= 1.
double Betainc(double a, double b, double x);

}  // namespace tessera::special
