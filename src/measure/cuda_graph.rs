//! CUDA graphs: executions recorded once, then worked off by the device without the host.
//!
//! `tch` has none. The CUDA runtime has a C interface for them, and of libtorch it takes two functions that choose the
//! stream its kernels go to. All are looked up at run time, in the libraries that libtorch's CUDA half brings along: where
//! one is missing, nothing is recorded.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use crate::libtorch::find;
use crate::ops::replay::ReplayError;

/// libtorch's `c10::cuda::CUDAStream`: a device (type and number, a byte each) and the number of a stream.
#[repr(C)]
#[derive(Clone, Copy)]
struct TorchStream {
    device_type: i8,
    device: i8,
    id: i64,
}

type Stream = *mut c_void;
type Graph = *mut c_void;
type Executable = *mut c_void;

/// Other threads may use the device meanwhile, and memory may be allocated.
const CAPTURE_RELAXED: c_int = 2;

const SUCCESS: c_int = 0;

/// The functions in use, under their names in the libraries.
#[derive(Clone, Copy)]
struct Api {
    begin: unsafe extern "C" fn(Stream, c_int) -> c_int,
    end: unsafe extern "C" fn(Stream, *mut Graph) -> c_int,
    instantiate: unsafe extern "C" fn(*mut Executable, Graph, u64) -> c_int,
    launch: unsafe extern "C" fn(Executable, Stream) -> c_int,
    destroy: unsafe extern "C" fn(Graph) -> c_int,
    destroy_executable: unsafe extern "C" fn(Executable) -> c_int,
    last_error: unsafe extern "C" fn() -> c_int,
}

/// A stream of its own that libtorch works on, and graphs of what goes through it.
#[derive(Clone, Copy)]
pub(super) struct CudaGraphs {
    api: Api,
    stream: Stream,
}

impl CudaGraphs {
    /// Gives libtorch a stream of its own on GPU number `device`, for this thread: what goes to the default stream cannot be
    /// recorded. `None` where the libraries lack a function; libtorch then stays on its default stream.
    pub(super) fn open(device: usize) -> Option<CudaGraphs> {
        let (device, number) = (i8::try_from(device).ok()?, c_int::try_from(device).ok()?);
        // SAFETY: the types are those of CUDA's `driver_types.h` and `cuda_runtime_api.h` since version 12, and of libtorch's
        // `CUDAStream.h`: `getStreamFromPool(bool, DeviceIndex)`, `setCurrentCUDAStream(CUDAStream)` and
        // `CUDAStream::stream() const`. `CUDAStream` is 16 bytes that can be copied, so it goes through registers as here.
        unsafe {
            let api = Api {
                begin: find(c"cudaStreamBeginCapture")?,
                end: find(c"cudaStreamEndCapture")?,
                instantiate: find(c"cudaGraphInstantiate")?,
                launch: find(c"cudaGraphLaunch")?,
                destroy: find(c"cudaGraphDestroy")?,
                destroy_executable: find(c"cudaGraphExecDestroy")?,
                last_error: find(c"cudaGetLastError")?,
            };
            let from_pool: unsafe extern "C" fn(bool, i8) -> TorchStream = find(c"_ZN3c104cuda17getStreamFromPoolEba")?;
            let make_current: unsafe extern "C" fn(TorchStream) =
                find(c"_ZN3c104cuda20setCurrentCUDAStreamENS0_10CUDAStreamE")?;
            let raw: unsafe extern "C" fn(*const TorchStream) -> Stream = find(c"_ZNK3c104cuda10CUDAStream6streamEv")?;
            let choose: unsafe extern "C" fn(c_int) -> c_int = find(c"cudaSetDevice")?;
            if choose(number) != SUCCESS {
                return None;
            }
            let stream = from_pool(false, device);
            make_current(stream);
            Some(CudaGraphs { api, stream: raw(&stream) })
        }
    }

    /// Records what `work` sends to the device; nothing of it runs. `None` where that cannot be recorded, as with operators
    /// that wait for a result on the host. Whatever memory the kernels use has to stay theirs while the record lives.
    pub(super) fn record(&self, work: impl FnOnce() -> Result<(), ReplayError>) -> Option<Recorded> {
        let Api { begin, end, instantiate, destroy, last_error, .. } = self.api;
        let (mut graph, mut executable) = (null_mut(), null_mut());
        // SAFETY: the stream lives as long as the process; `graph` is used only where the call before gave one.
        unsafe {
            if begin(self.stream, CAPTURE_RELAXED) != SUCCESS {
                last_error();
                return None;
            }
            let sent = work();
            let mut done = end(self.stream, &mut graph) == SUCCESS && sent.is_ok();
            if !graph.is_null() {
                done = done && instantiate(&mut executable, graph, 0) == SUCCESS;
                destroy(graph);
            }
            // A failure would show up in the next call of libtorch.
            last_error();
            (done && !executable.is_null()).then_some(Recorded { graphs: *self, executable })
        }
    }
}

/// A record that can be launched.
pub(super) struct Recorded {
    graphs: CudaGraphs,
    executable: Executable,
}

impl Recorded {
    /// Queues all of it; false if CUDA refuses.
    pub(super) fn launch(&self) -> bool {
        // SAFETY: the executable lives until `self` is dropped.
        unsafe { (self.graphs.api.launch)(self.executable, self.graphs.stream) == SUCCESS }
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        // SAFETY: CUDA keeps an executable that still runs until it is done.
        unsafe {
            (self.graphs.api.destroy_executable)(self.executable);
        }
    }
}
