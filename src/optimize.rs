//! One workload by itself: cheaper equivalents that the rules prove.

use std::sync::Arc;

use crate::check::{FROZEN, described, precomputed};
use crate::diagnose::Part;
use crate::energy::{Bill, Calls, Cost, CostModel, Item, Objective, Weights, graph_items};
use crate::explain::{Form, ValueLayouts, form_of, proof_of};
pub use crate::extract::Once;
use crate::extract::{self, Applied, FormSearch, Improved, Rewrite, SLOWER};
use crate::ir::{Contents, Graph, GraphError, NodeId, NodeKind};
use crate::prove::{Context, KnownMasks, ProveError, Said, grouped};
use crate::report::{Cheaper, Figure, Launched, LeftOut, Optimization, Point, Step};
use crate::rules::Tier;
use miette::Diagnostic;
use rustc_hash::FxHashMap;

/// Kinds of slower forms that are tried together.
const MAX_TRADE_OFFS: usize = 8;

/// What was found for a graph.
pub struct Optimized {
    /// What reports show.
    pub optimization: Optimization,
    /// The graph that the search was given, with all cheaper forms in place.
    pub rewritten: Graph,
    /// The same in two parts, where some of it is computed once.
    pub once: Option<Once>,
    /// What forms are chosen by.
    aim: Aim,
    /// What the graph costs without them, with what is the same at every execution computed once.
    frozen: Cost,
    /// Each with the names of the rewritten graph's nodes that were made for it.
    rewrites: Vec<(Rewrite, Vec<Arc<str>>)>,
    /// Forms that take less energy and more time, none of which is in place.
    slower: Vec<Rewrite>,
}

/// What forms are chosen by.
#[derive(Clone, Copy)]
struct Aim {
    objective: Objective,
    weights: Weights,
}

/// Why no cheaper forms can be looked for.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[allow(missing_docs, reason = "the message of each variant says it")]
pub enum OptimizeError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Prove(#[from] ProveError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Graph(#[from] GraphError),
}

/// What forms have to save, relative to the workload, for a second look where they take too long to launch.
const SECOND_LOOK: f64 = 0.05;

/// Looks for forms of parts of `graph` that take less of what `objective` names. `tier` is the weakest tier that a proof may use.
///
/// # Errors
/// Graphs that are ill-typed.
pub fn optimize(
    graph: &Graph,
    context: &Context,
    tier: Tier,
    objective: Objective,
    costs: &CostModel,
) -> Result<Optimized, OptimizeError> {
    context.progress.stage("looking for cheaper forms");
    let rules = context.rules.up_to(tier);
    let items = graph_items(graph, costs);
    let weights = objective.weights(&items.iter().collect::<Bill>().total());
    let frozen = Improved::new(graph, Vec::new(), costs, weights)?;
    let context = Context { rules: &rules, ..*context };
    let look = |beside: Option<(Calls, f64)>| -> Result<Optimized, OptimizeError> {
        let forms = FormSearch::Thorough;
        let found = extract::cheaper_forms(graph, &frozen.items, &context, costs, weights, forms, beside);
        let mut rewrites = found.map_err(ProveError::from)?;
        // That values may leave the range of a type is only known at the end; of errors inside of a graph, no bound is known.
        rewrites.retain(|rewrite| tier.refuses(rewrite.tier, None).is_none());
        let [rewrites, slower] = worth_launching(graph, &frozen.items, rewrites, costs, weights)?;
        let frozen = frozen.total();
        let improved = extract::pay_off(graph, &frozen, rewrites, costs, weights)?;
        let found = summary(graph, &items, frozen, improved, costs, Aim { objective, weights });
        Ok(Optimized { slower, ..found })
    };
    let mut found = look(None)?;
    // Forms that save much and take too long to launch may have others beside them that are launched in less time. Those are found
    // where a call counts what it does once the kernels take no longer than theirs.
    let refused: f64 = found.slower.iter().map(|rewrite| rewrite.saves(weights)).sum();
    if refused > SECOND_LOOK * weights.cost(&frozen.total()) {
        let all = found.in_place().chain(found.slower.iter().cloned()).collect();
        let improved = Improved::new(graph, all, costs, weights)?;
        let (executed, items_after) = improved.executed();
        let kernels = items_after.iter().collect::<Bill>().total().time_us;
        if kernels.is_known() {
            let second = look(Some((Calls::of_graph(executed, items_after), kernels.value)))?;
            if costs_less(&second.optimization, &found.optimization) {
                found = second;
            }
        }
    }
    found.trade_offs(graph, &items, costs)?;
    Ok(found)
}

