//! Origins from the metadata that PyTorch gives nodes. A model has few source lines and many nodes, so everything is shared.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ir::{Frame, Origin};

/// Origins read so far.
#[derive(Default)]
pub(super) struct Origins<'a> {
    strings: FxHashMap<&'a str, Arc<str>>,
    traces: FxHashMap<&'a str, Arc<[Frame]>>,
    modules: FxHashMap<&'a str, Arc<str>>,
}

impl<'a> Origins<'a> {
    /// The origin of a node from its stack trace and its module stack, each as PyTorch writes it.
    pub(super) fn of(&mut self, trace: Option<&'a str>, modules: Option<&'a str>) -> Origin {
        Origin {
            frames: trace.map(|t| self.frames(t)).unwrap_or_default(),
            module: modules.map(|s| self.module(s)).unwrap_or_default(),
            ..Origin::default()
        }
    }

    /// A Python stack trace: `File "x.py", line 7, in f`, then the text of the line.
    fn frames(&mut self, trace: &'a str) -> Arc<[Frame]> {
        if let Some(known) = self.traces.get(trace) {
            return known.clone();
        }
        let mut frames: Vec<Frame> = Vec::new();
        for line in trace.lines().map(str::trim) {
            if let Some((file, number, function)) = frame_line(line) {
                let (file, function) = (self.intern(file), self.intern(function));
                frames.push(Frame { file, line: number, function, code: Arc::default() });
            } else if let Some(frame) = frames.last_mut().filter(|f| f.code.is_empty()) {
                frame.code = self.strings.entry(line).or_insert_with(|| line.into()).clone();
            }
        }
        let frames: Arc<[Frame]> = frames.into();
        self.traces.insert(trace, frames.clone());
        frames
    }

    /// The innermost module of a stack: `key,path,type;key,path,type`.
    fn module(&mut self, stack: &'a str) -> Arc<str> {
        if let Some(known) = self.modules.get(stack) {
            return known.clone();
        }
        let module = innermost_module(stack);
        let module = self.intern(module);
        self.modules.insert(stack, module.clone());
        module
    }

    fn intern(&mut self, text: &'a str) -> Arc<str> {
        self.strings.entry(text).or_insert_with(|| text.into()).clone()
    }
}

fn frame_line(line: &str) -> Option<(&str, u32, &str)> {
    let rest = line.strip_prefix("File \"")?;
    let (file, rest) = rest.rsplit_once("\", line ")?;
    let (number, function) = rest.split_once(", in ").unwrap_or((rest, ""));
    Some((file, number.parse().ok()?, function))
}

fn innermost_module(stack: &str) -> &str {
    let entry = stack.rsplit(';').next().unwrap_or_default();
    let path = entry.split_once(',').and_then(|(_, rest)| rest.rsplit_once(',')).map_or("", |(path, _)| path);
    let path = ["L['self']", "L__self__"].iter().find_map(|root| path.strip_prefix(root)).unwrap_or(path);
    path.trim_start_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_keep_file_line_function_and_text() {
        let trace =
            "File \"a.py\", line 7, in forward\n    x = f(\n  File \"b.py\", line 9, in f\n    return y\n    ^^^^^^^^";
        let modules = "L__self__,,m.M;k,L['self'].layers.0,m.Layer";
        let mut origins = Origins::default();
        let origin = origins.of(Some(trace), Some(modules));
        let shown: Vec<String> = origin.frames.iter().map(|f| format!("{f} {} | {}", f.function, f.code)).collect();
        assert_eq!(shown, ["a.py:7 forward | x = f(", "b.py:9 f | return y"]);
        assert_eq!(&*origin.module, "layers.0");
        let again = origins.of(Some(trace), Some(modules));
        assert!(Arc::ptr_eq(&origin.frames, &again.frames));
    }

    #[test]
    fn the_root_module_has_no_path() {
        assert_eq!(innermost_module("L__self__,,m.M"), "");
        assert_eq!(innermost_module("a,b.c,m.M;L__self___x,b.c.d,m.N"), "b.c.d");
        assert_eq!(innermost_module("nonsense"), "");
    }
}
