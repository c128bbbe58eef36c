// Opens a library for itself alone, as Python opens its modules, and calls its function `run`.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
  void* const library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  int (*const run)(int, char**) = (int (*)(int, char**))dlsym(library, "run");
  return run(count - 1, words + 1);
}
