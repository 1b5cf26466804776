//! An open file of the simulated file system.

use std::io::{self, ErrorKind};

use super::{Change, Node, Sim};
use crate::storage::{File, Stat};

/// An open file of the simulation.
pub(in crate::storage) struct SimFile {
    pub(super) sim: Sim,
    pub(super) inode: u64,
    pub(super) handle: u64,
    /// Whether dropping it closes it.
    pub(super) closes: bool,
}

impl Drop for SimFile {
    fn drop(&mut self) {
        if self.closes {
            self.sim.close(self.handle);
        }
    }
}

impl SimFile {
    /// Runs `act` on the data and on what is pending, with the length that a write may have.
    fn change<T>(
        &self,
        act: impl FnOnce(&mut Vec<u8>, &mut Vec<Change>, Option<usize>) -> T,
    ) -> io::Result<T> {
        let mut state = self.sim.state();
        let injected = state.change()?;
        let now = state.now;
        match state.nodes.get_mut(&self.inode) {
            Some(Node::File { data, pending, modified, .. }) => {
                *modified = now;
                Ok(act(data, pending, injected))
            }
            _ => Err(ErrorKind::NotFound.into()),
        }
    }
}

impl File for SimFile {
    fn stat(&self) -> io::Result<Stat> {
        let state = self.sim.state();
        state.nodes.get(&self.inode).map(|node| node.stat(self.inode)).ok_or(ErrorKind::NotFound.into())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.sim.state();
        let Some(Node::File { data, .. }) = state.nodes.get(&self.inode) else {
            return Err(ErrorKind::NotFound.into());
        };
        let rest = usize::try_from(offset).ok().and_then(|offset| data.get(offset..)).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.change(|data, pending, injected| {
            let bytes = &bytes[..injected.unwrap_or(bytes.len()).min(bytes.len())];
            pending.push(Change::Write { offset: data.len(), bytes: bytes.to_vec() });
            data.extend_from_slice(bytes);
            bytes.len()
        })
    }

    fn reserve(&mut self, _bytes: u64) -> io::Result<()> {
        self.change(|_, _, _| ())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(|_| ErrorKind::InvalidInput)?;
        self.change(|data, pending, _| {
            data.resize(length, 0);
            pending.push(Change::Truncate { length });
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.sim.state();
        state.syncs += 1;
        let outcome = state.change();
        let Some(Node::File { data, durable, pending, dropped, .. }) = state.nodes.get_mut(&self.inode)
        else {
            return Err(ErrorKind::NotFound.into());
        };
        if outcome.is_ok() {
            durable.clone_from(data);
            for &(from, to) in dropped.iter() {
                let end = to.min(durable.len());
                durable[from.min(end)..end].fill(0);
            }
        } else {
            let writes = pending.iter().filter_map(|change| match change {
                Change::Write { offset, bytes } => Some((*offset, offset + bytes.len())),
                Change::Truncate { .. } => None,
            });
            dropped.extend(writes);
        }
        pending.clear();
        outcome.map(|_| ())
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        let mut state = self.sim.state();
        if state.refuses_locks {
            return Err(ErrorKind::Unsupported.into());
        }
        let Some(Node::File { locked_by, .. }) = state.nodes.get_mut(&self.inode) else {
            return Err(ErrorKind::NotFound.into());
        };
        let free = locked_by.is_none_or(|handle| handle == self.handle);
        if free {
            *locked_by = Some(self.handle);
        }
        Ok(free)
    }
}