/// Searches `graph` with the causal masks that its file holds as part of it: a form may leave them out, and one that would compute them reads
/// the buffers instead. Gives the graph that was searched, what was found, and what is taken for granted.
///
/// # Errors
/// As `search`.
pub fn with_known_masks<E>(
    graph: &Graph,
    contents: &mut dyn Contents,
    search: impl Fn(&Graph) -> Result<Optimized, E>,
) -> Result<(Graph, Optimized, Option<String>), E> {
    let mut masks = KnownMasks::read(graph, contents);
    loop {
        let with_masks = masks.put_into(graph);
        let found = search(&with_masks)?;
        if !masks.forget_computed(&found.rewritten) {
            return Ok((with_masks, found, masks.assumption()));
        }
    }
}

/// Those that save what counts on any host that launches them one by one: a form of more operators may cost more waiting than
/// its kernels save. Second, those of these that are slower: with longer kernels, or because the host takes longer to launch them than the
/// energy that they save is worth.
fn worth_launching(
    graph: &Graph,
    items: &[Item],
    rewrites: Vec<Rewrite>,
    costs: &CostModel,
    weights: Weights,
) -> Result<[Vec<Rewrite>; 2], GraphError> {
    let kernels = items.iter().collect::<Bill>().total();
    let is_slower = |rewrite: &Rewrite| weights.is_energy() && rewrite.is_trade_off();
    let Some(host) = costs.host().filter(|_| kernels.time_us.is_known()) else {
        let (slower, rewrites) = rewrites.into_iter().partition(is_slower);
        return Ok([rewrites, slower]);
    };
    let Improved { rewrites, applied, items: items_after, .. } = Improved::new(graph, rewrites, costs, weights)?;
    let Applied { graph: rewritten, made } = applied;
    let named: FxHashMap<&str, NodeId> = rewritten.nodes().map(|(id, node)| (&*node.name, id)).collect();
    let (now, now_us) = (Calls::of_graph(graph, items), kernels.time_us.value);
    let launched_us = |calls: Calls, kernels_us: f64| host.time_us(calls).value.max(kernels_us);
    let launched_mj =
        kernels.energy_mj.value + costs.waiting(now, &kernels).map_or(0.0, |waiting| waiting.energy_mj.value);
    let mut kept = [Vec::new(), Vec::new()];
    for (rewrite, made) in rewrites.iter().zip(&made) {
        let new = Calls::of(&rewritten, &items_after, made.iter().filter_map(|name| named.get(&**name).copied()));
        let old = Calls::of(graph, items, rewrite.replaced.iter().copied());
        let (before, after) = (&rewrite.before, &rewrite.after);
        let (then, then_us) = (now.with(new, old), now_us - before.time_us.value + after.time_us.value);
        let (as_is, changed) = ((now, now_us), (then, then_us));
        let of_waiting = weights.of(host.surely_saved_mj(as_is, changed), host.surely_saved_us(as_is, changed));
        if weights.cost(before) - weights.cost(after) + of_waiting <= 0.0 {
            continue;
        }
        // What the host takes longer to launch, kernels that are no slower have to outweigh: in the product of energy and time.
        let longer = launched_us(then, then_us) / launched_us(now, now_us);
        let saved_mj = before.energy_mj.value - after.energy_mj.value + host.surely_saved_mj(as_is, changed);
        let outweighs = (1.0 - saved_mj / launched_mj) * longer < 1.0;
        let slower = is_slower(rewrite) || weights.is_energy() && longer > SLOWER && !outweighs;
        kept[usize::from(slower)].push(rewrite.clone());
    }
    Ok(kept)
}

