// See mover.hpp and flow.hpp.
#include "interfaces/mover.hpp"

#include <algorithm>

namespace byteways {

std::int64_t Flow::number(std::string_view option, std::int64_t otherwise) const {
  const auto found = options.find(option);
  if (found == options.end()) return otherwise;
  if (const auto* value = std::get_if<std::int64_t>(&found->second)) return *value;
  throw Unsupported(interface, std::string(option), "a word where a number belongs");
}

unsigned Flow::count(std::string_view option, unsigned otherwise, unsigned most) const {
  const std::int64_t asked = number(option, otherwise);
  if (asked < 1)
    throw Unsupported(interface, std::string(option), std::to_string(asked) + " is less than one",
                      executor->name());
  if (asked > most)
    throw Unsupported(interface, std::string(option),
                      std::to_string(asked) + " are more than the most, " + std::to_string(most),
                      executor->name());
  return static_cast<unsigned>(asked);
}

std::string Flow::word(std::string_view option, std::string_view otherwise) const {
  const auto found = options.find(option);
  if (found == options.end()) return std::string(otherwise);
  if (const auto* value = std::get_if<std::string>(&found->second)) return *value;
  throw Unsupported(interface, std::string(option), "a number where a word belongs");
}

void Verification::note(const CheckResult& result, std::uint64_t offset_bytes) {
  if (result.bad_count != 0 && ok) {
    ok = false;
    first_offset_bytes = offset_bytes + result.first_bad * sizeof(std::uint64_t);
    expected = result.expected;
    got = result.got;
  }
  bad_count += result.bad_count;
}

PreparedKernel require_kernel(const Flow& flow, Device& device, const char* kernel) {
  const Availability offered = device.runtime->offers_kernel(device.ordinal, kernel);
  if (!offered.available) throw Unsupported(flow.interface, "unavailable", offered.reason, device.name());
  return device.runtime->prepare(device.ordinal, kernel);
}

void require_access(Session& session, const Flow& flow) {
  for (Buffer* buffer : {flow.source, flow.second_source, flow.destination}) {
    if (buffer == nullptr) continue;
    Device& owner = buffer->device();
    const Memory memory = buffer->allocation().memory();
    if (flow.executor->is_host() && memory != Memory::ipc) {
      const Availability reached = Session::cores_reach(owner);
      if (is_device(memory) && !reached.available)
        throw Unsupported("access", flow.interface, reached.reason);
    } else if (!owner.is_host()) {
      const Availability proved = session.open_to(*flow.executor, *buffer);
      if (!proved.available)
        throw Unsupported("access", flow.interface, proved.reason, flow.executor->name());
    } else if (is_plain(memory) && !flow.executor->info.pageable_access) {
      throw Unsupported(
          "access", flow.interface,
          "kernels of " + flow.executor->name() + " cannot reach pageable memory on this system");
    }
  }
}

std::unique_ptr<Stream> create_stream_for(Session& session, Device& device, std::int64_t core) {
  if (core < 0) return device.runtime->create_stream(device.ordinal);
  if (!device.is_host())
    throw Unsupported("stream", "core", "only a CPU has cores to choose from", device.name());
  return session.host().create_stream_on(device.ordinal, core);
}

// Read in the sources of OSU Micro-Benchmarks 7.3: c/mpi/pt2pt/standard and c/mpi/collective/blocking.
FixedLoop osu_loop(const Flow& flow) {
  FixedLoop loop;
  if (flow.word("timing") != "osu") return loop;
  loop.skipped = static_cast<std::uint64_t>(std::max<std::int64_t>(0, flow.number("skipped")));
  loop.iterations = flow.count("iterations", 1);
  const std::string operation = flow.word("operation");
  if (operation == "multi-pair") {
    loop.meet = Meet::before_each_iteration;  // osu_mbw_mr
  } else if (operation != "unidirectional" && operation != "bidirectional") {
    loop.mean_of_ranks = true;
    if (operation != "barrier") loop.meet = Meet::after_each_iteration;
  }
  return loop;
}

}  // namespace byteways
