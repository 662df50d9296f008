//! The switches that make calls part, for the regions of a comparison.

use super::flags::read_as;
use crate::report::{Region, Switch};
use crate::source::Sources;

/// Adds the switches that the sources at hand show, once for regions that are the same, and the flags that they read.
pub(crate) fn name_switches(regions: &mut [Region], sources: &Sources) {
    for i in 0..regions.len() {
        regions[i].cause.switch = match regions[i].same_as {
            Some(first) => regions.get(first - 1).and_then(|first| first.cause.switch.clone()),
            // A math flag is no way that calls take.
            None if regions[i].cause.kind == "flag" => None,
            None => sources.switch(&regions[i].cause.paths),
        };
        let cause = &mut regions[i].cause;
        if let (None, Some((flag, how))) = (&cause.flag, cause.switch.as_ref().and_then(flag_of)) {
            (cause.flag, cause.how) = (Some(flag.to_owned()), Some(how.to_owned()));
        }
    }
}

/// The flag that a switch reads, and how it is set.
fn flag_of(switch: &Switch) -> Option<(&'static str, &'static str)> {
    switch.variables.iter().find_map(|variable| read_as(&switch.expression.file, &variable.name))
}