impl Optimized {
    /// Where forms are chosen by energy, puts slower ones in place, too, as long as the whole then takes less energy, and at most `max_slowdown` (a fraction) more time
    /// than the workload takes as it is. Those that save most come first.
    ///
    /// # Errors
    /// As [`optimize`].
    pub fn allow_slowdown(&mut self, graph: &Graph, max_slowdown: f64, costs: &CostModel) -> Result<(), OptimizeError> {
        let items = graph_items(graph, costs);
        for kind in std::mem::take(&mut self.optimization.trade_offs) {
            let (taken, left): (Vec<Rewrite>, Vec<Rewrite>) =
                self.slower.iter().cloned().partition(|rewrite| rewrite.pattern == kind.pattern);
            let rewrites = self.in_place().chain(taken).collect();
            let improved = extract::pay_off(graph, &self.frozen, rewrites, costs, self.aim.weights)?;
            let with = summary(graph, &items, self.frozen, improved, costs, self.aim);
            if costs_less(&with.optimization, &self.optimization) && is_within(&with.optimization, max_slowdown) {
                *self = Optimized { slower: left, ..with };
            }
        }
        self.optimization.max_slowdown = Some(max_slowdown);
        self.trade_offs(graph, &items, costs)
    }

    /// The forms that are in place.
    fn in_place(&self) -> impl Iterator<Item = Rewrite> + '_ {
        self.rewrites.iter().map(|(rewrite, _)| rewrite.clone())
    }

    /// Lists forms that take less energy and more time, and what the workload would cost with ever more of them. None is in place.
    fn trade_offs(&mut self, graph: &Graph, items: &[Item], costs: &CostModel) -> Result<(), OptimizeError> {
        let price: Vec<Cost> = items.iter().map(Item::cost).collect();
        let mut listed = listed(graph, &self.slower, &price, &ValueLayouts::of(graph, items), costs, self.aim.weights);
        listed.iter_mut().for_each(|one| one.trade_off = true);
        listed.truncate(MAX_TRADE_OFFS);
        // The best form stays; points of an earlier choice of forms do not.
        self.optimization.frontier.truncate(1);
        let mut least = self.optimization.best_energy_mj.value;
        // One form may be listed more than once, as what it saves depends on sizes: the operators tell them apart.
        let all = listed.iter().enumerate();
        let kinds: FxHashMap<(&str, &[String]), usize> =
            all.flat_map(|(i, c)| c.ops.iter().map(move |ops| ((&*c.pattern, &**ops), i))).collect();
        let kind = |r: &Rewrite| kinds.get(&(&*r.pattern, &*replaced(graph, r).0)).copied();
        let slower: Vec<(&Rewrite, usize)> = self.slower.iter().filter_map(|r| Some((r, kind(r)?))).collect();
        for count in 1..=listed.len() {
            let some = slower.iter().filter(|(_, kind)| *kind < count).map(|&(rewrite, _)| rewrite.clone());
            let rewrites = self.in_place().chain(some).collect();
            let improved = Improved::new(graph, rewrites, costs, self.aim.weights)?;
            let point = Point::new(&improved.total(), count);
            if let Some(energy_mj) = point.energy_mj
                && least.is_some_and(|least| energy_mj < least)
            {
                least = Some(energy_mj);
                self.optimization.frontier.push(point);
            }
        }
        self.optimization.trade_offs = listed;
        Ok(())
    }

    /// Leaves out the forms that the rewritten graph's nodes of these names were made for. Whether there was any.
    ///
    /// # Errors
    /// As [`optimize`].
    pub fn leave_out(&mut self, graph: &Graph, names: &[String], costs: &CostModel) -> Result<bool, OptimizeError> {
        let is_kept = |made: &[Arc<str>]| !made.iter().any(|name| names.iter().any(|n| **n == **name));
        let kept: Vec<Rewrite> =
            self.rewrites.iter().filter(|(_, made)| is_kept(made)).map(|(rewrite, _)| rewrite.clone()).collect();
        let changed = kept.len() < self.rewrites.len();
        if changed {
            let items = graph_items(graph, costs);
            let improved = extract::pay_off(graph, &self.frozen, kept, costs, self.aim.weights)?;
            let (slower, max_slowdown) = (std::mem::take(&mut self.slower), self.optimization.max_slowdown);
            *self = Optimized { slower, ..summary(graph, &items, self.frozen, improved, costs, self.aim) };
            self.optimization.max_slowdown = max_slowdown;
            self.trade_offs(graph, &items, costs)?;
        }
        Ok(changed)
    }
}

