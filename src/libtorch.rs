//! The parts of libtorch that `tch` does not expose: loading its CUDA half, its version, the TF32 switches.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use miette::Diagnostic;
use thiserror::Error;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;

    // C++ functions of libtorch under their mangled names. `Context` is only ever handled by its address.
    #[link_name = "_ZN2at13globalContextEv"]
    fn at_global_context() -> *mut c_void;
    #[link_name = "_ZN2at7Context18setAllowTF32CuBLASEb"]
    fn at_context_set_allow_tf32_cublas(context: *mut c_void, allow: bool);
    #[link_name = "_ZN2at7Context17setAllowTF32CuDNNEb"]
    fn at_context_set_allow_tf32_cudnn(context: *mut c_void, allow: bool);

    fn aoti_torch_abi_version() -> u64;
}

const RTLD_LAZY: c_int = 1;
const RTLD_GLOBAL: c_int = 0x100;

/// The libtorch version that this program is built against.
pub(crate) const VERSION: &str = "2.11.0";

/// Why libtorch cannot use a GPU.
#[derive(Debug, Error, Diagnostic)]
pub enum LibtorchError {
    #[error("libtorch_cuda.so cannot be loaded")]
    #[diagnostic(
        code(measure::no_cuda_library),
        help("put the `lib` folder of a CUDA build of libtorch {version} on LD_LIBRARY_PATH")
    )]
    NoCudaLibrary { version: &'static str },
    #[error("libtorch sees no GPU")]
    #[diagnostic(code(measure::no_cuda), help("see whether `nvidia-smi` lists one and CUDA_VISIBLE_DEVICES shows it"))]
    NoCuda,
    #[error("the libtorch that was loaded is {found}, this program was built against {wanted}")]
    #[diagnostic(
        code(measure::other_libtorch),
        help("put the `lib` folder of libtorch {wanted} on LD_LIBRARY_PATH, or build the program against {found}")
    )]
    OtherLibtorch { found: String, wanted: &'static str },
}

/// Loads libtorch's CUDA half, which nothing links by name, and sees that a GPU answers.
///
/// Has to run before anything else asks libtorch for a GPU: the first answer, "none", would stay.
pub(crate) fn load_cuda() -> Result<(), LibtorchError> {
    want_version(loaded_version())?;
    const FILE: &CStr = c"libtorch_cuda.so";
    // SAFETY: the name is a C string; libtorch's own static initialisers are all that runs.
    let handle = unsafe { dlopen(FILE.as_ptr(), RTLD_LAZY | RTLD_GLOBAL) };
    match () {
        () if handle.is_null() => Err(LibtorchError::NoCudaLibrary { version: VERSION }),
        () if tch::Cuda::is_available() => Ok(()),
        () => Err(LibtorchError::NoCuda),
    }
}

/// The version of the libtorch that was loaded: a byte each for major, minor and patch from the top on.
#[must_use]
pub fn loaded_version() -> u64 {
    // SAFETY: takes nothing and gives a constant of the library.
    unsafe { aoti_torch_abi_version() }
}

/// Fails if the loaded libtorch is another one than this program was built against: its kernels would be measured under
/// the wrong name.
///
/// # Errors
/// Says which version was found, and which one is wanted.
pub fn want_version(loaded: u64) -> Result<(), LibtorchError> {
    let [major, minor, patch, ..] = loaded.to_be_bytes();
    let found = format!("{major}.{minor}.{patch}");
    if found == VERSION { Ok(()) } else { Err(LibtorchError::OtherLibtorch { found, wanted: VERSION }) }
}

/// Looks a function up in the libraries that are loaded; `None` where none has it.
///
/// # Safety
/// `F` is the type of the function of that name, as a function pointer.
pub(crate) unsafe fn find<F: Copy>(name: &CStr) -> Option<F> {
    // SAFETY: a null handle stands for all loaded libraries; the name is a C string.
    let address = unsafe { dlsym(null_mut(), name.as_ptr()) };
    // SAFETY: the caller says that `F` is the function pointer; both are as wide as an address.
    (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
}

/// Where CUDA's GPU number `index` sits, such as `0000:1b:00.0`; `None` if there is no such GPU.
pub(crate) fn bus_id(index: u32) -> Option<String> {
    const LENGTH: usize = 32;
    let mut text = [0u8; LENGTH];
    // SAFETY: the type is that of CUDA's `cuda_runtime_api.h`; the text has room for as many bytes as it is told.
    let status = unsafe {
        let ask: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int = find(c"cudaDeviceGetPCIBusId")?;
        ask(text.as_mut_ptr().cast(), LENGTH as c_int, c_int::try_from(index).ok()?)
    };
    let text = CStr::from_bytes_until_nul(&text).ok().filter(|_| status == 0)?;
    Some(text.to_string_lossy().into_owned())
}

/// Waits until the device has done all its work; false if it failed. `tch`'s own call panics then.
pub(crate) fn synchronize() -> bool {
    // SAFETY: the type is that of CUDA's `cuda_runtime_api.h`; the call takes nothing. Without CUDA there is nothing to wait for.
    unsafe {
        let wait: Option<unsafe extern "C" fn() -> c_int> = find(c"cudaDeviceSynchronize");
        wait.is_none_or(|wait| wait() == 0)
    }
}

/// Sets whether f32 products may use TF32, in cuBLAS and in cuDNN.
pub(crate) fn allow_tf32(cublas: bool, cudnn: bool) {
    // SAFETY: `globalContext` returns a reference to a static, and both setters are members of its class that take a
    // bool, as they have been since libtorch 1.7; the linker refuses a libtorch without them.
    unsafe {
        let context = at_global_context();
        at_context_set_allow_tf32_cublas(context, cublas);
        at_context_set_allow_tf32_cudnn(context, cudnn);
    }
}

/// The CUDA runtime version of libtorch, such as `13.0`.
pub(crate) fn cuda_version() -> String {
    let version = tch::utils::version_cudart();
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
