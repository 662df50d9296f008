//! Prices of kernels and of graphs' nodes: measured figures, and estimates for the rest.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use super::bill::Bill;
use super::context::{Context, Operand};
use super::cost::{Basis, BasisShares, Cost, Figure, Source};
use super::coverage::COVERAGE_SD;
use super::estimate::{Estimate, Estimator};
use super::features::Features;
use super::host::{Calls, HostCosts, Launch, Waiting};
use super::item::{Gap, Item, Kernel};
use super::key::KernelKey;
use super::neighbourhood::Neighbourhood;
use super::node_key::{key_of, written_key_of};
use super::profile::{Profile, ProfileError};
use super::work::{CallParts, WorkWithLayout};
use crate::ir::{Graph, Layout, MathConfig, NodeId, NodeKind, Value, layouts};
use crate::ops::Call;

/// Prices by key, in each context that was asked for.
type Known = FxHashMap<KernelKey, SmallVec<[(Context, Item); 1]>>;

/// Time and energy of measured kernels as other ones tell them.
type Told = FxHashMap<KernelKey, Option<(f64, f64)>>;

/// Measured figures, and the estimator fitted on them for what was not measured.
#[derive(Clone, Debug)]
pub struct CostModel {
    profile: Arc<Profile>,
    estimator: Arc<Estimator>,
    neighbourhood: Arc<OnceLock<Neighbourhood>>,
    /// Prices asked for before.
    known: Arc<RwLock<Known>>,
    /// What other kernels tell of measured ones, as far as it was asked for.
    like: Arc<RwLock<Told>>,
    /// Set in a model that takes what was not measured at its least; the keys in it count as unknown.
    optimistic: Option<FxHashSet<KernelKey>>,
    launch: Launch,
    frozen: bool,
}

impl CostModel {
    /// The model of a profile. Takes the estimator that the profile holds, or fits one where it holds none.
    pub fn new(profile: Profile) -> CostModel {
        let estimator = profile.estimator.clone().unwrap_or_else(|| Estimator::fit(&profile));
        CostModel {
            profile: Arc::new(profile),
            estimator: Arc::new(estimator),
            neighbourhood: Arc::default(),
            known: Arc::default(),
            like: Arc::default(),
            optimistic: None,
            launch: Launch::Graph,
            frozen: false,
        }
    }

    /// The same for work that gets onto the GPU in another way; without this, it is recorded as a graph.
    pub fn launched(self, launch: Launch) -> CostModel {
        CostModel { launch, ..self }
    }

    /// The same for workloads whose parameters stay as they are: what a rewritten graph computes from them alone costs nothing per
    /// execution.
    pub fn frozen(self, frozen: bool) -> CostModel {
        CostModel { frozen, ..self }
    }

    /// Whether parameters stay as they are.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// What calls wait for the host whose kernels cost `kernels`. None where they are recorded as a graph, where the profile does
    /// not say what launching takes, and where an operator without a price is among them.
    pub fn waiting(&self, calls: Calls, kernels: &Cost) -> Option<Waiting> {
        self.host()?.waiting(calls, &kernels.time_us)
    }

    /// What launching takes the host, where that adds to a price.
    pub fn host(&self) -> Option<&HostCosts> {
        self.profile.host.as_ref().filter(|_| self.launch == Launch::Eager)
    }

    /// Whether work is launched one by one, and nothing is known of what that takes.
    pub fn lacks_host(&self) -> bool {
        self.launch == Launch::Eager && self.profile.host.is_none() && !self.profile.entries.is_empty()
    }

    /// The model of the profile that the program carries.
    ///
    /// # Errors
    /// A damaged profile, which tests rule out.
    pub fn shipped() -> Result<CostModel, ProfileError> {
        Ok(CostModel::new(Profile::shipped()?))
    }