/// Whether the best form of `with` takes less energy than that of `than`: its kernels, and as it is run.
fn costs_less(with: &Optimization, than: &Optimization) -> bool {
    let kernels = [with, than].map(|o| o.best_energy_mj.value);
    let as_run = [with, than].map(|o| o.best_as_run().0.value);
    [kernels, as_run].iter().all(|pair| matches!(pair, [Some(with), Some(than)] if with < than))
}

/// Whether the best form takes at most this fraction more time than the workload does: its kernels, and as it is run.
fn is_within(o: &Optimization, max_slowdown: f64) -> bool {
    let kernels = [o.time_us, o.best_time_us];
    let as_run = [o.now_as_run().1, o.best_as_run().1];
    [kernels, as_run].iter().all(|pair| matches!(pair, [Some(now), Some(best)] if *best <= now * (1.0 + max_slowdown)))
}

/// The graph with all forms in place, and the report on it: what it costs is what that graph costs.
fn summary(graph: &Graph, items: &[Item], frozen: Cost, improved: Improved, costs: &CostModel, aim: Aim) -> Optimized {
    let price: Vec<Cost> = items.iter().map(Item::cost).collect();
    let bill: Bill = items.iter().collect();
    let now = bill.total();
    let calls = Calls::of_graph(graph, items);
    let (executed, items_after) = improved.executed();
    let bill_after: Bill = items_after.iter().collect();
    let after = bill_after.total();
    let calls_after = Calls::of_graph(executed, items_after);
    let Improved { rewrites, applied: Applied { graph: rewritten, made }, once, .. } = improved;
    let cheaper = listed(graph, &rewrites, &price, &ValueLayouts::of(graph, items), costs, aim.weights);
    let assumed: Vec<Said> = rewrites.iter().flat_map(|rewrite| rewrite.assumed.iter().cloned()).collect();
    let precompute = once.as_ref().map(precomputed).unwrap_or_default();
    let precompute_saves_mj =
        once.as_ref().map(|_| now.energy_mj.value - frozen.energy_mj.value).filter(|&saves| saves > 0.0);
    let mut assumptions = grouped(assumed);
    if once.is_some() {
        assumptions.push(FROZEN.to_owned());
    }
    let launched =
        |calls: Calls, kernels: &Cost| costs.waiting(calls, kernels).map(|waiting| Launched::new(kernels, &waiting));
    let of_kernels = bill.saving(&bill_after).energy_mj;
    let is_known = now.time_us.is_known() && after.time_us.is_known();
    let (as_is, improved) = ((calls, now.time_us.value), (calls_after, after.time_us.value));
    let host = costs.host().filter(|_| is_known);
    let waiting_mj = host.map(|host| host.surely_saved_mj(as_is, improved));
    let waiting_us = host.map(|host| host.surely_saved_us(as_is, improved));
    let optimization = Optimization {
        schema: Optimization::SCHEMA,
        objective: aim.objective,
        file: graph.name.clone(),
        ops: graph.operators().count(),
        energy_mj: now.energy_mj.into(),
        left_out: LeftOut::of(&bill),
        time_us: Figure::from(now.time_us).value,
        launched: launched(calls, &now),
        best_energy_mj: after.energy_mj.into(),
        best_time_us: Figure::from(after.time_us).value,
        best_launched: launched(calls_after, &after),
        launched_saves_mj: waiting_mj.map(|waiting| (of_kernels + waiting).max(0.0)),
        launched_saves_us: waiting_us.map(|waiting| now.time_us.value - after.time_us.value + waiting),
        cheaper,
        precompute,
        precompute_saves_mj,
        max_slowdown: None,
        trade_offs: Vec::new(),
        frontier: vec![Point::new(&after, 0)],
        assumptions,
        profile: described(costs),
    };
    let rewrites = rewrites.into_iter().zip(made).collect();
    Optimized { optimization, rewritten, once, aim, frozen, rewrites, slower: Vec::new() }
}

