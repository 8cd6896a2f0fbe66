// Bessel functions of orders 0 and 1 in double precision, relative errors about 1e-14 (absolute
// ones near zeros). The suffix e means scaled: I by exp(-|x|), K by exp(x). K and Y want x > 0:
// they are infinite elsewhere. Thread-safe. Formulas: NIST Digital Library of Mathematical
// Functions, chapter 10.
#pragma once

namespace tessera::special {

double BesselI0e(double x);
double BesselI1e(double x);
double BesselK0(double x);
double BesselK0e(double x);
double BesselK1(double x);
double BesselK1e(double x);
// NaN at the infinities.
double BesselJ0(double x);
double BesselJ1(double x);
double BesselY0(double x);
double BesselY1(double x);

}  // namespace tessera::special
