// A core of this rank that packs and unpacks messages in the thread that calls MPI, as codes do whose
// communication is not on the GPU.
#pragma once
#include <initializer_list>
#include <map>
#include <memory>
#include <string_view>

#include "interfaces/flow.hpp"
#include "runtimes/session.hpp"

namespace byteways {

class Core {
 public:
  // The core is the executor, or one of the domain beside it. Throws Unsupported where it cannot reach the
  // flow's memory, or has no such kernel.
  Core(Session& session, const Flow& flow, std::initializer_list<const char*> kernels);
  ~Core();

  // Runs a kernel with one thread and waits for its end.
  template <class Arguments>
  void run(std::string_view kernel, const Arguments& arguments) {
    run(kernels_.find(kernel)->second, &arguments, sizeof arguments);
  }
  // New memory of the kind and owner of `like`. Plain pages are touched, as writing them would.
  std::unique_ptr<Allocation> new_block(const Buffer& like, std::uint64_t bytes) const;

 private:
  void run(const PreparedKernel& kernel, const void* arguments, std::size_t bytes);

  Session* session_;
  Device* device_;
  bool inline_;
  std::map<std::string, PreparedKernel, std::less<>> kernels_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace byteways
