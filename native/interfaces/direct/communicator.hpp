// The ranks of direct collectives: memory of all their GPUs as one rank's GPU sees it. Within a process ranks
// use each other's addresses, with peer access; ranks that are processes open each other's memory by handles
// (CUDA and HIP: IPC). Where two GPUs have no access to each other, the workspaces of ranks of one process
// are in page-locked host memory, and all that ranks exchange goes through those.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interfaces/direct/arguments.hpp"
#include "runtimes/ranks.hpp"
#include "runtimes/session.hpp"

namespace byteways {

// One buffer of each rank, at addresses that this rank's GPU can load from and store to.
struct PeerBuffers {
  std::vector<std::byte*> of_rank;
  std::vector<std::unique_ptr<Buffer>> opened;  // of other processes: keeps the addresses valid
};

class PeerCommunicator {
 public:
  // Collective. Throws Unsupported on every rank when two GPUs of different processes have no access to each
  // other, with the reason.
  PeerCommunicator(const Ranks& ranks, Session& session, Device& device);
  // The ranks of all these GPUs, in order, for one thread.
  static std::vector<std::unique_ptr<PeerCommunicator>> all(Session& session,
                                                            const std::vector<Device*>& devices);
  ~PeerCommunicator();
  PeerCommunicator(const PeerCommunicator&) = delete;
  PeerCommunicator& operator=(const PeerCommunicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Device& device() const { return *device_; }
  // Why ranks exchange through host memory; empty: their GPUs have access to each other.
  const std::string& obstacle() const { return obstacle_; }
  // The most ranks that have one GPU: their kernels share its multiprocessors.
  unsigned ranks_of_device() const { return ranks_of_device_; }
  const std::vector<std::byte*>& workspaces() const { return workspaces_.of_rank; }
  // Buffers of this rank that all others open, and theirs, in the same order on every rank. Collective, but
  // not of the ranks of one thread. Through host memory, those of other ranks may not be used. `failure`: why
  // this rank has none; then all ranks throw.
  std::vector<PeerBuffers> share(const std::vector<Buffer*>& mine, const std::string& failure) const;
  // The same among the ranks of one thread: the buffers of all ranks, by rank.
  std::vector<PeerBuffers> share_here(const std::vector<std::vector<Buffer*>>& of_ranks) const;
  // Operations that did not end may still store to this memory: it is kept until the process ends.
  void keep_for_good() { kept_ = true; }

 private:
  PeerCommunicator(Session& session, Device& device, int rank, int size);
  // Why this rank's GPU has no access to some of these, of which each is told by introduction().
  std::string lacks(const std::vector<std::string>& introductions) const;
  std::string introduction() const;
  // Throws Unsupported when the GPUs have grids of different sizes.
  void agree_on_grids(const std::vector<std::string>& introductions);
  Device& known(const std::string& uuid, const std::string& name) const;
  void allocate_workspace();
  // Where a rank's buffer is, as text.
  std::string told(const std::vector<Buffer*>& mine) const;
  std::vector<PeerBuffers> opened(const std::vector<std::string>& told) const;
  void open(PeerBuffers& to, const std::string& line) const;

  Session* session_;
  Device* device_;
  int rank_, size_;
  const Ranks* ranks_ = nullptr;  // null: all ranks are of one thread
  unsigned ranks_of_device_ = 1;
  std::string obstacle_;
  std::unique_ptr<Buffer> own_;
  PeerBuffers workspaces_;
  bool kept_ = false;
};

}  // namespace byteways
