//! Rows on their way into a writer: large writes, and the first error kept until somebody asks.

use std::io::{self, Write};

/// Bytes gathered before they are handed on.
const FLUSH_BYTES: usize = 64 * 1024;

/// A buffer of rows in front of a writer. Making a row never fails; the first error of the writer is kept, later rows
/// are dropped, and [`RowBuffer::finish`] returns it.
#[derive(Debug)]
pub struct RowBuffer<W: Write> {
    out: W,
    bytes: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: Write> RowBuffer<W> {
    /// A buffer that begins with `header`, a line with its line end.
    pub fn new(out: W, header: &str) -> RowBuffer<W> {
        let mut bytes = Vec::with_capacity(FLUSH_BYTES + 4 * 1024);
        bytes.extend_from_slice(header.as_bytes());
        RowBuffer { out, bytes, error: None }
    }

    /// Where the next row goes. Call [`RowBuffer::row_done`] after it.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Hands the bytes on when there are enough.
    pub fn row_done(&mut self) {
        if Self::is_due(&self.bytes) {
            self.hand_on();
        }
    }

    /// Whether [`RowBuffer::row_done`] would hand these bytes on now.
    pub(super) fn is_due(bytes: &[u8]) -> bool {
        bytes.len() >= FLUSH_BYTES
    }

    /// Whether a write has failed: what follows is lost.
    pub fn failed(&self) -> bool {
        self.error.is_some()
    }

    /// Writes what is left and returns the writer.
    ///
    /// # Errors
    /// The first error of the writer, `StorageFull` when the disk is full.
    pub fn finish(mut self) -> io::Result<W> {
        self.hand_on();
        if let Some(error) = self.error {
            return Err(error);
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn hand_on(&mut self) {
        if self.error.is_none()
            && let Err(error) = self.out.write_all(&self.bytes)
        {
            self.error = Some(error);
        }
        self.bytes.clear();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A disk with room for so many bytes.
    pub(crate) struct SmallDisk(pub usize);

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn rows_pass_through_whole_and_in_order() {
        let mut buffer = RowBuffer::new(Vec::new(), "n\n");
        let mut expected = b"n\n".to_vec();
        for n in 0..30_000_u64 {
            super::super::csv_field::push_u64(buffer.bytes(), n);
            buffer.bytes().push(b'\n');
            buffer.row_done();
            expected.extend_from_slice(format!("{n}\n").as_bytes());
        }
        assert!(expected.len() > 2 * FLUSH_BYTES);
        assert_eq!(buffer.finish().expect("memory takes every write"), expected);
    }

    #[test]
    fn a_full_disk_is_reported_as_such() {
        let mut buffer = RowBuffer::new(SmallDisk(10), "header\n");
        for _ in 0..FLUSH_BYTES {
            buffer.bytes().extend_from_slice(b"row\n");
            buffer.row_done();
        }
        assert!(buffer.failed());
        let error = buffer.finish().err().expect("the disk holds ten bytes");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
