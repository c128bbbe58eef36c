// Allocates as C++ programs do, before and after the fake driver has a context; prints what the driver
// counted.
#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

#include "driver.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  std::vector<double> early(50'000, 1.5);  // before the driver is loaded
  if (open_driver(words[1]) == 0) return 3;
  reinterpret_cast<void (*)()>(in_driver("fake_activate"))();
  // Seen: an allocation that nobody looks at is left out by the compiler.
  char* volatile plain = new char[200'000];
  char* volatile quiet = new (std::nothrow) char[200'000];
  struct alignas(128) Line {
    char bytes[128];
  };
  auto* const aligned = new Line[2'000];
  if (reinterpret_cast<std::uintptr_t>(aligned) % alignof(Line) != 0) return 4;
  int* volatile small = new int(7);
  delete small;
  volatile std::size_t most = SIZE_MAX / 2;
  try {
    char* volatile refused = new char[most];
    delete[] refused;
    return 5;
  } catch (const std::bad_alloc&) {
  }
  if (new (std::nothrow) char[most] != nullptr) return 6;
  long counts[4];
  const auto fake_counts = reinterpret_cast<void (*)(long[4])>(in_driver("fake_counts"));
  fake_counts(counts);
  std::printf("allocated %ld %ld %ld %ld\n", counts[0], counts[1], counts[2], counts[3]);
  delete[] plain;
  delete[] quiet;
  delete[] aligned;
  std::vector<double>().swap(early);
  fake_counts(counts);
  std::printf("freed %ld %ld %ld\n", counts[0] - counts[1], counts[2], counts[3]);
  return early.empty() ? 0 : 7;
}
