// The version of the binary interface between the runtime and op libraries.
#pragma once

// Raise this number with every change that a library compiled before would not survive: to a type's
// layout, a virtual function, or the meaning of a call in the headers that libraries include
// (runtime/framework, runtime/tensor, runtime/base). LoadOpLibrary() refuses libraries of another
// number.
#ifndef TESSERA_OP_ABI
#define TESSERA_OP_ABI 2
#endif

// The runtime defines one symbol whose name ends with its number, and whatever includes this header
// refers to the symbol of the number in the header. The dynamic linker resolves all symbols of a
// library before it runs any code of it, and so stops at the wrong number before a constructor of
// the library can touch the registries.
#define TESSERA_OP_ABI_SYMBOL TESSERA_OP_ABI_SYMBOL_OF(TESSERA_OP_ABI)
#define TESSERA_OP_ABI_SYMBOL_OF(number) TESSERA_OP_ABI_SYMBOL_NAMED(number)
#define TESSERA_OP_ABI_SYMBOL_NAMED(number) tessera_op_abi_##number

extern "C" const int TESSERA_OP_ABI_SYMBOL;

namespace tessera {

[[gnu::used]] inline const int* const kOpAbiReference = &TESSERA_OP_ABI_SYMBOL;

}  // namespace tessera
