// See compiler.hpp.
#include "simulator/vendors/compiler.hpp"

#include <cstring>

#include "simulator/vendors/kernels.hpp"

namespace byteways::sim::compiler {
namespace {

template <class Body>
int guarded(Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return kInternalError;
  }
}

}  // namespace

int create(Program** program, const char* source, const char* name) {
  return guarded([&] {
    if (program == nullptr || source == nullptr) return kInvalidInput;
    *program = new Program{name == nullptr ? "default_program" : name, source, {}, {}};
    return 0;
  });
}

int destroy(Program** program) {
  if (program == nullptr || *program == nullptr) return kInvalidProgram;
  delete *program;
  *program = nullptr;
  return 0;
}

int compile(Program* program) {
  return guarded([&] {
    if (program == nullptr) return kInvalidProgram;
    const auto image = compile_image(program->source);
    program->image = image.value_or("");
    program->log = image ? "" : program->name + ": no kernel in it is one that the simulator knows";
    return image ? 0 : kCompilation;
  });
}

int size_of(const Program* program, std::size_t* bytes, std::string Program::* text) {
  if (program == nullptr) return kInvalidProgram;
  if (bytes == nullptr) return kInvalidInput;
  *bytes = (program->*text).size() + 1;
  return 0;
}

int copy_of(const Program* program, char* to, std::string Program::* text) {
  if (program == nullptr) return kInvalidProgram;
  if (to == nullptr) return kInvalidInput;
  std::memcpy(to, (program->*text).c_str(), (program->*text).size() + 1);
  return 0;
}

}  // namespace byteways::sim::compiler
