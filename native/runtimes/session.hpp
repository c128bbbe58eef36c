// Everything one worker has open: the runtimes found here, their devices as agents, and the buffers made on
// them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtimes/library.hpp"
#include "runtimes/runtime.hpp"

namespace byteways {

struct SessionOptions {
  std::vector<std::string> library_directories;  // searched after the dynamic linker's own
  std::string kernel_cache;                      // folder for compiled kernels, empty: no cache
  bool gpus = true;                              // false: host only
  std::string simulator;                         // file of the simulator, empty on a real machine
  std::string machine;                           // sheet of the machine it plays (simulator/model.hpp)
};

// One place that owns memory and issues work: "cpu0" (a NUMA domain), "gpu3".
struct Agent {
  Runtime* runtime = nullptr;
  int device = 0;
  DeviceInfo info;
  const std::string& name() const { return info.agent; }
  bool is_host() const { return runtime->name() == "host"; }
};

class Session;

// Where managed pages are, as far as it can be asked, of a sample of at most 4096.
struct PageResidency {
  std::uint64_t sampled = 0;
  std::map<std::string, std::uint64_t> on_host;  // CPU agent -> sampled pages, by the system's page tables
  std::string prefetched_to;  // agent that the runtime says they were last sent to, "host"; empty: unknown

  std::uint64_t pages_on_host() const {
    std::uint64_t pages = 0;
    for (const auto& [agent, count] : on_host) pages += count;
    return pages;
  }
  // With what was found of other pages; places that differ leave `prefetched_to` empty.
  void add(const PageResidency& other) {
    prefetched_to = sampled == 0 || prefetched_to == other.prefetched_to ? other.prefetched_to : "";
    sampled += other.sampled;
    for (const auto& [agent, count] : other.on_host) on_host[agent] += count;
  }
};

// agent + memory + first touch. Its words are filled and checked by the agent that owns it.
class Buffer {
 public:
  Buffer(Session& session, Agent& agent, Agent& first_touch, std::unique_ptr<Allocation> allocation)
      : session_(&session), agent_(&agent), first_touch_(&first_touch), allocation_(std::move(allocation)) {}
  Session& session() const { return *session_; }
  Agent& agent() const { return *agent_; }
  Agent& first_touch() const { return *first_touch_; }
  Allocation& allocation() const { return *allocation_; }
  std::byte* data() const { return allocation_->data(); }
  std::uint64_t bytes() const { return allocation_->bytes(); }
  // NUMA domain -> pages of a sample of at most 4096 (move_pages); empty for device memory.
  std::map<int, std::uint64_t> placement() const;

 private:
  Session* session_;
  Agent* agent_;
  Agent* first_touch_;
  std::unique_ptr<Allocation> allocation_;
};

class Session {
 public:
  explicit Session(const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::vector<std::unique_ptr<Agent>>& agents() const { return agents_; }
  Agent& agent(const std::string& name) const;  // throws Error when unknown
  const std::vector<LibraryReport>& libraries() const { return libraries_; }
  Clock& clock() const { return host_->clock(); }
  Host& host() const { return *host_; }

  // Can `memory` be allocated for `agent`? Host memory of vendor kinds comes from the first GPU runtime.
  Availability offers(const Agent& agent, Memory memory) const;
  // Allocates, then writes every page once from `first_touch`.
  std::unique_ptr<Buffer> allocate(Agent& agent, Memory memory, std::uint64_t bytes, Agent& first_touch);
  // A block that nobody has touched, with as little done for it as a program would do.
  std::unique_ptr<Allocation> bare_block(Agent& agent, Memory memory, std::uint64_t bytes);
  // Brings the managed pages of bytes [first, end) to the buffer's agent, with what the driver may have moved
  // along with them, and waits until they are there.
  void make_resident(Buffer& buffer, std::uint64_t first, std::uint64_t end);
  // An agent's own memory as runtimes name it. The only domain of a host is not named: every driver knows it.
  PagePlace page_place(const Agent& agent) const;
  // Asks for the pages of bytes [first, end) of a managed buffer. Touches none of them.
  PageResidency residency(const Buffer& buffer, std::uint64_t first, std::uint64_t end) const;
  // Keeps the pages of a managed buffer at its agent while `reader` uses them, or lets them move again.
  Availability hold(const Buffer& buffer, const Agent& reader, bool hold);
  // What of the agent's memory nobody uses; 0 when unknown.
  std::uint64_t free_bytes(const Agent& agent) const { return agent.runtime->free_bytes(agent.device); }
  // Enables peer access and proves it: `executor` writes a pattern into `owner`'s memory, the owner checks
  // it. Memory that needs_grant() is proved by its kind.
  Availability prove_peer(Agent& executor, Agent& owner, Memory memory = Memory::device);
  // Lets kernels and copies of `executor` reach the buffer, which may be another GPU's: proved by kind, and
  // granted for this buffer where its memory asks for that.
  Availability open_to(Agent& executor, Buffer& buffer);

  // What measurements need besides buffers, made once per agent and kept.
  Stream& service_stream(Agent& agent);     // fills, checks, anything that is not timed
  std::byte* own_scratch(Agent& agent);     // kScratchBytes of the agent's own memory
  std::byte* shared_scratch(Agent& agent);  // kScratchBytes of host memory that the agent can read and write
  unsigned int* gate_word(Agent& agent);  // in shared_scratch; every agent of one runtime sees the same word
  static constexpr std::uint64_t kScratchBytes = 4096;
  // What was observed of the vendor's copy call: question -> engine and evidence (timing/engine.cpp asks).
  std::map<std::string, std::pair<std::string, std::string>>& engines() { return engines_; }

 private:
  struct Service {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Allocation> own, shared;
  };
  Service& service(Agent& agent);
  Runtime* runtime_for(const Agent& agent, Memory memory) const;
  std::vector<LibraryReport> libraries_;
  std::vector<std::unique_ptr<Runtime>> runtimes_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::map<const Agent*, Service> services_;  // before the runtimes are gone: declared after them
  std::map<std::tuple<const Agent*, const Agent*, Memory>, Availability> peers_;
  std::map<std::string, std::pair<std::string, std::string>> engines_;
  Host* host_ = nullptr;
};

// Factories, one per runtime. They append to `reports` what they looked for and found; nullptr when the
// runtime is unusable here (the report says why).
std::unique_ptr<Host> open_host(std::vector<LibraryReport>& reports);
// The host of options.machine. Throws Error when the simulator is not there or refuses the sheet.
std::unique_ptr<Host> open_simulated_host(const SessionOptions& options, std::vector<LibraryReport>& reports);
// The same machine for a process that opens no session, but asks NVML. A process plays one machine only.
void load_machine(const std::string& simulator, const std::string& sheet);
// Begins it anew: what happens next depends on the sheet and `key` alone. Throws Error while a session has
// memory, streams or events there.
void restart_machine(const std::string& simulator, const std::string& sheet, std::uint64_t key);
Clock& host_clock();
std::unique_ptr<Runtime> open_cuda(Host& host, const SessionOptions& options,
                                   std::vector<LibraryReport>& reports);
std::unique_ptr<Runtime> open_hip(Host& host, const SessionOptions& options,
                                  std::vector<LibraryReport>& reports);

}  // namespace byteways
