// Marks functions that run on the host and, compiled by nvcc, on a GPU too, such as functors and
// number formats.
#pragma once

#ifdef __CUDACC__
#define TESSERA_DEVICE_FUNCTION __host__ __device__
#else
#define TESSERA_DEVICE_FUNCTION
#endif
