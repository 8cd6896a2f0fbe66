// Preloaded into a program on a GPU: once the file of FAULT_FILE is there, a kernel writes to an
// address that does not exist, after which CUDA gives up the GPU for the whole process.
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static const char kFault[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry fault() {\n"
    "  .reg .u64 %rd<2>;\n  .reg .u32 %r<2>;\n"
    "  mov.u64 %rd1, 16;\n  mov.u32 %r1, 1;\n  st.global.u32 [%rd1], %r1;\n  ret;\n}\n";

static void* inject(void* file) {
  while (access(file, F_OK) != 0) usleep(10000);
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*retain)(void**, int) = dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*use)(void*) = dlsym(driver, "cuCtxSetCurrent");
  int (*load)(void**, const void*) = dlsym(driver, "cuModuleLoadData");
  int (*find)(void**, void*, const char*) = dlsym(driver, "cuModuleGetFunction");
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**) = dlsym(driver, "cuLaunchKernel");
  void *context = NULL, *module = NULL, *kernel = NULL;
  if (retain(&context, 0) != 0 || use(context) != 0 || load(&module, kFault) != 0 ||
      find(&kernel, module, "fault") != 0 ||
      launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != 0) {
    abort();  // the test sees a program that has died
  }
  return NULL;
}

__attribute__((constructor)) static void start(void) {
  char* const file = getenv("FAULT_FILE");
  pthread_t thread;
  if (file != NULL) pthread_create(&thread, NULL, inject, file);
}
