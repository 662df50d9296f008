//! What one measurement saw, as the windows of a run hold it.

use serde::{Deserialize, Serialize};

use super::meter::{MeterError, Point, fit_power};
use super::rounded::rounded;
use super::state::State;
use crate::energy::{PacedEntry, Protocol, Run};

/// What one measurement saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub points: Vec<Point>,
    /// Mean over the changes of the meter.
    pub temperature_c: f64,
    pub sm_clock_mhz: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub launch_bound: bool,
    /// Recorded in large pieces, which the device works off without the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub throttled: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paced: Option<Paced>,
}

/// What was seen while a load ran with pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paced {
    pub points: Vec<Point>,
    /// Share of the time in which it ran.
    pub busy: f64,
    pub temperature_c: f64,
    pub sm_clock_mhz: u32,
}

impl Paced {
    /// Energy and time per execution without the pauses, in which the device draws the run's power at rest.
    pub(super) fn entry(&self, run: &Run, protocol: &Protocol) -> Result<PacedEntry, MeterError> {
        let r = fit_power(&self.points, protocol.min_half_width, run.counter_s)?;
        let pauses_mj = run.idle_w * (1.0 - self.busy) * r.time_us.mean * 1e-3;
        let energy_mj = r.energy_mj.map(|e| (e - pauses_mj).max(0.0));
        let time_us = r.time_us.map(|t| t * self.busy);
        if !(energy_mj.mean > 0.0 && time_us.mean > 0.0) {
            return Err(MeterError::TooShort(self.points.len()));
        }
        Ok(PacedEntry {
            energy_mj: energy_mj.map(rounded),
            time_us: time_us.map(rounded),
            watts: rounded(energy_mj.mean / time_us.mean * 1e3),
            sm_clock_mhz: self.sm_clock_mhz,
        })
    }
}

impl Measurement {
    /// What the device was doing meanwhile.
    pub(super) fn state(&self) -> State {
        State { temperature_c: self.temperature_c, sm_clock_mhz: self.sm_clock_mhz, throttled: self.throttled.clone() }
    }
}
