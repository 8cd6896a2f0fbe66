// In the place of NVIDIA's driver, libcuda.so.1: it has the version that DRIVER_VERSION says, such as
// 12020 for CUDA 12.2, and finds no GPU.
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kNoDevice = 100 };

static int get_version(int* version) {
  *version = atoi(getenv("DRIVER_VERSION"));
  return kSuccess;
}

static int no_device(void) { return kNoDevice; }

// How the CUDA runtime finds all functions, this one too.
int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags,
                        int* found) {
  (void)version, (void)flags, (void)found;
  if (strcmp(name, "cuDriverGetVersion") == 0) {
    *function = (void*)get_version;
  } else if (name[0] == '\0' || strcmp(name, "cuGetProcAddress") == 0) {
    *function = (void*)cuGetProcAddress_v2;
  } else {
    *function = (void*)no_device;
  }
  return kSuccess;
}
