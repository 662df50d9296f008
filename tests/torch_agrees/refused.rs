//! What libtorch refuses is an error, and no panic.

use magneton_ir::ir::Number;
use magneton_ir::libtorch::{LibtorchError, loaded_version, want_version};
use magneton_ir::ops::scalars::{arange, baddbmm, clamp, fill, pow, variance};
use miette::Diagnostic;
use tch::Tensor;

#[test]
fn a_number_that_libtorch_refuses_is_an_error_and_no_panic() {
    let bytes = Tensor::from_slice(&[1_i8, 2]);
    let (large, negative) = (Number::Int(1 << 40), Number::Int(-1));
    assert!(pow(&bytes, large).is_err());
    assert!(pow(&bytes, negative).is_err());
    assert!(clamp(&bytes, Some(large), None).is_err());
    assert!(clamp(&bytes, None, Some(large)).is_err());
    assert!(clamp(&bytes, Some(negative), Some(large)).is_err());
    assert!(fill(bytes.shallow_clone(), large).is_err());
    assert!(variance(&bytes, &[0], 1.0, false).is_err());
    assert!(arange(Number::Int(0), Number::Int(3), Number::Int(0), &bytes).is_err());
    assert!(baddbmm(&bytes, &bytes, &bytes, negative, negative).is_err());
    // Nothing of that is left for a later call to find.
    let power = pow(&bytes, Number::Int(3)).unwrap();
    assert_eq!(Vec::<i8>::try_from(power).unwrap(), [1, 8]);
}

#[test]
fn another_libtorch_is_refused_by_its_version() {
    assert!(want_version(loaded_version()).is_ok());
    let error = want_version(0x020a_0100 << 32).unwrap_err();
    assert!(matches!(&error, LibtorchError::OtherLibtorch { found, .. } if found == "2.10.1"), "{error}");
    assert!(error.help().is_some());
}
