/* Large allocations of a large alignment: the pages around them belong to nobody. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kAlignment = 2 << 20, kTimes = 16 };

/* Whether the page is nobody's (mincore(2)). */
static int is_free(char* page) {
  unsigned char state;
  return mincore(page, 1, &state) != 0 && errno == ENOMEM;
}

int main(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 40 * page;
  int behind = 0, before = 0;
  for (int turn = 0; turn < kTimes; ++turn) {
    void* begin;
    if (posix_memalign(&begin, kAlignment, bytes) != 0 || (size_t)begin % kAlignment != 0) return 2;
    behind += is_free((char*)begin + bytes);
    before += is_free((char*)begin - page);
  }
  /* What is before may begin where the system's own pages end. */
  return behind == kTimes && before > kTimes / 2 ? 0 : 3;
}