/// Forms as reports list them, those that save most first. Layers of a model repeat: the same change is told once.
fn listed(
    graph: &Graph,
    rewrites: &[Rewrite],
    price: &[Cost],
    memory: &ValueLayouts,
    costs: &CostModel,
    weights: Weights,
) -> Vec<Cheaper> {
    let mut listed: Vec<Cheaper> = Vec::new();
    for rewrite in rewrites {
        let part = Part { graph, nodes: &rewrite.replaced, costs: price };
        let mut one = describe(graph, rewrite, part.source(), proof_of(rewrite, memory, costs));
        // By another objective, more time for less energy is what was asked for, and no choice that is left to make.
        one.trade_off &= weights.is_energy();
        match listed.iter_mut().find(|c| c.pattern == one.pattern && c.from == one.from && c.saves_mj == one.saves_mj) {
            Some(known) => known.ops.extend(one.ops),
            None => listed.push(one),
        }
    }
    let saves = |c: &Cheaper| weights.of(c.total_mj(), c.total_us());
    listed.sort_by(|x, y| saves(y).total_cmp(&saves(x)));
    listed
}

/// Names and kinds of the operators that a form replaces, without those that a front end added.
fn replaced(graph: &Graph, rewrite: &Rewrite) -> (Vec<String>, Vec<String>) {
    let explicit = rewrite.replaced.iter().map(|&n| graph.node(n)).filter(|n| !n.origin.implicit);
    let named = explicit.filter_map(|node| match &node.kind {
        NodeKind::Op { op, .. } => Some((node.name.to_string(), op.name().to_owned())),
        _ => None,
    });
    named.unzip()
}

