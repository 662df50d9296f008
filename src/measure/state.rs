//! What a device is doing at one moment.

use std::collections::BTreeSet;

use crate::energy::is_power_capped;

/// What the device was doing at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub temperature_c: f64,
    pub sm_clock_mhz: u32,
    /// Why the driver holds the clocks down, such as `SW_POWER_CAP`; empty when it does not.
    pub throttled: String,
}

impl State {
    /// One state for a spell: mean temperature and clock, and the reasons that held for half of it and more. What
    /// hampers counts even if it was seen once. `None` if nothing was seen.
    pub fn over(states: &[State]) -> Option<State> {
        let count = u32::try_from(states.len()).ok().filter(|n| *n > 0)?;
        let clocks: u32 = states.iter().map(|s| s.sm_clock_mhz).sum();
        let temperature_c = states.iter().map(|s| s.temperature_c).sum::<f64>() / f64::from(count);
        let reasons: BTreeSet<&str> = states.iter().flat_map(|s| s.throttled.split_whitespace()).collect();
        let held = |reason: &&str| {
            let times = states.iter().filter(|s| s.throttled.split_whitespace().any(|r| r == *reason)).count();
            2 * times >= states.len()
                || State { throttled: (*reason).to_owned(), ..State::default() }.is_throttled_externally()
        };
        Some(State {
            temperature_c: (temperature_c * 10.0).round() / 10.0,
            sm_clock_mhz: (clocks + count / 2) / count,
            throttled: reasons.into_iter().filter(held).collect::<Vec<_>>().join(" "),
        })
    }

    /// Whether the card's power limit holds the clocks down.
    pub fn is_capped(&self) -> bool {
        is_power_capped(&self.throttled)
    }

    /// Whether the clocks are held down by something that has nothing to do with the operator that runs: heat, or
    /// the power supply. The power cap is no such thing: an operator that reaches it always does.
    pub fn is_throttled_externally(&self) -> bool {
        ["THERMAL", "HW_SLOWDOWN", "HW_POWER_BRAKE"].iter().any(|reason| self.throttled.contains(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spell_is_capped_if_half_of_it_was() {
        let state = |temperature_c: f64, throttled: &str| State {
            temperature_c,
            sm_clock_mhz: 1500,
            throttled: throttled.into(),
        };
        let (cap, free) = (state(60.0, "SW_POWER_CAP"), state(50.0, ""));
        let half = State::over(&[cap.clone(), free.clone()]).unwrap();
        assert!(half.is_capped() && half.temperature_c == 55.0 && half.sm_clock_mhz == 1500, "{half:?}");
        assert!(!State::over(&[cap, free.clone(), free.clone()]).unwrap().is_capped());
        let hot = State::over(&[free.clone(), free.clone(), state(80.0, "SW_POWER_CAP HW_SLOWDOWN"), free]).unwrap();
        assert!(hot.is_throttled_externally() && !hot.is_capped(), "{hot:?}");
        assert_eq!(State::over(&[]), None);
    }
}
