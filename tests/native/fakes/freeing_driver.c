/* The simulated driver, behind which failed calls that free memory are counted: what they leave is no leak of
 * the library's. */
#include <dlfcn.h>
#include <stdlib.h>

unsigned long long failed_frees;

static int freed(const char* name, void* data) {
  int (*call)(void*);
  *(void**)&call = dlsym(dlopen(getenv("COUNTED_DRIVER"), RTLD_NOW), name);
  const int code = call(data);
  if (code != 0) ++failed_frees;
  return code;
}
int cuMemFree_v2(void* data) { return freed("cuMemFree_v2", data); }
int cuMemFreeHost(void* data) { return freed("cuMemFreeHost", data); }
int hipFree(void* data) { return freed("hipFree", data); }
int hipHostFree(void* data) { return freed("hipHostFree", data); }
