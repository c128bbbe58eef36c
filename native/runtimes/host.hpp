// The host as a runtime. In addition to a vendor's runtime it has pages and a clock.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtimes/runtime.hpp"

namespace byteways {

using Nanoseconds = std::int64_t;

// Runs an action after a time limit: at most once per arm(), on a thread chosen by the clock, never inside
// arm() or disarm(). disarm() and the destructor wait for a running action; otherwise a late one would act on
// the next arm().
class Watchdog {
 public:
  virtual ~Watchdog() = default;
  virtual void arm(Nanoseconds delay) = 0;
  virtual void disarm() = 0;
};

// The host's clock: the only wall clock of the core. On simulated machines it returns virtual time, which
// advances only while a thread waits or reads the clock. So a loop that polls a word of memory must read the
// clock.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() = 0;
  virtual std::unique_ptr<Watchdog> watchdog(std::function<void()> action) = 0;
  // Whether time advances while threads wait for each other. Virtual time advances only when a thread reads
  // it.
  virtual bool runs_by_itself() const = 0;
  // Called between two looks at what another thread or device brings about: virtual time, which stands still
  // meanwhile, advances by this.
  virtual void pass(Nanoseconds) {}
  // Runs `body`, which must not use Python, and returns when it has ended. Simulated ranks take turns many
  // times in what they do together: that of all of them is done on one thread then, which is not the
  // caller's.
  virtual void carry(const std::function<void()>& body) { body(); }
};
Clock& host_clock();  // of the real host

class Host : public Runtime {
 public:
  virtual Clock& clock() = 0;
  // Returns pages per NUMA domain, in a sample of at most 4096 pages of any host memory.
  virtual std::map<int, std::uint64_t> placement(const void* data, std::uint64_t bytes) = 0;
  // Returns populated plain pages on `numa_domain` (-1: any), for a vendor to page-lock. Throws OutOfMemory.
  virtual std::unique_ptr<Allocation> populated_pages(std::uint64_t bytes, int numa_domain) = 0;
  // Returns a queue whose thread is bound to one core: number `core` of the cores of the domain that this
  // process may use, the first thread of every physical core before their siblings. Throws Unsupported if
  // there is no such core.
  virtual std::unique_ptr<Stream> create_stream_on(int device, std::int64_t core) = 0;
  // Maps plain pages as a program would, without guard pages, touching, or a check of available memory.
  // touch() writes to every page of such memory in the calling thread.
  virtual std::unique_ptr<Allocation> map_pages(Memory memory, std::uint64_t bytes, int numa_domain) = 0;
  virtual void touch(void* data, std::uint64_t bytes) = 0;
  // During the lifetime of the result, pages that the calling thread causes to be allocated come from
  // `numa_domain`.
  virtual std::shared_ptr<void> place_thread(int numa_domain) = 0;
  // For a PCI device ("0000:3b:00.0"): returns its NUMA domain, -1: unknown; binds the calling thread to the
  // nearest cores, false if they are unknown.
  virtual int numa_domain_of(const std::string& pci_address) = 0;
  // The folder in which the kernel describes devices, "/sys"; empty on a simulated machine.
  virtual std::string sysfs() const = 0;
  virtual bool bind_thread_near_pci(const std::string& pci_address) = 0;
};

}  // namespace byteways
