//! What PyTorch's operators do besides computing their results: which of their arguments they write, which they return views
//! of, and whether they draw. Read off PyTorch's own schemas by `tests/data/make_schemas.py`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// One operator per line: its name with the overload, then words.
const TABLE: &str = include_str!("effects.txt");

/// The attribute that marks a node which draws, where no operator of the table says so.
pub const DRAW: &str = "draw";

/// Something that an operator does if all of these arguments are neither 0 nor false. Without arguments, it always does.
#[derive(Debug, Default, PartialEq, Eq)]
struct Condition(Vec<Switch>);

#[derive(Debug, PartialEq, Eq)]
struct Switch {
    argument: &'static str,
    /// Whether none counts as true.
    none: bool,
}

/// What an argument says where an effect depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Neither 0 nor false, or unknown.
    On,
    /// 0 or false.
    Off,
    /// None, or left out.
    None,
}

/// The effects of one operator.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effects {
    draws: Option<Condition>,
    writes: Vec<&'static str>,
    writes_if: Condition,
    /// Arguments that results may be views of.
    pub views: Vec<&'static str>,
    /// Whether what it changes is the shape of its argument, and not the elements.
    pub reshapes: bool,
    /// Whether its results share no memory with its arguments.
    pub fresh: bool,
}

impl Condition {
    fn holds(&self, given: impl Fn(&str) -> Given) -> bool {
        self.0.iter().all(|switch| match given(switch.argument) {
            Given::On => true,
            Given::Off => false,
            Given::None => switch.none,
        })
    }

    fn parse(text: Option<&'static str>) -> Option<Self> {
        let switch = |word: &'static str| {
            let (argument, none) = match word.split_once('|') {
                Some((argument, "none")) => (argument, true),
                Some(_) => return None,
                None => (word, false),
            };
            Some(Switch { argument, none })
        };
        text.map_or(Some(Condition::default()), |text| {
            text.split(',').map(switch).collect::<Option<_>>().map(Condition)
        })
    }
}

impl Effects {
    /// Whether a call with these arguments gives something else each time: it draws random numbers, or gives memory as
    /// it finds it.
    pub fn draws(&self, given: impl Fn(&str) -> Given) -> bool {
        self.draws.as_ref().is_some_and(|condition| condition.holds(given))
    }

    /// The arguments that a call writes.
    pub fn writes(&self, given: impl Fn(&str) -> Given) -> &[&'static str] {
        if self.writes_if.holds(given) { &self.writes } else { &[] }
    }

    fn parse(words: &'static str) -> Option<Self> {
        let mut effects = Effects::default();
        for word in words.split(' ') {
            let (head, condition) = match word.split_once('?') {
                Some((head, condition)) => (head, Some(condition)),
                None => (word, None),
            };
            let list = |names: &'static str| names.split(',').collect();
            match (head.split_once('='), head, condition) {
                (Some(("write", names)), ..) => {
                    effects.writes = list(names);
                    effects.writes_if = Condition::parse(condition)?;
                }
                (Some(("view", names)), _, None) => effects.views = list(names),
                (None, "draw", _) => effects.draws = Some(Condition::parse(condition)?),
                (None, "shape", None) => effects.reshapes = true,
                (None, "fresh", None) => effects.fresh = true,
                _ => return None,
            }
        }
        Some(effects)
    }
}

fn parse(line: &'static str) -> Option<(&'static str, Effects)> {
    let (name, words) = line.split_once(' ')?;
    Some((name, Effects::parse(words)?))
}

static EFFECTS: LazyLock<FxHashMap<&'static str, Effects>> =
    LazyLock::new(|| TABLE.lines().filter_map(parse).collect());

/// The effects of the operator of that name, such as `aten.add_.Tensor`; `None` if it only computes, or is not known.
pub fn effects(name: &str) -> Option<&'static Effects> {
    EFFECTS.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> &'static Effects {
        effects(name).unwrap_or_else(|| panic!("{name} is not in the table"))
    }

    fn on(_: &str) -> Given {
        Given::On
    }

    #[test]
    fn every_line_is_read() {
        assert!(TABLE.lines().count() > 1500);
        for line in TABLE.lines() {
            assert!(parse(line).is_some(), "{line}");
        }
        assert_eq!(EFFECTS.len(), TABLE.lines().count());
    }

    #[test]
    fn other_words_are_refused() {
        for line in ["aten.x", "aten.x fresh?train", "aten.x draw?p|zero", "aten.x writes=self", "aten.x "] {
            assert!(parse(line).is_none(), "{line}");
        }
    }

    #[test]
    fn operators_draw_under_their_conditions() {
        for name in
            ["aten.rand_like", "aten.bernoulli.p", "aten.normal_", "aten.multinomial", "aten.empty.memory_format"]
        {
            assert!(of(name).draws(|_| Given::Off), "{name}");
        }
        for (name, switch) in [("aten.lstm.input", "dropout"), ("aten.dropout", "train"), ("aten.rrelu", "training")] {
            assert!(of(name).draws(on), "{name}");
            assert!(!of(name).draws(|a| if a == switch { Given::Off } else { Given::On }), "{name}");
        }
        let attention = of("aten.scaled_dot_product_attention");
        assert!(attention.draws(on) && !attention.draws(|_| Given::None));
        assert!(of("aten.native_dropout").draws(|a| if a == "train" { Given::None } else { Given::On }));
        assert!(effects("aten.relu").is_none());
    }

    #[test]
    fn operators_write_what_their_schema_says() {
        assert_eq!(of("aten.add_.Tensor").writes(on), ["self"]);
        assert_eq!(of("aten.add.out").writes(on), ["out"]);
        assert_eq!(of("aten._foreach_add_.Scalar").writes(on), ["self"]);
        for name in ["aten.batch_norm", "aten.instance_norm", "aten._native_batch_norm_legit", "aten.native_batch_norm"]
        {
            assert_eq!(of(name).writes(on), ["running_mean", "running_var"], "{name}");
            assert!(of(name).writes(|_| Given::Off).is_empty(), "{name}");
        }
        assert!(effects("aten._native_batch_norm_legit_functional").is_none());
        assert!(of("aten.transpose_").reshapes && !of("aten.add_.Tensor").reshapes);
    }

    #[test]
    fn views_show_their_argument() {
        assert_eq!(of("aten.select.int").views, ["self"]);
        assert_eq!(of("aten.split.Tensor").views, ["self"]);
        assert!(effects("aten.clone").is_none());
        assert!(of("aten.batch_norm").fresh && of("aten.lstm.input").fresh && !of("aten.dropout").fresh);
    }
}
