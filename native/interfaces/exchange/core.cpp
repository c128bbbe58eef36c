// See core.hpp.
#include "interfaces/exchange/core.hpp"

#include "interfaces/exchange/exchange.hpp"
#include "interfaces/mover.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {

Core::Core(Session& session, const Flow& flow, std::initializer_list<const char*> kernels)
    : session_(&session),
      device_(flow.executor->is_host() ? flow.executor : &session.host_beside(*flow.executor)),
      inline_(computes_inline(session, *device_)) {
  for (const Buffer* buffer : {flow.source, flow.destination}) {
    if (!is_device(buffer->allocation().memory())) continue;
    const Availability reached = Session::cores_reach(buffer->device());
    if (!reached.available) throw Unsupported(flow.interface, "packing", reached.reason);
  }
  for (const char* name : kernels) kernels_.emplace(name, require_kernel(flow, *device_, name));
  stream_ = device_->runtime->create_stream(device_->ordinal);
}

Core::~Core() = default;

void Core::run(const PreparedKernel& kernel, const void* arguments, std::size_t bytes) {
  if (inline_) return find_host_kernel(kernel.name)->function(arguments, TeamMember{});
  device_->runtime->launch(device_->ordinal, kernel, {1, 1, 0}, arguments, bytes, *stream_);
  device_->runtime->synchronize(*stream_);
}

std::unique_ptr<Allocation> Core::new_block(const Buffer& like, std::uint64_t bytes) const {
  const Memory memory = like.allocation().memory();
  auto made = session_->bare_block(like.device(), memory, bytes);
  if (is_plain(memory)) session_->host().touch(made->data(), bytes);
  return made;
}

}  // namespace byteways
