// See hsa.hpp.
#include "runtimes/hip/hsa.hpp"

#include <cstdio>

namespace byteways::hip {

Hsa::Hsa(const std::vector<std::string>& directories, const std::string& simulator) {
  report_.library = "hsa";
  const Library library = Library::open({"libhsa-runtime64.so.1", "libhsa-runtime64.so"}, directories,
                                        "BYTEWAYS_LIBHSA", simulator, report_);
  if (!library) {
    if (report_.hint.empty())
      report_.hint =
          "set BYTEWAYS_LIBHSA to its file (libhsa-runtime64.so.1); without it no copy engine can be chosen";
    return;
  }
  table_.bind(library, report_);
  if (!gpu::complete(report_)) return;
  std::uint16_t major = 0, minor = 0;
  if (table_.system_info(HsaTable::kSystemVersionMajor, &major) == 0 &&
      table_.system_info(HsaTable::kSystemVersionMinor, &minor) == 0)
    report_.version = "HSA " + std::to_string(major) + "." + std::to_string(minor);
  report_.usable = true;
}

Hsa::~Hsa() {
  if (done_) table_.destroy_signal(*done_);
}

std::uint32_t Hsa::engines(const HsaPlace& source, const HsaPlace& destination) {
  if (!report_.usable)
    throw Unsupported("copy engine", "unavailable",
                      "HSA, which chooses copy engines, is not usable: " + report_.reason);
  for (const MissingFunction& function : report_.missing)
    throw Unsupported(
        function.name, "missing",
        "the HSA runtime that was found lacks " + function.name + " (since " + function.introduced_in + ")");
  const HsaTable::Agent from = agent_at(source), to = agent_at(destination);
  std::uint32_t mask = 0;
  const int status = table_.engine_mask(to, from, &mask);
  if (status == HsaTable::kOutOfResources)
    throw Unsupported(table_.engine_mask.symbol(), "none",
                      "HSA says that no copy engine is free for such a copy");
  check(table_.engine_mask.symbol(), status);
  return mask;
}

void Hsa::copy(void* destination, const HsaPlace& to, const void* source, const HsaPlace& from,
               std::uint64_t bytes, int engine) {
  const HsaTable::Agent to_agent = agent_at(to), from_agent = agent_at(from);
  if (!done_) {
    HsaTable::Signal signal{};
    check(table_.create_signal.symbol(), table_.create_signal(1, 0, nullptr, &signal));
    done_ = signal;
  }
  table_.store_signal(*done_, 1);
  check(table_.copy_on_engine.symbol(),
        table_.copy_on_engine(destination, to_agent, source, from_agent, std::size_t{bytes}, 0, nullptr,
                              *done_, 1 << engine, true));
  // Active wait: the host's clock times the copy, and waking up would add to the result.
  const std::int64_t value =
      table_.wait_signal(*done_, HsaTable::kLessThan, 1, UINT64_MAX, HsaTable::kWaitActive);
  if (value != 0)  // negative: the copy failed
    throw Error(table_.copy_on_engine.symbol(), "failed",
                "the copy ended with " + std::to_string(value) + " in its signal");
}

const Hsa::Agents& Hsa::agents() {
  if (agents_) return *agents_;
  check(table_.initialize.symbol(), table_.initialize());
  std::vector<HsaTable::Agent> found;
  const HsaTable::AgentVisitor note = [](HsaTable::Agent agent, void* list) {
    static_cast<std::vector<HsaTable::Agent>*>(list)->push_back(agent);
    return 0;
  };
  check(table_.iterate_agents.symbol(), table_.iterate_agents(note, &found));
  Agents agents;
  for (const HsaTable::Agent agent : found) {
    const int kind = info<int>(agent, HsaTable::kAgentDevice);
    if (kind == HsaTable::kCpu) agents.cpus.push_back(agent);
    if (kind == HsaTable::kGpu) agents.gpus.emplace(address_of(agent), agent);
  }
  return agents_.emplace(std::move(agents));
}

HsaTable::Agent Hsa::agent_at(const HsaPlace& place) {
  const Agents& known = agents();
  if (place.empty()) {
    // Any CPU will do: engines are selected by the kinds of the two ends.
    if (known.cpus.empty()) throw Unsupported("hsa_iterate_agents", "agent", "HSA shows no CPU");
    return known.cpus.front();
  }
  const auto count = known.gpus.count(place);
  if (count == 0)
    throw Unsupported("hsa_iterate_agents", "agent", "HSA shows no GPU at PCI address " + place);
  if (count > 1)
    throw Unsupported("hsa_iterate_agents", "agent",
                      "HSA shows " + std::to_string(count) + " GPUs at PCI address " + place +
                          ", and which of them is meant cannot be told");
  return known.gpus.find(place)->second;
}

// "0000:c1:00.0", as in HIP. BDF: bus in bits 8 to 15, device in bits 3 to 7, function below.
std::string Hsa::address_of(HsaTable::Agent agent) const {
  const auto bdf = info<std::uint32_t>(agent, HsaTable::kAgentBdf);
  const auto domain = info<std::uint32_t>(agent, HsaTable::kAgentDomain);
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bdf >> 8 & 0xFF, bdf >> 3 & 0x1F, bdf & 7);
  return text;
}

template <class Value>
Value Hsa::info(HsaTable::Agent agent, int what) const {
  Value value{};
  check(table_.agent_info.symbol(), table_.agent_info(agent, what, &value));
  return value;
}

void Hsa::check(const char* call, int status) const {
  if (status == 0) return;
  const char* text = nullptr;
  table_.status_text(status, &text);
  char code[32];
  std::snprintf(code, sizeof code, "HSA status 0x%x", static_cast<unsigned>(status));
  throw Error(call, code, text == nullptr ? "" : text);
}

}  // namespace byteways::hip
