//! One followed file.
//!
//! Input: a path, and that somebody looks. Output: at most one chunk for each look.
//! Invariant: the chunks since the last `replace` or `truncate` are the file's bytes, each once.
//! Never: waits, writes, or takes bytes of another file for more of the same.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::folder::COARSE;
use super::position::{Chunk, ChunkKind, FileId, Position, TAIL_BYTES};

/// Bytes that are searched for the start of the line that a file ends in.
const LINE_BYTES: u64 = 256 * 1024;

/// Where following begins. A file that is not there yet is read from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the first byte.
    Beginning,
    /// At the end that the file has now; a last line that is not complete is read from its start.
    End,
    /// Where an earlier run was. Another content there is a `replace`.
    At(Position),
}

/// See the module.
#[derive(Debug)]
pub struct Followed {
    path: PathBuf,
    most_bytes: usize,
    start: Start,
    /// What was read to. Absent until the file was there.
    position: Option<Position>,
    /// The file of `position`, unless it was [released](Self::release).
    file: Option<File>,
    is_adrift: bool,
    /// The time that the file had, and its length, when nothing was new, where a change since would have given it another.
    settled: Option<(SystemTime, u64)>,
}

impl Followed {
    /// Follows `path` in chunks of at most `most_bytes`. Where it starts at the end, the file is looked at now.
    #[must_use]
    pub fn new(path: PathBuf, start: Start, most_bytes: usize) -> Self {
        let mut followed = Self {
            path,
            most_bytes: most_bytes.max(1),
            start,
            position: None,
            file: None,
            is_adrift: false,
            settled: None,
        };
        match start {
            Start::Beginning => {}
            Start::At(position) => followed.position = Some(position),
            // A file that cannot be opened now tells so at the next look.
            Start::End => {
                if followed.open().is_ok() && followed.position.is_none() {
                    followed.start = Start::Beginning;
                }
            }
        }
        followed
    }

    /// The next chunk, where there is one now. Look again until there is none.
    ///
    /// An error costs nothing: what could not be read is read by a later look.
    pub fn poll(&mut self) -> io::Result<Option<Chunk>> {
        let named = named(&self.path)?;
        let Some(position) = self.position else {
            return if named.is_none() {
                self.start = Start::Beginning;
                Ok(None)
            } else {
                self.open()?;
                self.read_on()
            };
        };
        self.is_adrift = named != Some(position.file);
        if self.is_adrift {
            // The writer may have written to the old file until the name was taken from it.
            if let Some(chunk) = self.rest_of_old()? {
                return Ok(Some(chunk));
            }
            return if named.is_some() { self.replace() } else { Ok(None) };
        }
        if self.file.is_none() {
            let Some((file, id)) = open(&self.path)? else { return Ok(None) };
            if id != position.file {
                return self.begin(file, id, ChunkKind::Replace).map(Some);
            }
            self.file = Some(file);
        }
        self.read_on()
    }

    /// Whether the file has the time and the length that it had when nothing was new. Cheaper than to look into it; a change that
    /// leaves both as they were is not seen by it.
    #[must_use]
    pub fn is_as_it_was(&self) -> bool {
        let (Some(settled), Some(position)) = (self.settled, self.position) else { return false };
        fs::metadata(&self.path).is_ok_and(|metadata| {
            FileId::of(&metadata) == position.file
                && metadata.modified().is_ok_and(|modified| settled == (modified, metadata.len()))
        })
    }

    /// Whether the file ended with this chunk when it was read.
    #[must_use]
    pub fn is_end(&self, chunk: &Chunk) -> bool {
        chunk.kind == ChunkKind::Append && chunk.bytes.len() < self.most_bytes
    }

    /// Closes the file. What is written to it after it lost its name is then not seen.
    pub fn release(&mut self) {
        self.file = None;
    }

    /// Whether the file is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Whether, at the last look, the name was gone or another file's: then nobody tells of changes of the file that is open.
    #[must_use]
    pub fn is_adrift(&self) -> bool {
        self.is_adrift
    }

    /// What was read to.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// Opens the file for the first time, where it is there.
    fn open(&mut self) -> io::Result<()> {
        let Some((file, id)) = open(&self.path)? else { return Ok(()) };
        let offset = match self.start {
            Start::End => last_line(&file)?,
            _ => 0,
        };
        let checked = offset.min(TAIL_BYTES as u64);
        let before = read(&file, offset - checked, checked)?;
        self.position = Some(Position::new(id, offset, &before));
        self.file = Some(file);
        Ok(())
    }

