/* What a program of the tests is linked with in place of libamdhip64: its functions fail. */
#define STUB(name) \
  int name(void) { return 999; }
STUB(hipGetDeviceCount)
STUB(hipSetDevice)
STUB(hipDeviceEnablePeerAccess) STUB(hipMalloc) STUB(hipFree) STUB(hipHostMalloc) STUB(hipHostFree)
    STUB(hipHostRegister) STUB(hipHostUnregister) STUB(hipStreamCreate) STUB(hipStreamSynchronize)
        STUB(hipStreamDestroy) STUB(hipStreamQuery) STUB(hipMemcpy) STUB(hipMemcpyAsync)
            STUB(hipMemcpyPeerAsync) STUB(hipMemcpyHtoD) STUB(hipMemcpyDtoH) STUB(hipEventCreate)
                STUB(hipEventRecord) STUB(hipEventSynchronize) STUB(hipDeviceSynchronize) STUB(hipMemset)
                    STUB(hipMallocHost) STUB(hipFreeHost) STUB(hipDeviceReset)
