// A HIP runtime that does nothing. What a test varies comes from the environment.
// The functions that are missing here are added as stubs (fake_libraries.py).
#include <cstdio>
#include <cstdlib>
#include <cstring>
static int setting(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text ? atoi(text) : otherwise;
}
static const char* text_setting(const char* name, const char* otherwise) {
  const char* text = getenv(name);
  return text ? text : otherwise;
}
extern "C" {
int hipInit(unsigned) { return setting("FAKE_INIT", 0); }
int hipRuntimeGetVersion(int* version) {
  *version = setting("FAKE_VERSION", 60240092);
  return setting("FAKE_VERSION_CODE", 0);
}
const char* hipGetErrorName(int code) {
  return code == 100   ? "hipErrorNoDevice"
         : code == 101 ? "hipErrorInvalidDevice"
         : code == 2   ? "hipErrorOutOfMemory"
         : code == 1   ? "hipErrorInvalidValue"
                       : "hipErrorUnknown";
}
const char* hipGetErrorString(int code) {
  return setting("FAKE_TEXT_IS_NAME", 0) ? hipGetErrorName(code) : "as the vendor words it";
}
int hipGetDeviceCount(int* count) {
  *count = setting("FAKE_DEVICES", 1);
  return 0;
}
int hipDeviceGetName(char* name, int, int) {
  strcpy(name, "Fake gfx GPU");
  return 0;
}
int hipDeviceGetUuid(char* bytes, int) {
  memcpy(bytes, text_setting("FAKE_UUID", "0123456789abcdef"), 16);
  return 0;
}
int hipDeviceGetPCIBusId(char* text, int, int device) {
  if (const char* address = getenv("FAKE_PCI"))
    strcpy(text, address);
  else
    sprintf(text, "0000:%02X:00.0", 0xC1 + 5 * device);
  return 0;
}
int hipDeviceTotalMem(unsigned long* bytes, int) {
  *bytes = 1ul << 36;
  return 0;
}
// As HIP 6 lays it out: 1472 bytes, the architecture's name near the end.
int hipGetDevicePropertiesR0600(char* properties, int) {
  strcpy(properties, "Fake gfx GPU");
  strcpy(properties + 1160, text_setting("FAKE_ARCHITECTURE", "gfx90a:sramecc+:xnack-"));
  return 0;
}
// As HIP 5 does: 792 bytes.
int hipGetDeviceProperties(char* properties, int) {
  strcpy(properties, "Fake gfx GPU");
  strcpy(properties + 400, "gfx908");
  return 0;
}
int hipDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 2:
      if (setting("FAKE_VERSION", 60240092) < 60000000) return 1;
      *value = 8;
      break;
    case 9:
      *value = setting("FAKE_CONCURRENT_MANAGED", 1);
      break;
    case 16:
      *value = setting("FAKE_INTEGRATED", 0);
      break;
    case 19:
      *value = 8 << 20;
      break;
    case 24:
      *value = 1;
      break;
    case 59:
      *value = 4096;
      break;
    case 60:
      *value = 1600000;
      break;
    case 63:
      *value = 110;
      break;
    case 65:
      *value = setting("FAKE_PAGEABLE", 0);
      break;
    case 74:
      *value = 64 << 10;
      break;
    default:
      return 1;
  }
  return 0;
}
int hipMalloc(void** data, unsigned long) {
  *data = nullptr;
  return 2;
}
int hipHostMalloc(void** data, unsigned long bytes, unsigned flags) {
  char text[16];
  sprintf(text, "%#x", flags);
  setenv("FAKE_HOST_FLAGS", text, 1);
  *data = malloc(bytes);
  return 0;
}
int hipExtMallocWithFlags(void** data, unsigned long, unsigned flags) {
  *data = (void*)8;
  return flags == 3 ? setting("FAKE_UNCACHED", 0) : 0;
}
int hipHostGetDevicePointer(void** device, char* host, unsigned) {
  *device = host + setting("FAKE_REGISTERED_OFFSET", 0);
  return 0;
}
int hipModuleLoadData(void** module, const void* image) {
  *module = (void*)8;
  if (const char* path = getenv("FAKE_IMAGE"))
    if (FILE* file = fopen(path, "ab")) {
      fputs((const char*)image, file);
      fclose(file);
    }
  return setting("FAKE_LOAD", 0);
}
int hipFuncGetAttribute(int* value, int attribute, void*) {
  *value = attribute == 0 ? 1024 : 0;
  return 0;
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, unsigned long) {
  *blocks = 2;
  return 0;
}
}
