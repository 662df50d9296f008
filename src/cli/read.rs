//! What the command line names: two graphs with their inputs bound, rules and prices.

use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use super::args::{FrozenArg, Pair, SearchOptions, Sizes};
use crate::energy::{CostModel, Profile};
use crate::files;
use crate::frontend;
use crate::frontend::{LoadOptions, Loaded};
use crate::ir::ConfigError;
use crate::progress::Progress;
use crate::prove::{BoundPair, Side, bind_with_contents};
use crate::rules::RuleSet;

#[derive(Debug, Error, Diagnostic)]
enum ReadError {
    #[error(
        "the values of `{tensor}` of {side} are in {}, which does not exist{}", file.display(),
        if *more > 0 { format!("; so are those of {more} other tensors") } else { String::new() }
    )]
    #[diagnostic(
        code(cli::missing),
        help(
            "every weight of the other side is bound, so it is a mask, a table or a folded weight: put the file beside the model, or state with --bind what it is"
        )
    )]
    Missing { side: Side, tensor: String, file: PathBuf, more: usize },

    #[error("cannot write {}: {source}", path.display())]
    #[diagnostic(code(cli::write_bind))]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },

    #[error("{side}: {source}")]
    #[diagnostic(code(cli::config))]
    Config {
        side: &'static str,
        #[source]
        source: ConfigError,
        #[help]
        help: Option<String>,
    },
}

/// What a file's reader is told.
pub(super) fn options(sizes: &Sizes) -> LoadOptions {
    LoadOptions { sizes: sizes.shape.clone(), ..LoadOptions::default() }
}

/// Reads a graph and sets the math flags that the command line states. `side` is what messages call it.
pub(super) fn load(
    path: &Path,
    side: &'static str,
    flags: &[(String, serde_json::Value)],
    options: &LoadOptions,
) -> miette::Result<Loaded> {
    let mut loaded = frontend::load_with(path, options)?;
    let graph = &mut loaded.graph;
    graph.name = path.display().to_string();
    for (name, value) in flags {
        graph.config.set(name, value.clone()).map_err(|source| {
            let help = (!source.known.is_empty()).then(|| format!("flags are {}", source.known.join(", ")));
            ReadError::Config { side, source, help }
        })?;
    }
    Ok(loaded)
}

/// Reads two graphs and binds their inputs.
pub(super) fn bound(pair: &Pair, progress: &dyn Progress) -> miette::Result<BoundPair> {
    let options = options(&pair.sizes);
    let (a, b) =
        rayon::join(|| load(&pair.a, "A", &pair.config_a, &options), || load(&pair.b, "B", &pair.config_b, &options));
    let (mut a, mut b) = (a?, b?);
    progress.stage("binding inputs");
    let stated = pair.bind.as_ref().map(|path| frontend::load_binding(path, &a.graph, &b.graph)).transpose()?;
    let mut bound = bind_with_contents(a.graph, b.graph, stated.as_ref(), [&mut *a.contents, &mut *b.contents]);
    if let Some(missing) = bound.binding.missing.first() {
        return Err(ReadError::Missing {
            side: missing.side,
            tensor: missing.tensor.clone(),
            file: missing.file.clone(),
            more: bound.binding.missing.len() - 1,
        }
        .into());
    }
    bound.binding.assumptions.splice(0..0, a.assumptions.into_iter().chain(b.assumptions));
    if let Some(path) = &pair.write_bind {
        let text: String = bound.binding.lines.iter().map(|line| format!("{line}\n")).collect();
        files::write(path, text.as_bytes()).map_err(|source| ReadError::Write { path: path.clone(), source })?;
    }
    Ok(bound)
}

/// The rules and the prices that the command line names.
pub(super) fn conditions(args: &SearchOptions) -> miette::Result<(RuleSet, CostModel)> {
    let rules = || Ok(RuleSet::library()?.with_files(&args.rules)?);
    let costs = || -> miette::Result<CostModel> {
        Ok(match &args.profile {
            Some(path) => CostModel::new(Profile::load(path)?),
            None => CostModel::shipped()?,
        })
    };
    let (rules, costs): (miette::Result<RuleSet>, _) = rayon::join(rules, costs);
    Ok((rules?, costs?.launched(args.launch.into()).frozen(args.frozen == FrozenArg::Yes)))
}
