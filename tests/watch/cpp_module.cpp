// A module of C++ that a program of C opens for itself: no other module has `operator new`.
#include <cstdint>
#include <new>
#include <vector>

extern "C" int use_module() {
  volatile std::size_t most = SIZE_MAX / 2;
  try {
    char* volatile none = new char[most];
    delete[] none;
    return 2;
  } catch (const std::bad_alloc&) {
  }
  std::vector<char> small(100, 'x'), large(500'000, 'y');
  return small[99] == 'x' && large[499'999] == 'y' ? 0 : 3;
}
