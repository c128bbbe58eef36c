"""The machine: devices, links, routes and capacities, from this node's sources or from files of other
programs. README.md says where to begin.
"""

#: Modules that other packages may import; the rest is this package's own.
FACE = (
    "cached",
    "capacity",
    "device_names",
    "discovery",
    "facts",
    "foreign",
    "foreign_text",
    "gpu_caches",
    "kfd",
    "kfd_described",
    "link_counters",
    "link_rates",
    "machine_saver",
    "model",
    "nccl_xml_writer",
    "nics",
    "nominal",
    "nvml",
    "outliers",
    "packages",
    "routes",
    "saved_machine",
    "smbios",
    "sysfs_cpu",
    "sysfs_health",
    "sysfs_pcie",
    "unusable_gpus",
)
