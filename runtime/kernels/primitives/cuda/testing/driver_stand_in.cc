// What cuDNN asks of NVIDIA's driver while it compiles kernels for a plan. Machine code counts as
// loaded; there is no device, so that nothing can be launched.
namespace {
constexpr int kSuccess = 0, kNoDevice = 100;  // of CUresult
int loaded = 0;
}  // namespace

#define TESSERA_SUCCEEDS(function) \
  extern "C" int function() { return kSuccess; }
#define TESSERA_FAILS(function) \
  extern "C" int function() { return kNoDevice; }
// Functions whose first argument is where a handle goes.
#define TESSERA_GIVES_HANDLE(function)     \
  extern "C" int function(void** handle) { \
    *handle = &loaded;                     \
    return kSuccess;                       \
  }

TESSERA_SUCCEEDS(cuInit)
TESSERA_SUCCEEDS(cuLibraryUnload)
TESSERA_GIVES_HANDLE(cuLibraryLoadData)
TESSERA_GIVES_HANDLE(cuLibraryGetKernel)

extern "C" int cuDeviceGetCount(int* count) {
  *count = 0;
  return kNoDevice;
}
extern "C" int cuGetErrorString(int /*error*/, const char** text) {
  *text = "an error of the driver's stand-in";
  return kSuccess;
}

TESSERA_FAILS(cuCtxGetCurrent)
TESSERA_FAILS(cuCtxGetLimit)
TESSERA_FAILS(cuCtxPopCurrent)
TESSERA_FAILS(cuCtxPushCurrent)
TESSERA_FAILS(cuDeviceGet)
TESSERA_FAILS(cuDriverGetVersion)
TESSERA_FAILS(cuGetErrorName)
TESSERA_FAILS(cuGetExportTable)
TESSERA_FAILS(cuKernelGetAttribute)
TESSERA_FAILS(cuKernelSetAttribute)
TESSERA_FAILS(cuLaunchCooperativeKernel)
TESSERA_FAILS(cuLaunchKernel)
TESSERA_FAILS(cuLaunchKernelEx)
TESSERA_FAILS(cuLibraryLoadFromFile)
TESSERA_FAILS(cuLinkAddData)
TESSERA_FAILS(cuLinkComplete)
TESSERA_FAILS(cuLinkCreate)
TESSERA_FAILS(cuLinkDestroy)
TESSERA_FAILS(cuOccupancyMaxPotentialClusterSize)
TESSERA_FAILS(cuStreamGetCtx)
