//! Operators of libtorch that take numbers.
//!
//! `tch` has them too, and its calls panic where libtorch refuses: it lets go of the numbers before it asks what went wrong.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use tch::{TchError, Tensor};
use torch_sys::{C_scalar, C_tensor, at_device, at_scalar_type, ats_float, ats_free, ats_int, c_generated as calls};

use crate::ir::Number;

type Result<T> = std::result::Result<T, TchError>;

unsafe extern "C" {
    fn free(memory: *mut c_void);
}

/// A number as libtorch holds it.
struct Scalar(*mut C_scalar);

impl Scalar {
    fn new(number: Number) -> Self {
        // SAFETY: both take a plain number and give a new object.
        Scalar(match number {
            Number::Int(value) => unsafe { ats_int(value) },
            Number::Float(value) => unsafe { ats_float(value.0) },
        })
    }
}

impl Drop for Scalar {
    fn drop(&mut self) {
        // SAFETY: the object was made by `new` and is not used any more.
        unsafe { ats_free(self.0) }
    }
}

/// What went wrong in the last call of this thread, if anything.
fn last_error() -> Result<()> {
    // SAFETY: takes nothing; what it gives is null, or a C string that is ours to free.
    unsafe {
        let message: *mut c_char = torch_sys::get_and_reset_last_err();
        if message.is_null() {
            return Ok(());
        }
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        free(message.cast());
        Err(TchError::Torch(text))
    }
}

/// The address of a tensor, as libtorch's calls take it.
fn at(tensor: &Tensor) -> *mut C_tensor {
    tensor.as_ptr().cast_mut()
}

/// The tensor that `call` leaves at the address which it gets.
///
/// # Safety
/// `call` leaves a new tensor there, or an error for [`last_error`].
unsafe fn made<const N: usize>(
    numbers: [Number; N],
    call: impl FnOnce(*mut *mut C_tensor, [*mut C_scalar; N]),
) -> Result<Tensor> {
    let mut out = null_mut();
    let scalars = numbers.map(Scalar::new);
    call(&mut out, scalars.each_ref().map(|s| s.0));
    last_error()?;
    // SAFETY: there was no error, so the call has left a new tensor.
    Ok(unsafe { Tensor::from_ptr(out) })
}

/// `x` to a power.
pub fn pow(x: &Tensor, exponent: Number) -> Result<Tensor> {
    // SAFETY: tensor and number live until the call is over.
    unsafe { made([exponent], |out, [exponent]| calls::atg_pow_tensor_scalar(out, at(x), exponent)) }
}

/// `x` limited by the given bounds, of which there is at least one.
pub fn clamp(x: &Tensor, min: Option<Number>, max: Option<Number>) -> Result<Tensor> {
    // SAFETY: tensor and numbers live until the call is over.
    unsafe {
        match (min, max) {
            (Some(min), Some(max)) => made([min, max], |out, [min, max]| calls::atg_clamp(out, at(x), min, max)),
            (Some(min), None) => made([min], |out, [min]| calls::atg_clamp_min(out, at(x), min)),
            (None, Some(max)) => made([max], |out, [max]| calls::atg_clamp_max(out, at(x), max)),
            (None, None) => x.f_alias(),
        }
    }
}

/// `x` with all elements set to `value`.
pub fn fill(x: Tensor, value: Number) -> Result<Tensor> {
    // SAFETY: tensor and number live until the call is over.
    unsafe { made([value], |out, [value]| calls::atg_fill_(out, at(&x), value)) }
}

/// `beta b + alpha x y`, batch by batch.
pub fn baddbmm(b: &Tensor, x: &Tensor, y: &Tensor, beta: Number, alpha: Number) -> Result<Tensor> {
    // SAFETY: tensors and numbers live until the call is over.
    unsafe { made([beta, alpha], |out, [beta, alpha]| calls::atg_baddbmm(out, at(b), at(x), at(y), beta, alpha)) }
}

/// The variance over some dimensions: the sum of squares divided by `correction` less than there are elements.
pub fn variance(x: &Tensor, dims: &[i64], correction: f64, keep: bool) -> Result<Tensor> {
    let (start, length) = (dims.as_ptr(), dims.len() as c_int);
    // SAFETY: tensor, list and number live until the call is over; the list is as long as the call is told.
    unsafe {
        made([Number::float(correction)], |out, [correction]| {
            calls::atg_var_correction(out, at(x), start, length, correction, c_int::from(keep));
        })
    }
}

/// `start`, `start + step`, … up to `end`, of the type and on the device of `like`.
pub fn arange(start: Number, end: Number, step: Number, like: &Tensor) -> Result<Tensor> {
    // SAFETY: the tensor lives until the calls are over, the numbers too.
    unsafe {
        let (kind, device) = (at_scalar_type(at(like)), at_device(at(like)));
        made([start, end, step], |out, [start, end, step]| {
            calls::atg_arange_start_step(out, start, end, step, kind, device);
        })
    }
}

/// `steps` numbers from `start` to `end`, of the type and on the device of `like`.
pub(super) fn linspace(start: Number, end: Number, steps: i64, like: &Tensor) -> Result<Tensor> {
    // SAFETY: the tensor lives until the calls are over, the numbers too.
    unsafe {
        let (kind, device) = (at_scalar_type(at(like)), at_device(at(like)));
        made([start, end], |out, [start, end]| calls::atg_linspace(out, start, end, steps, kind, device))
    }
}

/// The length of order `ord` over some dimensions.
pub(super) fn norm(x: &Tensor, ord: f64, dims: &[i64], keep: bool) -> Result<Tensor> {
    let (start, length) = (dims.as_ptr(), dims.len() as c_int);
    // SAFETY: tensor, list and number live until the call is over; the list is as long as the call is told.
    unsafe {
        made([Number::float(ord)], |out, [ord]| {
            calls::atg_norm_scalaropt_dim(out, at(x), ord, start, length, c_int::from(keep));
        })
    }
}
