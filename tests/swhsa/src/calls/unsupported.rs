//! What the device does not have: images, memory of other processes and files, and memory that moves by itself. Each call
//! answers that it is not supported, and says so on standard error.
#![expect(unsafe_code, reason = "exports functions by name")]

use crate::abi::Status;
use crate::report;

/// Say what is not there.
pub(super) fn refuse(what: &str) -> Status {
    report::fail(&format!("{what} is not supported"));
    Status::NOT_SUPPORTED
}

/// Exports functions that refuse. Their arguments are not read, so none are declared: a caller in C cleans up after itself.
macro_rules! refused {
    ($($name:ident),* $(,)?) => {
        $(#[unsafe(no_mangle)]
        extern "C" fn $name() -> Status {
            refuse(stringify!($name))
        })*
    };
}

refused!(
    hsa_amd_ais_file_read,
    hsa_amd_ais_file_write,
    hsa_amd_image_create,
    hsa_amd_interop_map_buffer,
    hsa_amd_interop_unmap_buffer,
    hsa_amd_ipc_memory_attach,
    hsa_amd_ipc_memory_create,
    hsa_amd_ipc_memory_detach,
    hsa_amd_portable_export_dmabuf,
    hsa_amd_svm_attributes_get,
    hsa_amd_svm_attributes_set,
    hsa_amd_svm_prefetch_async,
    hsa_amd_vmem_export_shareable_handle,
    hsa_amd_vmem_import_shareable_handle,
    hsa_ext_image_create,
    hsa_ext_image_create_with_layout,
    hsa_ext_image_data_get_info,
    hsa_ext_image_destroy,
    hsa_ext_image_export,
    hsa_ext_image_import,
    hsa_ext_sampler_create,
    hsa_ext_sampler_create_v2,
    hsa_ext_sampler_destroy,
);
