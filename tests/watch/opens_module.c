/* A program of C that opens a module of C++. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
  void* const module = count == 2 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (module == NULL) return 2;
  if (((int (*)(void))dlsym(module, "use_module"))() != 0) return 3;
  puts("all good");
  return 7;
}
