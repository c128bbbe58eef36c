// A CUDA driver that does nothing. What a test varies comes from the environment.
// The functions that are missing here are added as stubs (fake_libraries.py).
#include <cstdio>
#include <cstdlib>
#include <cstring>
static int setting(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text ? atoi(text) : otherwise;
}
// What a call was given, for tests of those who translate calls.
static void note(const char* call, unsigned a, unsigned b, const char* log = "FAKE_LOG") {
  if (const char* path = getenv(log))
    if (FILE* file = fopen(path, "a")) {
      fprintf(file, "%s %u %u\n", call, a, b);
      fclose(file);
    }
}
struct Location {
  int type, id;
};
extern "C" {
int cuInit(unsigned) { return setting("FAKE_INIT", 0); }
int cuDriverGetVersion(int* version) {
  *version = setting("FAKE_VERSION", 13000);
  return 0;
}
int cuGetErrorName(int code, const char** name) {
  *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "as the vendor words it";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = setting("FAKE_DEVICES", 1);
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetName(char* name, int, int) {
  strcpy(name, "Fake GPU");
  return 0;
}
int cuDeviceGetUuid(unsigned char* bytes, int) {
  for (int i = 0; i < 16; ++i) bytes[i] = i;
  return 0;
}
int cuDeviceGetUuid_v2(unsigned char* bytes, int) {
  for (int i = 0; i < 16; ++i) bytes[i] = i + setting("FAKE_INSTANCE", 0);
  return 0;
}
int cuDeviceGetPCIBusId(char* text, int, int device) {
  sprintf(text, "0000:%02X:00.0", 0x3B + device);
  return 0;
}
int cuDeviceTotalMem_v2(unsigned long* bytes, int) {
  *bytes = 1ul << 37;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const int capability = setting("FAKE_CAPABILITY", 90);
  switch (attribute) {
    case 16:
      *value = 132;
      break;
    case 36:
      *value = 3201000;
      break;
    case 37:
      *value = 6144;
      break;
    case 38:
      *value = 60 << 20;
      break;
    case 40:
      *value = 3;
      break;
    case 75:
      *value = capability / 10;
      break;
    case 76:
      *value = capability % 10;
      break;
    case 83:
    case 91:
      *value = 1;
      break;
    case 89:
      *value = setting("FAKE_CONCURRENT_MANAGED", 1);
      break;
    case 102:
    case 115:
      *value = setting("FAKE_POOLS", 0);
      break;
    case 97:
      *value = 227 << 10;
      break;
    default:
      *value = 0;
  }
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  note("retain", device, 0, "FAKE_CONTEXTS");
  *context = (void*)(long)(0x100 + device);
  return setting("FAKE_RETAIN", 0);
}
int cuCtxGetCurrent(void** context) {
  *context = (void*)0x100;
  return 0;
}
int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}
int cuCtxGetId(void* context, unsigned long long* identity) {
  *identity = (unsigned long long)(long)context;
  return 0;
}
int cuStreamGetCtx(void*, void** context) {
  *context = (void*)(long)setting("FAKE_STREAM_CONTEXT", 0x100);
  return 0;
}
int cuCtxSetCurrent(void* context) {
  note("enter", (unsigned)(long)context - 0x100, 0, "FAKE_CONTEXTS");
  return 0;
}
int cuModuleLoadData(void** module, const void* image) {
  *module = (void*)8;
  if (const char* path = getenv("FAKE_IMAGE"))
    if (FILE* file = fopen(path, "ab")) {
      fwrite(image, 1, 4, file);
      fclose(file);
    }
  return setting("FAKE_LOAD", 0);
}
int cuFuncGetAttribute(int* value, int attribute, void*) {
  *value = attribute == 0 ? 1024 : 0;
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, unsigned long) {
  *blocks = 2;
  return 0;
}
int cuMemAlloc_v2(void** data, unsigned long) {
  const int memory = setting("FAKE_MEMORY", 0);
  *data = memory ? (void*)(4 << 20) : nullptr;
  return memory ? 0 : 2;
}
int cuMemGetAllocationGranularity(unsigned long* bytes, const void*, int) {
  *bytes = 2 << 20;
  return 0;
}
int cuMemAddressReserve(void** data, unsigned long, unsigned long, void*, unsigned long long) {
  *data = (void*)(2 << 20);
  return 0;
}
int cuMemHostAlloc(void** data, unsigned long bytes, unsigned flags) {
  note("cuMemHostAlloc", flags, 0);
  *data = setting("FAKE_MEMORY", 0) ? calloc(1, bytes) : nullptr;
  return 0;
}
int cuMemPrefetchAsync_v2(void*, unsigned long, Location location, unsigned flags, void*) {
  note("cuMemPrefetchAsync_v2", location.type, location.id);
  return flags;
}
int cuMemcpyAsync(void*, const void*, unsigned long bytes, void*) {
  note("cuMemcpyAsync", bytes, 0);
  return 0;
}
}
