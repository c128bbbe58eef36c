/* Allocates and frees while a stream is captured in global mode: the captured graph stays valid. */
#define _GNU_SOURCE
#include <malloc.h>

#include "driver.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  char* early = malloc(200000);
  if (!open_driver(words[1])) return 3;
  ((void (*)(void))in_driver("fake_activate"))();
  ((void (*)(void))in_driver("fake_begin_capture"))();
  char* volatile block = malloc(200000);
  block[0] = 1;
  free(block), free(early);
  return ((int (*)(void))in_driver("fake_end_capture"))();
}