fn describe(graph: &Graph, rewrite: &Rewrite, source: Option<String>, steps: Vec<Step>) -> Cheaper {
    let (names, kinds) = replaced(graph, rewrite);
    let Form { operators, definitions, call } = form_of(graph, rewrite);
    Cheaper {
        ops: vec![names],
        from: kinds,
        into: operators,
        to: rewrite.form.clone(),
        definitions,
        call,
        pattern: rewrite.pattern.clone(),
        saves_mj: rewrite.saves_mj(),
        saves_us: rewrite.saves_us(),
        trade_off: rewrite.is_trade_off(),
        steps,
        tier: rewrite.tier.to_string(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rayon::prelude::*;

    use super::*;
    use crate::energy::{Launch, graph_total};
    use crate::ir::text;
    use crate::rules::RuleSet;

    #[test]
    fn what_a_launched_workload_saves_is_no_more_than_its_prices_differ() {
        let (rules, shipped) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
        for rows in [16, 512, 4096, 32_768] {
            let source = format!("graph g(x: f32[{rows}, 1024]) {{ y = mul(x, sigmoid(x)) return y }}");
            let graph = text::parse("test.mir", &source).unwrap_or_else(|e| panic!("{e:?}"));
            let found = |launch| {
                let costs = shipped.clone().launched(launch);
                optimize(&graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs)
                    .unwrap()
                    .optimization
            };
            let (eager, recorded) = (found(Launch::Eager), found(Launch::Graph));
            assert_eq!((recorded.launched.clone(), recorded.launched_saves_mj), (None, None));
            assert_eq!(eager.best_energy_mj, recorded.best_energy_mj);
            let [now, best] = [eager.now_as_run(), eager.best_as_run()].map(|(energy, _)| energy.value.unwrap());
            let saved = eager.launched_saves_mj.unwrap();
            assert!(0.0 < saved && saved <= now - best + 1e-9, "{rows}: {saved} of {now} and {best}");
        }
    }

    /// How many of the graphs have a cheaper form. What is claimed of each is what the rewritten graph costs.
    fn found_among(files: &[PathBuf]) -> usize {
        let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap().launched(Launch::Graph));
        let has_cheaper_form = |path: &&PathBuf| {
            let Ok(graph) = crate::frontend::load(path) else { return false };
            let Optimized { optimization: told, rewritten, .. } =
                optimize(&graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs).unwrap();
            let cost = graph_total(&rewritten, &costs).energy_mj.value;
            let [now, best] = [&told.energy_mj, &told.best_energy_mj].map(|figure| figure.value.unwrap());
            let near = |x: f64, y: f64| (x - y).abs() <= 1e-9 * now;
            assert!(near(best, cost), "{}: {best} {cost}", path.display());
            assert!(best <= now, "{}: {best} of {now}", path.display());
            let parts: f64 = told.cheaper.iter().map(Cheaper::total_mj).sum();
            assert!(parts <= (now - best) * 1.002 + 1e-9, "{}: {parts} of {}", path.display(), now - best);
            !told.cheaper.is_empty()
        };
        files.par_iter().filter(has_cheaper_form).count()
    }

    fn corpus() -> Vec<PathBuf> {
        let folders = ["corpus/pairs", "corpus/bugs", "corpus/cases"].map(|f| std::fs::read_dir(f).unwrap());
        let mut files: Vec<PathBuf> = folders.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    #[test]
    fn what_is_claimed_is_what_the_rewritten_graph_costs() {
        let every_tenth: Vec<PathBuf> = corpus().into_iter().step_by(10).collect();
        assert!(found_among(&every_tenth) >= 3);
    }

    #[test]
    #[ignore = "slow: `.ci/run` runs it"]
    fn what_is_claimed_of_any_graph_of_the_corpus_is_what_the_rewritten_one_costs() {
        assert!(found_among(&corpus()) >= 30);
    }

    #[test]
    fn a_form_whose_layout_costs_its_readers_more_is_left_out() {
        // Without the copy, both reshapes copy.
        let source = "graph g(x: f32[8, 12, 1024, 64]) {
            t = permute(x; dims=[0, 2, 1, 3])
            c = contiguous(t)
            a = reshape(c; shape=[8, 1024, 768])
            b = reshape(c; shape=[8192, 768])
            return a, b
        }";
        let graph = text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}"));
        let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
        let found = optimize(&graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs).unwrap();
        assert!(found.rewrites.is_empty());
        assert_eq!(found.optimization.best_energy_mj, found.optimization.energy_mj);
    }

    #[test]
    fn a_value_that_comes_to_be_known_is_asked_for_again() {
        // That nothing is added is known once a rule has found the mean of what has no mean.
        let source = "graph g(x: f32[4096, 4096], c: f32[4096, 512]) {
            d = sub(c, mean(c; dim=[1], keepdim=true))
            y = exp(add(x, mean(d; dim=[1], keepdim=true)))
            return y
        }";
        let graph = text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}"));
        let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
        let found = optimize(&graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs).unwrap();
        assert_eq!(found.rewritten.operators().count(), 1, "{:?}", found.optimization.cheaper);
    }

    #[test]
    fn a_form_that_is_left_out_is_neither_in_the_graph_nor_in_its_price() {
        // Two activations written out, each of which has a cheaper form of its own.
        let graph = text::parse(
            "test.mir",
            "graph g(x: f32[4096, 1024], y: f32[4096, 1024]) {
                p = mul(x, sigmoid(x))
                q = mul(y, sigmoid(y))
                return p, q
            }",
        );
        let graph = graph.unwrap_or_else(|e| panic!("{e:?}"));
        let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
        let mut found = optimize(&graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs).unwrap();
        let kinds = |graph: &Graph| -> Vec<String> {
            let ops = graph.operators().map(|(_, n)| match &n.kind {
                NodeKind::Op { op, .. } => op.name().to_owned(),
                _ => String::new(),
            });
            ops.collect()
        };
        assert_eq!(kinds(&found.rewritten), ["silu", "silu"]);
        let both = found.optimization.best_energy_mj.value.unwrap();
        assert!(!found.leave_out(&graph, &["x".to_owned()], &costs).unwrap());
        assert!(found.leave_out(&graph, &["p".to_owned()], &costs).unwrap());
        assert_eq!(kinds(&found.rewritten), ["sigmoid", "mul", "silu"]);
        let one = found.optimization.best_energy_mj.value.unwrap();
        assert_eq!(one, graph_total(&found.rewritten, &costs).energy_mj.value);
        let now = found.optimization.energy_mj.value.unwrap();
        assert!(both < one && one < now, "{both} {one} {now}");
    }
}
