// Compares the declarations of runtimes/ucx/table.hpp with the headers of an installed UCX. It is compiled
// only.
#include <ucp/api/ucp.h>

#include <cstddef>

#include "runtimes/ucx/table.hpp"

namespace {

using byteways::ucx::Table;
namespace ours = byteways::ucx;

#define SAME_PLACE(mine, field, theirs, member)                     \
  static_assert(offsetof(mine, field) == offsetof(theirs, member)); \
  static_assert(sizeof(mine::field) == sizeof(theirs::member))

SAME_PLACE(Table::Params, field_mask, ucp_params_t, field_mask);
SAME_PLACE(Table::Params, features, ucp_params_t, features);
SAME_PLACE(Table::WorkerParams, field_mask, ucp_worker_params_t, field_mask);
SAME_PLACE(Table::WorkerParams, thread_mode, ucp_worker_params_t, thread_mode);
SAME_PLACE(Table::EndpointParams, field_mask, ucp_ep_params_t, field_mask);
SAME_PLACE(Table::EndpointParams, address, ucp_ep_params_t, address);
SAME_PLACE(Table::MapParams, field_mask, ucp_mem_map_params_t, field_mask);
SAME_PLACE(Table::MapParams, address, ucp_mem_map_params_t, address);
SAME_PLACE(Table::MapParams, length, ucp_mem_map_params_t, length);
SAME_PLACE(Table::Transport, transport, ucp_transport_entry_t, transport_name);
SAME_PLACE(Table::Transport, device, ucp_transport_entry_t, device_name);
SAME_PLACE(Table::EndpointAttributes, field_mask, ucp_ep_attr_t, field_mask);
SAME_PLACE(Table::EndpointAttributes, entries, ucp_ep_attr_t, transports.entries);
SAME_PLACE(Table::EndpointAttributes, count, ucp_ep_attr_t, transports.num_entries);
SAME_PLACE(Table::EndpointAttributes, entry_bytes, ucp_ep_attr_t, transports.entry_size);
SAME_PLACE(Table::RequestParam, op_attr_mask, ucp_request_param_t, op_attr_mask);

// What the library may read or write lies within.
static_assert(sizeof(Table::Params) >= sizeof(ucp_params_t));
static_assert(sizeof(Table::WorkerParams) >= sizeof(ucp_worker_params_t));
static_assert(sizeof(Table::EndpointParams) >= sizeof(ucp_ep_params_t));
static_assert(sizeof(Table::MapParams) >= sizeof(ucp_mem_map_params_t));
static_assert(sizeof(Table::EndpointAttributes) >= sizeof(ucp_ep_attr_t));
static_assert(sizeof(Table::RequestParam) >= sizeof(ucp_request_param_t));

static_assert(sizeof(ucs_status_t) == sizeof(Table::Status));
static_assert(ours::kOk == UCS_OK && ours::kInProgress == UCS_INPROGRESS && ours::kLast == UCS_ERR_LAST);
static_assert(ours::kNoMemory == UCS_ERR_NO_MEMORY && ours::kUnreachable == UCS_ERR_UNREACHABLE);
static_assert(ours::kFeatures == UCP_PARAM_FIELD_FEATURES);
static_assert(ours::kTag == UCP_FEATURE_TAG && ours::kRma == UCP_FEATURE_RMA);
static_assert(ours::kThreadMode == UCP_WORKER_PARAM_FIELD_THREAD_MODE);
static_assert(ours::kSingle == UCS_THREAD_MODE_SINGLE);
static_assert(ours::kRemoteAddress == UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);
static_assert(ours::kAddress == UCP_MEM_MAP_PARAM_FIELD_ADDRESS);
static_assert(ours::kLength == UCP_MEM_MAP_PARAM_FIELD_LENGTH);
static_assert(ours::kTransports == UCP_EP_ATTR_FIELD_TRANSPORTS);

}  // namespace
