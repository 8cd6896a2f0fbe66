// Exponentials, logarithms, trigonometric and hyperbolic functions.
#include <cmath>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/primitives/cpu/vector_math.h"

namespace tessera {
namespace {

// Functions of vector_math.h take about a nanosecond an element, those of the C++ library ten.
REGISTER_UNARY(
    "Exp", kFloating | kComplex, [](auto x) { return math::Exp(x); }, Cost(0.8));
REGISTER_UNARY(
    "Expm1", kFloating | kComplex, [](auto x) { return math::Expm1(x); }, Cost(1));
REGISTER_UNARY(
    "Log", kFloating | kComplex, [](auto x) { return math::Log(x); }, Cost(0.8));
REGISTER_UNARY(
    "Log1p", kFloating | kComplex, [](auto x) { return math::Log1p(x); }, Cost(1));
REGISTER_UNARY(
    "Tanh", kFloating | kComplex, [](auto x) { return math::Tanh(x); }, Cost(1));
REGISTER_UNARY(
    "Sigmoid", kFloating | kComplex, [](auto x) { return math::Sigmoid(x); }, Cost(1));
REGISTER_UNARY(
    "Erf", kFloating, [](auto x) { return math::Erf(x); }, Cost(2));
REGISTER_UNARY(
    "Erfc", kFloating, [](auto x) { return math::Erfc(x); }, Cost(2));

REGISTER_UNARY(
    "Sin", kFloating | kComplex, [](auto x) { return std::sin(x); }, Cost(4));
REGISTER_UNARY(
    "Cos", kFloating | kComplex, [](auto x) { return std::cos(x); }, Cost(4));
REGISTER_UNARY(
    "Tan", kFloating | kComplex, [](auto x) { return std::tan(x); }, Cost(10));
REGISTER_UNARY(
    "Asin", kFloating | kComplex, [](auto x) { return std::asin(x); }, Cost(10));
REGISTER_UNARY(
    "Acos", kFloating | kComplex, [](auto x) { return std::acos(x); }, Cost(10));
REGISTER_UNARY(
    "Atan", kFloating | kComplex, [](auto x) { return std::atan(x); }, Cost(10));
REGISTER_UNARY(
    "Sinh", kFloating | kComplex, [](auto x) { return std::sinh(x); }, Cost(10));
REGISTER_UNARY(
    "Cosh", kFloating | kComplex, [](auto x) { return std::cosh(x); }, Cost(10));
REGISTER_UNARY(
    "Asinh", kFloating | kComplex, [](auto x) { return std::asinh(x); }, Cost(15));
REGISTER_UNARY(
    "Acosh", kFloating | kComplex, [](auto x) { return std::acosh(x); }, Cost(15));
REGISTER_UNARY(
    "Atanh", kFloating | kComplex, [](auto x) { return std::atanh(x); }, Cost(15));

}  // namespace
}  // namespace tessera
