// See streams.hpp.
#include "simulator/machine/streams.hpp"

#include <algorithm>

#include "simulator/machine/index.hpp"

namespace byteways::sim {
namespace {

constexpr double kStallNs = 1e9;  // longer than any watchdog's limit

}  // namespace

Streams::Streams(const Model& model, const Faults& faults, Engine& engine, Timeline& time, Devices& devices,
                 std::uint64_t noise_key)
    : model_(&model),
      faults_(&faults),
      engine_(&engine),
      time_(&time),
      devices_(&devices),
      hardware_queues_(engine, model.gpu.count, model.gpu.hardware_queues),
      noise_(model.noise, model.seed, noise_key),
      defaults_(at(model.gpu.count)),
      resets_(at(model.gpu.count)) {}

bool Streams::in_use() const {
  auto own = static_cast<std::size_t>(
      std::count_if(defaults_.begin(), defaults_.end(), [](const Stream* each) { return each; }));
  own += of_threads_.size();
  own += static_cast<std::size_t>(
      std::count_if(streams_.begin(), streams_.end(), [](const auto& each) { return each.second->lost; }));
  return streams_.size() > own ||
         !std::all_of(events_.begin(), events_.end(), [](const auto& each) { return each.second->lost; });
}

Stream* Streams::make(Place place) {
  devices_->check(place);
  auto stream = std::make_unique<Stream>(Stream{place});
  if (place.kind == Place::Kind::gpu) {
    const bool serial = faults_->find(Fault::Kind::serialise, name_of(place)) != nullptr;
    stream->queue = hardware_queues_.take(place.index, serial);
  } else if (!unused_.empty()) {
    stream->queue = unused_.back();
    unused_.pop_back();
  } else {
    stream->queue = engine_->add_queue();
  }
  Stream* const made = stream.get();
  streams_[made] = std::move(stream);
  return made;
}

Stream* Streams::default_of(int gpu) {
  Stream*& stream = defaults_.at(at(gpu));
  if (stream == nullptr) stream = make({Place::Kind::gpu, gpu});
  return stream;
}

Stream* Streams::of_thread(int gpu) {
  Stream*& stream = of_threads_[{std::this_thread::get_id(), gpu}];
  if (stream == nullptr) stream = make({Place::Kind::gpu, gpu});
  return stream;
}

void Streams::reset(int gpu) {
  const Place place{Place::Kind::gpu, gpu};
  defaults_.at(at(gpu)) = nullptr;
  std::erase_if(of_threads_, [&](const auto& each) { return each.first.second == gpu; });
  for (const auto& [stream, known] : streams_)
    if (known->place == place && !std::exchange(known->lost, true))
      hardware_queues_.give_back(gpu, known->queue);
  for (const auto& [event, known] : events_) known->lost |= known->place == place;
  ++resets_.at(at(gpu));
}

void Streams::destroy(Stream* stream) {
  if (stream->place.kind == Place::Kind::gpu)
    hardware_queues_.give_back(stream->place.index, stream->queue);
  else
    unused_.push_back(stream->queue);
  streams_.erase(stream);
}

Event* Streams::make_event(Place place) {
  auto event = std::make_unique<Event>(Event{place, nullptr});
  Event* const made = event.get();
  events_[made] = std::move(event);
  return made;
}

void Streams::destroy(Event* event) {
  if (events_.erase(event) == 0) throw Failure(Code::invalid, "no such event");
}

void Streams::vary(Operation& operation) {
  const double factor = noise_.next();
  operation.fixed = static_cast<Picoseconds>(static_cast<double>(operation.fixed) * factor);
  operation.bytes *= factor;
  for (Stage& stage : operation.before) {
    stage.fixed = static_cast<Picoseconds>(static_cast<double>(stage.fixed) * factor);
    stage.bytes *= factor;
  }
}

void Streams::submit(Lock& lock, Stream& stream, std::unique_ptr<Operation> operation, bool noisy) {
  const bool on_gpu = stream.place.kind == Place::Kind::gpu;
  devices_->count_operation(stream.place);
  if (const Fault* fault = faults_->find(Fault::Kind::stall, name_of(stream.place)))
    if (submissions_++ == fault->number) time_->enter(lock, kStallNs);
  devices_->check(stream.place);
  if (noisy) vary(*operation);
  const std::uint64_t depth = std::max(1u, model_->gpu.queue_depth);
  const auto has_room = [&stream, depth] { return stream.submitted - stream.completed < depth; };
  if (on_gpu && !has_room())
    time_->wait_until(lock, {has_room, [&] { return "room in a queue of " + name_of(stream.place); }});
  operation->ready = time_->now() + picoseconds(on_gpu ? model_->calls.launch_ns : 0);
  operation->actor = operation->latch.actor = Timeline::actor();
  operation->completed = &stream.completed;
  ++stream.submitted;
  if (operation->mark == nullptr) operation->mark = std::make_shared<Mark>();
  stream.latest = operation->mark;
  engine_->enqueue(*stream.queue, std::move(operation));
}

Engine::Queue* HardwareQueues::take(int gpu, bool alone) {
  std::vector<Shared>& queues = queues_.at(static_cast<std::size_t>(gpu));
  auto least = std::min_element(queues.begin(), queues.end(),
                                [](const Shared& a, const Shared& b) { return a.streams < b.streams; });
  const auto most = static_cast<std::size_t>(alone ? 1 : std::max(1, most_));
  if (queues.size() < most && (least == queues.end() || least->streams > 0))
    least = queues.insert(queues.end(), {engine_->add_queue(), 0});
  ++least->streams;
  return least->queue;
}

void HardwareQueues::give_back(int gpu, const Engine::Queue* queue) {
  for (Shared& each : queues_.at(static_cast<std::size_t>(gpu)))
    if (each.queue == queue) --each.streams;
}

}  // namespace byteways::sim
