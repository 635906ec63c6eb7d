//! Names: shared immutable text with a cached hash.
//!
//! Every object name, label key or value, and uid of a run is a [`Name`]. Comparing two names costs a pointer or a hash
//! comparison; order is that of the text, never of an address or an id, so results do not depend on creation order.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::rc::Rc;

/// Shared text: cheap to clone, fast to compare and to hash, ordered as text. The empty name takes no memory.
#[derive(Clone, Default)]
pub struct Name(Option<Rc<Inner>>);

struct Inner {
    hash: u64,
    text: Box<str>,
}

impl Name {
    /// The empty name: no namespace, no node, no value.
    pub const EMPTY: Name = Name(None);

    /// A name with this text.
    pub fn new(text: impl AsRef<str>) -> Name {
        let text = text.as_ref();
        if text.is_empty() {
            return Name(None);
        }
        Name(Some(Rc::new(Inner { hash: hash_text(text), text: text.into() })))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("", |inner| &inner.text)
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// A 64-bit hash of the text, the same on every machine; the entity of keyed draws.
    pub fn stable_hash(&self) -> u64 {
        self.0.as_ref().map_or(0, |inner| inner.hash)
    }
}

/// A 64-bit hash of a text, the same on every machine and in every version of this crate (FNV-1a with a final mix).
pub fn hash_text(text: &str) -> u64 {
    let mut hasher = TextHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// [`hash_text`] of a text that comes in pieces and need not be put together.
#[derive(Clone, Copy, Debug)]
pub struct TextHasher(u64);

impl Default for TextHasher {
    fn default() -> TextHasher {
        TextHasher(0xcbf2_9ce4_8422_2325)
    }
}

impl TextHasher {
    /// A further piece.
    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// A further piece: a number as lower-case hexadecimal digits.
    pub fn write_hex(&mut self, number: u64) {
        let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
        for digit in (0..digits).rev() {
            self.write(&[b"0123456789abcdef"[(number >> (4 * digit)) as usize & 15]]);
        }
    }

    /// The hash of all pieces.
    pub fn finish(self) -> u64 {
        let hash = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^ (hash >> 32)
    }
}

impl fmt::Write for TextHasher {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Rc::ptr_eq(a, b) || (a.hash == b.hash && a.text == b.text),
            _ => false,
        }
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) if Rc::ptr_eq(a, b) => Ordering::Equal,
            _ => self.as_str().cmp(other.as_str()),
        }
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.stable_hash());
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::new(text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        Name::new(text)
    }
}

impl From<&String> for Name {
    fn from(text: &String) -> Name {
        Name::new(text)
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A hash builder for maps keyed by names: fixed, so that no run differs from another.
#[derive(Clone, Copy, Default, Debug)]
pub struct FixedHash;

impl BuildHasher for FixedHash {
    type Hasher = foldhash::fast::FoldHasher<'static>;
    fn build_hasher(&self) -> Self::Hasher {
        foldhash::fast::FixedState::with_seed(0x6b75_6265_7369_6d00).build_hasher()
    }
}

/// A map with insertion order and a fixed hasher: the only hash map in results.
pub type Map<K, V> = indexmap::IndexMap<K, V, FixedHash>;
/// A set with insertion order and a fixed hasher.
pub type Set<K> = indexmap::IndexSet<K, FixedHash>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_by_text_whatever_their_address() {
        assert_eq!(Name::new("web"), Name::new("web"));
        assert!(Name::new("a") < Name::new("b"));
        assert!(Name::EMPTY < Name::new("a"));
        assert_eq!(Name::new(""), Name::EMPTY);
        assert_eq!(Name::new("web").stable_hash(), hash_text("web"));
    }

    #[test]
    fn pieces_hash_as_the_whole() {
        for number in [0, 9, 16, 255, 0x1234_5678_9abc_def0, u64::MAX] {
            let mut hasher = TextHasher::default();
            hasher.write(b"a:");
            hasher.write_hex(number);
            assert_eq!(hasher.finish(), hash_text(&format!("a:{number:x}")));
        }
    }
}
