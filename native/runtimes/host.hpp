// The host as a runtime, which knows more than a vendor's: its pages and its clock.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtimes/runtime.hpp"

namespace byteways {

using Nanoseconds = std::int64_t;

// Acts when something takes too long. Its action runs at most once for each arm(), on a thread of the clock's
// choosing, never from inside arm() or disarm(). disarm() and destruction wait for an action that is running:
// one that comes late would take the next arm() for its own.
class Watchdog {
 public:
  virtual ~Watchdog() = default;
  virtual void arm(Nanoseconds delay) = 0;
  virtual void disarm() = 0;
};

// The host's clock: the only wall clock of the core. Simulated machines answer virtual time, which passes
// only while somebody waits for something or asks: a loop that waits for a word of memory has to ask.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() = 0;
  virtual std::unique_ptr<Watchdog> watchdog(std::function<void()> action) = 0;
  // Whether threads that wait for each other make time pass: in virtual time only the one that asks does.
  virtual bool runs_by_itself() const = 0;
};
Clock& host_clock();  // of the real host

class Host : public Runtime {
 public:
  virtual Clock& clock() = 0;
  // NUMA domain -> pages of a sample of at most 4096 of host memory, whoever allocated it.
  virtual std::map<int, std::uint64_t> placement(const void* data, std::uint64_t bytes) = 0;
  // Plain pages that are there, on `numa_domain` (-1: anywhere), for a vendor to lock. Throws OutOfMemory.
  virtual std::unique_ptr<Allocation> populated_pages(std::uint64_t bytes, int numa_domain) = 0;
  // A queue whose thread stays on one core: number `core` of those that this process may use of the domain,
  // the first of every physical core before their siblings. Throws Unsupported when there is none.
  virtual std::unique_ptr<Stream> create_stream_on(int device, std::int64_t core) = 0;
  // Plain pages as a program would map them, for callers that know there is room: nothing is asked, guarded
  // or touched. And a write to every page of such memory from the calling thread.
  virtual std::unique_ptr<Allocation> map_pages(Memory memory, std::uint64_t bytes, int numa_domain) = 0;
  virtual void touch(void* data, std::uint64_t bytes) = 0;
  // While the result lives, pages that the calling thread makes the kernel allocate come from `numa_domain`.
  virtual std::shared_ptr<void> place_thread(int numa_domain) = 0;
  // Of a PCI device ("0000:3b:00.0"): its NUMA domain, -1 when unknown; and the calling thread onto the cores
  // beside it, false when nothing is known.
  virtual int numa_domain_of(const std::string& pci_address) = 0;
  virtual bool bind_thread_near_pci(const std::string& pci_address) = 0;
};

}  // namespace byteways
