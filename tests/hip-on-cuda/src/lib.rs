//! HIP's C interface over NVIDIA's driver and NVRTC: a library that the HIP backend loads where AMD's would be, so that what it does
//! on the host is seen on a real GPU. It proves nothing of AMD's runtime, compiler or devices.