    /// The measurements that prices rest on.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// A number that changes whenever a figure of the profile changes.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.profile.to_json().hash(&mut hasher);
        hasher.finish()
    }

    /// What was fitted to them.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// The same figures, but what was not measured costs no more than it must: the low end of its estimate. A form that is not
    /// cheaper even so never is. `hopeless` cannot be measured and is unknown.
    pub fn optimistic(&self, hopeless: FxHashSet<KernelKey>) -> CostModel {
        CostModel { optimistic: Some(hopeless), known: Arc::default(), ..self.clone() }
    }

    /// Whether the cost of `key` would be no measured figure.
    pub fn is_guess(&self, key: &KernelKey) -> bool {
        key.can_be_measured() && !self.profile.entries.contains_key(key)
    }

    /// What one execution of `key` costs by itself, with nothing in the cache: measured, else estimated. Unknown only for
    /// operators that are not in the table, and for all of them where the profile is empty.
    pub fn cost(&self, key: &KernelKey) -> Cost {
        self.item(key, Context::Alone).cost()
    }

    /// The price of `key` as part of a bill.
    pub fn item(&self, key: &KernelKey, context: Context) -> Item {
        self.known_item(key, context).unwrap_or_else(|| self.remember(key.clone(), context, self.priced(key, context)))
    }

    /// The price of a call whose key is `written` as it stands in its graph.
    fn item_as_written(&self, written: KernelKey, context: Context) -> Item {
        self.known_item(&written, context).unwrap_or_else(|| {
            let item = self.item(&written.clone().canonical(), context);
            self.remember(written, context, item)
        })
    }

    fn known_item(&self, key: &KernelKey, context: Context) -> Option<Item> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(key)?.iter().find(|(c, _)| *c == context).map(|(_, item)| item.clone())
    }

    fn remember(&self, key: KernelKey, context: Context, item: Item) -> Item {
        self.known
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(key)
            .or_default()
            .push((context, item.clone()));
        item
    }

    fn priced(&self, key: &KernelKey, context: Context) -> Item {
        let gap = || Item::Gap(Gap { op: key.op.clone(), bytes: key.operand_bytes() });
        let (Some(parts), Some(work)) = (CallParts::of_key(key), WorkWithLayout::of_key(key)) else { return gap() };
        if work.launches == 0 {
            return Item::Free;
        }
        let measured = self.profile.figures(key);
        let features = Features::of_key(key);
        let is_estimated = measured.is_none();
        let ((energy_mj, time_us), [energy_sd, time_sd], basis) = match (measured, &features) {
            (Some((energy, time)), _) => ((energy, time), [&energy, &time].map(standard_deviation), Basis::Measured),
            (None, Some(features)) => {
                let Some(estimate) = self.guess(key, features) else { return gap() };
                let Estimate { energy_mj, time_us, energy_sd, time_sd, basis } = estimate;
                let figures = (figure(energy_mj, energy_sd), figure(time_us, time_sd));
                (figures, [energy_sd, time_sd], basis)
            }
            (None, None) => return gap(),
        };
        let alone = (time_us.value, energy_mj.value);
        let ((faster, leaner), spared) = self.estimator.in_context(parts.kernels(), &work, context, alone);
        let (energy_mj, time_us) = (energy_mj.times(leaner / alone.1), time_us.times(faster / alone.0));
        let basis_mj = BasisShares::of(basis, energy_mj.value);
        let cost = Cost { energy_mj, time_us, launches: work.launches, flops: work.flops, bytes: work.bytes, basis_mj };
        let mut order = DefaultHasher::new();
        (key, context).hash(&mut order);
        Item::Kernel(Arc::new(Kernel {
            key: key.clone(),
            cost,
            energy_sd,
            time_sd,
            features,
            is_estimated,
            context,
            spared,
            order: order.finish(),
        }))
    }

    /// Time in µs and energy in mJ of a kernel in its context as other measured kernels tell them.
    pub(super) fn like(&self, kernel: &Kernel, features: &Features) -> Option<(f64, f64)> {
        if kernel.is_estimated {
            return Some((kernel.cost.time_us.value, kernel.cost.energy_mj.value));
        }
        let known = self.like.read().unwrap_or_else(PoisonError::into_inner).get(&kernel.key).copied();
        let alone = known.unwrap_or_else(|| {
            let near = self.neighbourhood.get_or_init(|| Neighbourhood::of(&self.profile, &self.estimator));
            let alone = near.like(&self.estimator, features);
            self.like.write().unwrap_or_else(PoisonError::into_inner).insert(kernel.key.clone(), alone);
            alone
        });
        Some(self.estimator.in_context(features.class, &features.work, kernel.context, alone?).0)
    }

    /// The estimate for what was not measured; `None` where nothing was, or what is hopeless.
    fn guess(&self, key: &KernelKey, features: &Features) -> Option<Estimate> {
        if self.estimator.classes.is_empty() {
            return None;
        }
        let near = self.neighbourhood.get_or_init(|| Neighbourhood::of(&self.profile, &self.estimator));
        let estimate = near.estimate(&self.estimator, features);
        let Some(hopeless) = &self.optimistic else { return Some(estimate) };
        let low = |value: f64, sd: f64| value * (-COVERAGE_SD * sd).exp();
        (!hopeless.contains(key)).then(|| Estimate {
            energy_mj: low(estimate.energy_mj, estimate.energy_sd),
            time_us: low(estimate.time_us, estimate.time_sd),
            energy_sd: 0.0,
            time_sd: 0.0,
            ..estimate
        })
    }
}

