// A stand-in for cuDNN and for cuBLASLt's products of 8 bits in the emulation, where a kernel
// prepares what a library is given or finishes what it returns.
#pragma once

namespace tessera::cuda {

// While one lives, the functions of neural_library.h, and those of
// product_library.h for numbers of 8 bits, do on the host what the
// libraries are documented to do, in double and by plain loops. Else they take nothing. Not for
// several threads.
class LibraryStandIn {
 public:
  LibraryStandIn();
  ~LibraryStandIn();
  // How many calls it has taken.
  int num_calls() const;
};

// Counts a call, and returns true, while there is a stand-in.
bool StandInTakes();
bool HasStandIn();

}  // namespace tessera::cuda
