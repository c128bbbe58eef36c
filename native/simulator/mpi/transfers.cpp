// See transfers.hpp.
#include "simulator/mpi/transfers.hpp"

#include <algorithm>

namespace byteways::sim::mpi {
namespace {

using enum Place::Kind;

constexpr double kThreadsPerProcessor = 1024;  // of a kernel that adds: as many as one block may have

}  // namespace

Transfers::Transfers(const Model& model, Engine& engine, Streams& streams, Kernels& kernels)
    : model_(&model),
      settings_(LibrarySettings::of_process(model)),
      engine_(&engine),
      streams_(&streams),
      kernels_(&kernels),
      bytes_(kernels) {}

Engine::Queue& Transfers::queue(std::pair<int, int> of) {
  Engine::Queue*& queue = queues_[of];
  if (queue == nullptr) queue = engine_->add_queue();
  return *queue;
}

void Transfers::submit(Engine::Queue& queue, std::unique_ptr<Operation> operation, double delay_ns,
                       Done done) {
  streams_->vary(*operation);
  // What another operation brings about happens at its end, whoever's call made time pass so far.
  const Picoseconds now = happening_ ? engine_->now() : Timeline::of_process().now();
  operation->ready = now + picoseconds(delay_ns);
  if (done)
    operation->on_end = [this, done = std::move(done)] {
      happening_ = true;
      done();
      happening_ = false;
    };
  engine_->enqueue(queue, std::move(operation));
}

void Transfers::after(double ns, Done done) {
  if (unused_.empty()) unused_.push_back(engine_->add_queue());
  Engine::Queue* const queue = unused_.back();
  unused_.pop_back();
  auto operation = std::make_unique<Operation>();
  operation->fixed = picoseconds(ns);
  submit(*queue, std::move(operation), 0, [this, queue, done = std::move(done)] {
    unused_.push_back(queue);
    done();
  });
}

void Transfers::notify(const Rank& from, const Rank& to, Done done) {
  after(kernels_->costs().hand_over_ns(from.place, to.place, to.place), std::move(done));
}

std::unique_ptr<Operation> Transfers::copy_by_core(const Rank& rank, const End& to, const End& from,
                                                   double bytes, bool cached) const {
  auto operation = std::make_unique<Operation>();
  operation->fixed = picoseconds(bytes > 0 ? model_->cpu.call_ns : 0);
  const double mapped_rate = model_->host_access ? 0 : model_->mpi.core_device_bytes_per_s;
  if (bytes > 0 && mapped_rate > 0 && (to.device || from.device)) {
    operation->fixed += picoseconds(bytes / mapped_rate * 1e9);
    return operation;
  }
  Transfer transfer{Mechanism::core, rank.place, from.place, to.place, bytes, 2, 1};
  // What another domain's core or GPU has written is not in this core's caches.
  const Costs& costs = kernels_->costs();
  const bool near = costs.memory_of(from.place) == costs.memory_of(rank.place);
  if (cached && near) transfer.cached_bytes = 2 * bytes;  // of both buffers
  transfer.part = std::min(from.core_part, to.core_part);
  if (bytes > 0) kernels_->costs().add(*operation, transfer);
  operation->never_ends = kernels_->hangs(from.place, to.place);
  return operation;
}

std::unique_ptr<Operation> Transfers::copy_by_gpu(Place gpu, const End& to, const End& from,
                                                  double bytes) const {
  kernels_->devices().count_operation(gpu);
  kernels_->devices().check(gpu);
  auto operation = std::make_unique<Operation>();
  const bool within = to.place == from.place, host = !to.device || !from.device;
  const bool engine =
      !within && (host ? settings_.engines : settings_.peer_engines && model_->mpi.ipc_by_engine);
  Transfer transfer{engine ? Mechanism::engine : Mechanism::blit, gpu, from.place, to.place, bytes};
  const MpiModel& mpi = model_->mpi;
  if (engine && mpi.engine_system_part > 0 && (from.system_pages || to.system_pages))
    transfer.part = mpi.engine_system_part;
  kernels_->costs().add(*operation, transfer);
  if (mpi.copy_ns > 0) operation->fixed = picoseconds(mpi.copy_ns);
  if (engine && mpi.engine_ns > 0) operation->fixed = picoseconds(mpi.engine_ns);
  operation->never_ends = kernels_->hangs(from.place, to.place);
  return operation;
}

void Transfers::by_core(const Rank& rank, const End& to, const End& from, double bytes, bool cached,
                        double fixed_ns, Done done) {
  auto operation = copy_by_core(rank, to, from, bytes, cached);
  operation->fixed += picoseconds(fixed_ns);
  submit(core(rank), std::move(operation), 0, std::move(done));
}

void Transfers::by_gpu(const Rank& rank, Place gpu, const End& to, const End& from, double bytes, Done done) {
  submit(device(rank, gpu), copy_by_gpu(gpu, to, from, bytes),
         model_->calls.enqueue_ns + model_->calls.launch_ns, std::move(done));
}

void Transfers::by_gpu_waited_for(const Rank& rank, Place gpu, const End& to, const End& from, double bytes,
                                  Done done) {
  by_gpu(rank, gpu, to, from, bytes,
         [this, done = std::move(done)] { after(model_->calls.synchronize_ns, done); });
}

void Transfers::staged(const Rank& sender, const Rank& receiver, const End& to, const End& from, double bytes,
                       Done done) {
  constexpr std::size_t kBuffers = 2;
  const End buffer{nullptr, sender.place, false};
  const auto piece = static_cast<double>(std::max<std::uint64_t>(1, model_->mpi.staging_bytes));
  const double launch_ns = model_->calls.enqueue_ns + model_->calls.launch_ns;
  std::vector<std::shared_ptr<Mark>> emptied;
  for (double left = bytes; left > 0; left -= piece) {
    const double size = std::min(left, piece);
    auto fill = from.device ? copy_by_gpu(from.place, buffer, from, size)
                            : copy_by_core(sender, buffer, from, size, false);
    auto empty =
        to.device ? copy_by_gpu(to.place, to, buffer, size) : copy_by_core(receiver, to, buffer, size, false);
    if (emptied.size() >= kBuffers) fill->after = emptied[emptied.size() - kBuffers];
    empty->after = fill->mark = std::make_shared<Mark>();
    emptied.push_back(empty->mark = std::make_shared<Mark>());
    submit(from.device ? device(sender, from.place) : core(sender), std::move(fill),
           from.device ? launch_ns : 0, nullptr);
    submit(to.device ? device(receiver, to.place) : core(receiver), std::move(empty),
           to.device ? launch_ns : 0, left <= piece ? std::move(done) : nullptr);
  }
}

void Transfers::by_network(const Rank& sender, const End& to, const End& from, double bytes, Done done) {
  auto operation = std::make_unique<Operation>();
  kernels_->costs().add_network(*operation, from.place, to.place, bytes);
  submit(nic(sender), std::move(operation), 0, std::move(done));
}

double Transfers::network_ns(double bytes) const {
  double slowest = 0;
  for (const LinkModel& link : model_->links)
    if (link.kind == "network" && (slowest == 0 || link.peak_bytes_per_s < slowest))
      slowest = link.peak_bytes_per_s;
  const double rate = slowest * model_->network_efficiency;
  return model_->network_latency_ns + (rate > 0 ? bytes / rate * 1e9 : 0);
}

bool Transfers::is_short(double bytes) const {
  const MpiModel& mpi = model_->mpi;
  if (model_->host_access) return bytes <= static_cast<double>(mpi.ipc_core_bytes);
  return mpi.core_device_bytes_per_s > 0 && bytes < static_cast<double>(settings_.direct_from_bytes);
}

bool Transfers::reduces_on_host(double bytes) const {
  return !model_->host_access && !is_short(bytes) &&
         bytes < static_cast<double>(settings_.kernel_reductions_from_bytes);
}

bool Transfers::reduces_in_own_buffer(double bytes) const {
  const std::uint64_t from = settings_.kernel_reductions_from_bytes;
  return !model_->host_access && from > 0 && bytes >= static_cast<double>(from);
}

void Transfers::add(const Rank& rank, const End& to, const End& from, double bytes, Done done) {
  if (to.device && is_short(bytes)) {  // the core adds where the library has mapped the memory
    auto operation = copy_by_core(rank, to, from, bytes, true);
    return submit(core(rank), std::move(operation), 0, std::move(done));
  }
  auto operation = std::make_unique<Operation>();
  const bool by_kernel = to.device && settings_.kernel_reductions;
  Pass pass{by_kernel ? to.place : rank.place, {from.place, to.place}, to.place, bytes};
  if (by_kernel) {
    pass.threads = kThreadsPerProcessor * model_->gpu.multiprocessors;
    operation->threads = pass.threads;
  } else {
    pass.threads = 1;
    pass.cached_bytes = 2 * bytes;
    operation->fixed = picoseconds(model_->cpu.call_ns);
  }
  kernels_->costs().add(*operation, pass);
  if (by_kernel)  // the core waits for its end as a program does
    done = [this, done = std::move(done)] { after(model_->calls.synchronize_ns, done); };
  submit(by_kernel ? device(rank, to.place) : core(rank), std::move(operation),
         by_kernel ? model_->calls.enqueue_ns + model_->calls.launch_ns : 0, std::move(done));
}

void* Transfers::take_buffer(Place place, Kind kind, std::uint64_t bytes, bool real) {
  const auto fits = [&](const Block* block) {
    return block->owner == place && block->kind == kind && block->bytes == bytes && block->real() == real;
  };
  const auto found = std::find_if(spare_buffers_.begin(), spare_buffers_.end(), fits);
  if (found == spare_buffers_.end()) return kernels_->memory().allocate(place, kind, bytes, real).data;
  Block* const block = *found;
  spare_buffers_.erase(found);
  block->registered_by.clear();  // as another buffer
  block->note.reset();
  return block->data;
}

void Transfers::give_back(void* buffer) { spare_buffers_.push_back(kernels_->memory().find(buffer)); }

void Transfers::open_for(const void* buffer, const std::vector<int>& ranks) {
  if (Block* const block = kernels_->memory().find(buffer); block != nullptr)
    block->registered_by.insert(ranks.begin(), ranks.end());
}

bool Transfers::joined_by_links(Place a, Place b) const {
  return a == b || kernels_->devices().linked(a.index, b.index);
}

double Transfers::registration_ns(const Rank& rank, const End& end) {
  Block* const block = kernels_->memory().find(end.data);
  if (block == nullptr) return 0;
  const bool known = !block->registered_by.insert(rank.number).second;
  return known && settings_.registers_once ? 0 : model_->mpi.registration_ns;
}

}  // namespace byteways::sim::mpi
