// Memory for lists of numbers. Not by `new`: that of the C++ library brings its exceptions and their messages
// into every process of a program, and each process would pay for them when it starts.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace byteways::watch::mpi {

struct Freeing {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
template <class Element>
using List = std::unique_ptr<Element[], Freeing>;

// So many elements, all of them zero; null where memory lacks.
template <class Element>
List<Element> list_of(std::size_t length) noexcept {
  return List<Element>(static_cast<Element*>(std::calloc(length + 1, sizeof(Element))));
}

}  // namespace byteways::watch::mpi