/// An estimate with the interval that holds [`COVERAGE`](super::COVERAGE) of its kind.
fn figure(value: f64, sd: f64) -> Figure {
    let reach = (COVERAGE_SD * sd).exp();
    Figure::new(value, value / reach, value * reach, Source::Estimated)
}

/// Of the logarithm of a measured figure, whose interval reaches as far as an estimate's.
fn standard_deviation(figure: &Figure) -> f64 {
    if figure.low > 0.0 && figure.high.is_finite() {
        (figure.high / figure.low).ln() / (2.0 * COVERAGE_SD)
    } else {
        0.0
    }
}

/// What every node is priced as, by node index. Inputs, literals, implicit nodes and views are free.
pub fn graph_items(graph: &Graph, model: &CostModel) -> Vec<Item> {
    let layouts = layouts(graph);
    let mut items: Vec<Item> = Vec::with_capacity(graph.len());
    // Nodes stand in topological order.
    let mut computed = vec![false; graph.len()];
    for (id, node) in graph.nodes() {
        let read = graph.operands(id);
        let from = |v: &Value| Operand { bytes: graph.ty(*v).bytes(), is_computed: computed[v.node.index()] };
        let operands: SmallVec<[Operand; 4]> = read.iter().map(from).collect();
        let item = node_item(graph, &layouts, id, model, Context::in_graph(&operands, &node.types));
        computed[id.index()] = is_computed(&item, operands.iter().map(|o| o.is_computed));
        items.push(item);
    }
    items
}

/// Whether a result was written by a kernel: that of one, or a view of such a result.
fn is_computed(item: &Item, mut operands: impl Iterator<Item = bool>) -> bool {
    match item {
        Item::Kernel(_) | Item::Gap(_) => true,
        Item::Free => operands.any(|computed| computed),
        Item::Once => false,
    }
}

/// Which nodes have results that a kernel of the graph has written, by node index; `items` are their prices.
pub(crate) fn computed_nodes(graph: &Graph, items: &[Item]) -> Vec<bool> {
    let mut computed = vec![false; graph.len()];
    for ((id, _), item) in graph.nodes().zip(items) {
        computed[id.index()] = is_computed(item, graph.operands(id).iter().map(|v| computed[v.node.index()]));
    }
    computed
}

/// What a graph costs as a whole.
pub fn graph_total(graph: &Graph, model: &CostModel) -> Cost {
    graph_items(graph, model).iter().collect::<Bill>().total()
}

fn node_item(
    graph: &Graph,
    layouts: &[SmallVec<[Layout; 1]>],
    id: NodeId,
    model: &CostModel,
    context: Context,
) -> Item {
    let node = graph.node(id);
    if node.origin.implicit || !matches!(node.kind, NodeKind::Op { .. }) {
        return Item::Free;
    }
    if node.origin.once && model.is_frozen() {
        return Item::Once;
    }
    let item = match written_key_of(graph, layouts, id) {
        Some(written) => Some(model.item_as_written(written, context)),
        None => key_of(graph, layouts, id).map(|key| model.item(&key, context)),
    };
    match item {
        // What passes through an operator that nothing is known of: operands and results.
        Some(Item::Gap(gap)) => {
            let written: f64 = node.types.iter().map(|t| t.bytes() as f64).sum();
            Item::Gap(Gap { bytes: gap.bytes + written, ..gap })
        }
        Some(item) => item,
        None => Item::Gap(Gap { op: "?".to_owned(), bytes: 0.0 }),
    }
}

/// What every node costs by itself, with its key where it is an operator: what [`at_power_cap`](super::at_power_cap) takes.
pub(crate) fn graph_calls(graph: &Graph, model: &CostModel) -> Vec<(Option<KernelKey>, Cost)> {
    let layouts = layouts(graph);
    let alone = |id| node_item(graph, &layouts, id, model, Context::Alone).cost();
    graph.nodes().map(|(id, _)| (key_of(graph, &layouts, id), alone(id))).collect()
}

/// The price of a call that stands in no graph, with operands that lie in memory as `operand_layouts` says, of which the
/// call's own graph computes those that `computed` says.
pub(crate) fn call_item(
    call: &Call,
    operand_layouts: &[Layout],
    computed: &[bool],
    config: &MathConfig,
    model: &CostModel,
) -> Item {
    let lie: SmallVec<[&Layout; 4]> = operand_layouts.iter().collect();
    let operands = call.operands.iter().zip(computed);
    let operands: SmallVec<[Operand; 4]> =
        operands.map(|(t, &is_computed)| Operand { bytes: t.bytes(), is_computed }).collect();
    model.item_as_written(KernelKey::written_of_call(call, &lie, config), Context::in_graph(&operands, &call.types()))
}
