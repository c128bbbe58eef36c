/* An allocator that marks its memory, and ends the program that gives it other memory. own_free() is of it alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kRoom = 512 << 20 };
static char *arena, *next;

struct Head {
  uint64_t mark, bytes;
};
static const uint64_t kMark = 0x4f574e414c4c4f43;

void* memalign(size_t alignment, size_t bytes) {
  if (arena == NULL)
    arena = next = mmap(NULL, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (alignment < 16) alignment = 16;
  char* const begin =
      (char*)(((uintptr_t)next + sizeof(struct Head) + alignment - 1) / alignment * alignment);
  if (bytes > (size_t)(arena + kRoom - begin)) return errno = ENOMEM, NULL;
  ((struct Head*)begin)[-1] = (struct Head){kMark, bytes};
  next = begin + bytes;
  return begin;
}
static struct Head* head(void* begin) {
  struct Head* const found = (struct Head*)begin - 1;
  if (begin != NULL && ((char*)begin < arena || (char*)begin > next || found->mark != kMark)) _exit(99);
  return found;
}
void* malloc(size_t bytes) { return memalign(16, bytes); }
void free(void* begin) { head(begin); }
void own_free(void* begin) { head(begin); }
void* calloc(size_t number, size_t each) {
  size_t bytes;
  return __builtin_mul_overflow(number, each, &bytes) ? NULL : malloc(bytes);
}
void* realloc(void* old, size_t bytes) {
  void* const begin = malloc(bytes);
  if (begin == NULL || old == NULL) return begin;
  return memcpy(begin, old, head(old)->bytes < bytes ? head(old)->bytes : bytes);
}
void* reallocarray(void* old, size_t number, size_t each) {
  size_t bytes;
  return __builtin_mul_overflow(number, each, &bytes) ? NULL : realloc(old, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  *out = memalign(alignment, bytes);
  return *out == NULL ? ENOMEM : 0;
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
void* valloc(size_t bytes) { return memalign(4096, bytes); }
void* pvalloc(size_t bytes) { return memalign(4096, (bytes + 4095) / 4096 * 4096); }
size_t malloc_usable_size(void* begin) { return begin == NULL ? 0 : head(begin)->bytes; }
