// A program of the vendors' run-time compilers: both interfaces keep a source, its log and its image behind
// one pointer, and number their results alike (nvrtcResult, hiprtcResult).
#pragma once
#include <cstddef>
#include <string>

namespace byteways::sim::compiler {

inline constexpr int kInvalidInput = 3, kInvalidProgram = 4, kCompilation = 6, kInternalError = 11;

struct Program {
  std::string name, source;
  std::string log, image;  // of the last compilation
};

// All functions return a result code; none throws.
int create(Program** program, const char* source, const char* name);
int destroy(Program** program);
int compile(Program* program);
int size_of(const Program* program, std::size_t* bytes, std::string Program::* text);  // with its final zero
int copy_of(const Program* program, char* to, std::string Program::* text);

}  // namespace byteways::sim::compiler