    /// What the open file, which has the name, has new.
    fn read_on(&mut self) -> io::Result<Option<Chunk>> {
        let (Some(position), Some(file)) = (self.position, &self.file) else { return Ok(None) };
        let metadata = file.metadata()?;
        let bytes = self.read_with_tail(file, &position, metadata.len())?;
        let checked = usize::from(position.checked);
        if bytes.len() < checked || metadata.len() < position.offset {
            return self.begin_again(ChunkKind::Truncate);
        }
        if !position.is_behind(&bytes[..checked]) {
            return self.begin_again(ChunkKind::Replace);
        }
        let is_as_before = bytes.len() == checked && metadata.len() == position.offset;
        self.settled =
            metadata.modified().ok().filter(|at| is_as_before && is_old(*at)).map(|at| (at, metadata.len()));
        Ok(self.append(bytes, checked))
    }

    /// What the old file has new that no longer has the name.
    fn rest_of_old(&mut self) -> io::Result<Option<Chunk>> {
        let (Some(position), Some(file)) = (self.position, &self.file) else { return Ok(None) };
        let bytes = self.read_with_tail(file, &position, file.metadata()?.len())?;
        let checked = usize::from(position.checked);
        // What was put in the place of the old content came after the name was lost: nobody's journal.
        if bytes.len() < checked || !position.is_behind(&bytes[..checked]) {
            return Ok(None);
        }
        Ok(self.append(bytes, checked))
    }

    /// What stands before the position, and what follows in a file of this length. What it got since is read by a later look.
    fn read_with_tail(&self, file: &File, position: &Position, length: u64) -> io::Result<Vec<u8>> {
        let checked = u64::from(position.checked);
        let from = position.offset.saturating_sub(checked);
        read(file, from, length.saturating_sub(from).min(checked + self.most_bytes as u64))
    }

    /// The bytes behind the first `checked`, which stand before the position.
    fn append(&mut self, mut bytes: Vec<u8>, checked: usize) -> Option<Chunk> {
        let position = self.position.as_mut()?;
        if bytes.len() == checked {
            return None;
        }
        let Position { file, offset, .. } = *position;
        *position = Position::new(file, offset + (bytes.len() - checked) as u64, &bytes);
        bytes.drain(..checked);
        Some(Chunk { kind: ChunkKind::Append, bytes, file, offset })
    }

    fn begin_again(&mut self, kind: ChunkKind) -> io::Result<Option<Chunk>> {
        let (Some(file), Some(position)) = (self.file.take(), self.position) else { return Ok(None) };
        self.begin(file, position.file, kind).map(Some)
    }

    fn replace(&mut self) -> io::Result<Option<Chunk>> {
        let Some((file, id)) = open(&self.path)? else { return Ok(None) };
        self.begin(file, id, ChunkKind::Replace).map(Some)
    }

    /// From the first byte of a file.
    fn begin(&mut self, file: File, id: FileId, kind: ChunkKind) -> io::Result<Chunk> {
        let bytes = read(&file, 0, file.metadata()?.len().min(self.most_bytes as u64))?;
        self.position = Some(Position::new(id, bytes.len() as u64, &bytes));
        self.file = Some(file);
        self.is_adrift = false;
        Ok(Chunk { kind, bytes, file: id, offset: 0 })
    }
}

/// Whether a file with this time would have got another one by a change from now on.
fn is_old(modified: SystemTime) -> bool {
    SystemTime::now().duration_since(modified).is_ok_and(|age| age > COARSE)
}

/// Which file has the name.
fn named(path: &Path) -> io::Result<Option<FileId>> {
    match fs::metadata(path) {
        Ok(metadata) => regular(&metadata).map(|()| Some(FileId::of(&metadata))),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open(path: &Path) -> io::Result<Option<(File, FileId)>> {
    // A pipe must not be opened: that would wait for a writer.
    if named(path)?.is_none() {
        return Ok(None);
    }
    match File::open(path) {
        Ok(file) => {
            let metadata = file.metadata()?;
            regular(&metadata)?;
            Ok(Some((file, FileId::of(&metadata))))
        }
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"))
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, offset)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read(into)
}

/// At most `length` bytes from `offset` on.
fn read(file: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?];
    let mut read = 0;
    while read < bytes.len() {
        match read_at(file, &mut bytes[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// Where the line begins that the file ends in; its end where that is too far back.
fn last_line(file: &File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(LINE_BYTES);
    let bytes = read(file, from, length - from)?;
    Ok(match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => from + end as u64 + 1,
        None if from == 0 => 0,
        None => length,
    })
}
