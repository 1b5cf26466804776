//! What a crash may leave of a state of the simulated file system.
//!
//! Input: a state. Output: images. Invariant: what was synced is in each of them; of the rest any part, in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use super::{Change, NameChange, Node, State, move_names};

impl State {
    /// A number for what was written and is not on the medium yet.
    pub(crate) fn unsynced_mark(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for node in self.nodes.values() {
            if let Node::File { pending, .. } = node {
                pending.hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// What the file system holds when the power goes now: each image once. Of each write also every prefix whose length is a
    /// multiple of `cuts`, and the longest one.
    pub(crate) fn images(&self, cuts: Option<usize>) -> Vec<State> {
        let mut images = BTreeMap::new();
        let mut add = |state: State| {
            let image = images.entry(state.visible()).or_insert_with(|| state.clone());
            image.in_order |= state.in_order;
        };
        let all = self.pending.len();
        let subsets: BTreeSet<Vec<bool>> = if all <= 6 {
            (0..1_usize << all).map(|bits| (0..all).map(|at| bits >> at & 1 == 1).collect()).collect()
        } else {
            let prefixes = (0..=all).map(|end| (0..all).map(|at| at < end).collect());
            let one_lost = (0..all).map(|lost| (0..all).map(|at| at != lost).collect());
            prefixes.chain(one_lost).collect()
        };
        for kept in &subsets {
            for data_kept in [true, false] {
                add(self.image(kept, |changes| vec![data_kept; changes], None));
            }
        }
        let Some(step) = cuts else { return images.into_values().collect() };
        // Every prefix of every write that is not on the medium, with earlier ones kept and lost.
        for (&inode, node) in &self.nodes {
            let Node::File { pending, .. } = node else { continue };
            for (at, change) in pending.iter().enumerate() {
                let Change::Write { bytes, .. } = change else { continue };
                for cut in (0..bytes.len()).step_by(step).chain(bytes.len().checked_sub(1)) {
                    for earlier in [true, false].into_iter().take(1 + at) {
                        for kept in [vec![true; all], vec![false; all]] {
                            let keep = |changes: usize| {
                                (0..changes).map(|other| other == at || earlier && other < at).collect()
                            };
                            add(self.image(&kept, keep, Some((inode, at, cut))));
                        }
                    }
                }
            }
        }
        images.into_values().collect()
    }

    /// Equal for states that no program can tell apart.
    pub(crate) fn mark(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.visible().hash(&mut hasher);
        for node in self.nodes.values() {
            matches!(node, Node::File { locked_by: Some(_), .. }).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The names and contents, which is what a program sees.
    fn visible(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let content = |inode| match self.nodes.get(inode) {
            Some(Node::File { data, .. }) => Some(data.clone()),
            _ => None,
        };
        self.names.iter().map(|(path, inode)| (path.clone(), content(inode))).collect()
    }

    fn image(
        &self,
        kept_names: &[bool],
        kept_data: impl Fn(usize) -> Vec<bool>,
        cut: Option<(u64, usize, usize)>,
    ) -> State {
        let mut names = self.durable.clone();
        for (change, _) in self.pending.iter().zip(kept_names).filter(|(_, kept)| **kept) {
            match change {
                NameChange::Add { path, inode } => _ = names.insert(path.clone(), *inode),
                NameChange::Remove { path } => _ = names.remove(path),
                NameChange::Rename { from, to } if names.contains_key(from) => {
                    move_names(&mut names, from, to);
                }
                NameChange::Rename { .. } => {}
            }
        }
        // What stands in a directory that is not there is not there.
        let present: BTreeSet<PathBuf> = names.keys().cloned().collect();
        names.retain(|path, _| {
            path.parent().is_none_or(|parent| parent == Path::new("/") || present.contains(parent))
        });
        let mut nodes = self.nodes.clone();
        for (inode, node) in &mut nodes {
            let Node::File { data, durable, pending, locked_by, .. } = node else { continue };
            *locked_by = None;
            let kept = kept_data(pending.len());
            let mut image = durable.clone();
            for (at, change) in pending.iter().enumerate().filter(|(at, _)| kept[*at]) {
                match change {
                    Change::Truncate { length } => image.resize(*length, 0),
                    Change::Write { offset, bytes } => {
                        let bytes = match cut {
                            Some((cut_inode, cut_at, length)) if (cut_inode, cut_at) == (*inode, at) => {
                                &bytes[..length]
                            }
                            _ => bytes,
                        };
                        image.resize(image.len().max(offset + bytes.len()), 0);
                        image[*offset..offset + bytes.len()].copy_from_slice(bytes);
                    }
                }
            }
            pending.clear();
            durable.clone_from(&image);
            *data = image;
        }
        State {
            nodes,
            durable: names.clone(),
            names,
            pending: Vec::new(),
            faults: BTreeMap::new(),
            ..self.clone()
        }
    }
}
