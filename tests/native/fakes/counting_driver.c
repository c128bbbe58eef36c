/* The simulated driver, with its look-ups of addresses and its modules counted, and with ranges of device
 * memory that a test plants, which come and go as allocations do. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

enum {
  kMemoryType = 2,
  kDevicePointer = 3,
  kBufferId = 7,
  kOrdinal = 9,
  kIsLegacyIpc = 10,
  kRangeStart = 11,
  kRangeBytes = 12,
  kDevice = 2,
  kMost = 4
};

unsigned long long lookups, attributes_asked, modules;
struct {
  uint64_t begin, bytes, ordinal, identity;
} planted[kMost];

static void* simulated(const char* name) { return dlsym(dlopen(getenv("COUNTED_DRIVER"), RTLD_NOW), name); }

int cuModuleLoadData(void** module, const void* image) {
  int (*load)(void**, const void*);
  *(void**)&load = simulated("cuModuleLoadData");
  ++modules;
  return load(module, image);
}

int cuModuleUnload(void* module) {
  --modules;
  return module == NULL;
}

static int plant(int range, unsigned count, const int* attributes, void** values, const void* data) {
  for (unsigned k = 0; k < count; ++k) switch (attributes[k]) {
      case kMemoryType:
        *(unsigned*)values[k] = kDevice;
        break;
      case kDevicePointer:
        *(const void**)values[k] = data;
        break;
      case kBufferId:
        *(uint64_t*)values[k] = planted[range].identity;
        break;
      case kOrdinal:
        *(int*)values[k] = (int)planted[range].ordinal;
        break;
      case kRangeStart:
        *(uint64_t*)values[k] = planted[range].begin;
        break;
      case kRangeBytes:
        *(uint64_t*)values[k] = planted[range].bytes;
        break;
      default:
        *(int*)values[k] = attributes[k] == kIsLegacyIpc;
    }
  return 0;
}

int cuPointerGetAttributes(unsigned count, int* attributes, void** values, const void* data) {
  static int (*get)(unsigned, int*, void**, const void*);
  if (get == NULL) *(void**)&get = simulated("cuPointerGetAttributes");
  ++lookups;
  attributes_asked += count;
  for (int range = 0; range < kMost; ++range)
    if ((uint64_t)(uintptr_t)data - planted[range].begin < planted[range].bytes)
      return plant(range, count, attributes, values, data);
  return get(count, attributes, values, data);
}
