// What entry points of the simulated HIP tell rocprofiler-sdk's tools, which the first call of HIP loads.
#pragma once
#include <cstdint>

namespace byteways::sim::rocprofiler {

// The calls of HIP that are traced, in the order of their numbers.
#define BYTEWAYS_TRACED_CALLS(call)                                                                       \
  call(hipDeviceSynchronize) call(hipEventSynchronize) call(hipExtMallocWithFlags) call(hipFree)          \
      call(hipHostFree) call(hipHostMalloc) call(hipHostRegister) call(hipHostUnregister) call(hipMalloc) \
          call(hipMallocManaged) call(hipMemcpy) call(hipMemcpy2DAsync) call(hipMemcpyAsync)              \
              call(hipMemcpyBatchAsync) call(hipMemcpyPeer) call(hipMemcpyPeerAsync) call(hipMemset)      \
                  call(hipMemsetAsync) call(hipStreamSynchronize) call(hipStreamWaitEvent)

enum class Called : std::int32_t {
#define BYTEWAYS_CALLED(name) name,
  BYTEWAYS_TRACED_CALLS(BYTEWAYS_CALLED)
#undef BYTEWAYS_CALLED
};

// Loads the tools that ROCP_TOOL_LIBRARIES names into a program that knows nothing of the simulator, once, as
// rocprofiler-register does.
void load_tools();

// A call from its beginning to its end.
class Traced {
 public:
  explicit Traced(Called call);
  ~Traced();
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;

 private:
  Called call_;
  std::uint64_t correlation_ = 0;  // 0: nobody traces it
  std::int64_t start_ns_ = 0;
};

}  // namespace byteways::sim::rocprofiler
