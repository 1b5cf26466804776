//! Files that an agent compressed (`.jsonl.zst`), read as what they hold.
//!
//! Input: a file. Output: its bytes, decompressed where it begins like a Zstandard file. Invariant: what came before a fault is given
//! before the fault is. Never: holds more than a window and a block, or gives more than [`OUTPUT_BYTES`].

use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read, Take};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// What a Zstandard frame begins with.
const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// The largest window that is held: four times what every decoder must hold. Ordinary files have a quarter of that.
const WINDOW_BYTES: u64 = 32 * 1024 * 1024;
/// A file that claims to hold more than this is not read further.
const OUTPUT_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// A last block of no bytes, and a checksum that is not looked at.
const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// A file read from its start to the end that it had.
type Source = Take<Chain<Cursor<Vec<u8>>, File>>;

/// The bytes of `file`, at most `length` of its own, decompressed where they are compressed. Content decides, not a name.
pub(crate) fn reader(mut file: File, length: u64) -> io::Result<Box<dyn Read>> {
    let mut head = Vec::with_capacity(MAGIC.len());
    file.by_ref().take((MAGIC.len() as u64).min(length)).read_to_end(&mut head)?;
    let is_compressed = head == MAGIC;
    let source = Cursor::new(head).chain(file).take(length);
    Ok(if is_compressed { Box::new(Decompressed::new(source)) } else { Box::new(source) })
}

struct Decompressed {
    source: BufReader<Source>,
    decoder: FrameDecoder,
    is_in_frame: bool,
    given: u64,
    /// Why nothing follows what the decoder still holds.
    fault: Option<io::Error>,
    is_over: bool,
}

impl Decompressed {
    fn new(source: Source) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES);
        Self {
            source: BufReader::new(source),
            decoder,
            is_in_frame: false,
            given: 0,
            fault: None,
            is_over: false,
        }
    }

    /// Goes to the next frame; `false` at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.is_in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                    if skipped < length.into() {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(invalid(error)),
            }
        }
        Ok(false)
    }

    /// Decodes until there is something to give, or nothing more in this frame.
    fn decode(&mut self) -> io::Result<()> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            self.decoder
                .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(invalid)?;
        }
        Ok(())
    }

    /// A frame ended: whether it held what it was made of.
    fn check(&self) -> io::Result<()> {
        let told = self.decoder.get_checksum_from_data();
        if told.is_some() && told != self.decoder.get_calculated_checksum() {
            return Err(invalid("the checksum differs"));
        }
        Ok(())
    }

    fn step(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_in_frame && !self.next_frame()? {
                return Ok(0);
            }
            self.decode()?;
            let read = self.decoder.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            self.is_in_frame = false;
            self.check()?;
        }
    }
}

impl Decompressed {
    /// Keeps why nothing more is decoded. The decoder holds its last window for blocks that will not come; an end of the frame sets
    /// that free.
    fn give_up(&mut self, fault: io::Error) {
        if self.is_in_frame && !self.decoder.is_finished() {
            let _ = self.decoder.decode_blocks(&LAST_BLOCK[..], BlockDecodingStrategy::UptoBlocks(1));
        }
        self.fault = Some(fault);
    }
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.is_over {
            return Ok(0);
        }
        if self.fault.is_none() {
            match self.step(buffer) {
                Ok(read) if self.given < OUTPUT_BYTES => {
                    self.given += read as u64;
                    return Ok(read);
                }
                Ok(_) => {
                    self.is_in_frame = false;
                    self.give_up(invalid("it holds too much"));
                }
                Err(fault) => self.give_up(fault),
            }
        }
        if self.is_in_frame {
            let read = self.decoder.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
        }
        self.is_over = true;
        self.fault.take().map_or(Ok(0), Err)
    }
}

fn invalid(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("compressed: {error}"))
}
