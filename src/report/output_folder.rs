//! The folder of results: replaced as a whole or not at all, and never somebody else's.
//!
//! Results are written into a hidden sibling (`.NAME.kubesim-new`). [`OutputFolder::commit`] flushes it to the disk, moves
//! an older folder of ours aside (`.NAME.kubesim-old`), moves the new one into place and deletes the older one. Whatever
//! fails before leaves the older one as it was; if the machine stops between the two moves, the next run moves it back.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use super::summary::{self, FILE_NAME};

const NEW_SUFFIX: &str = ".kubesim-new";
const OLD_SUFFIX: &str = ".kubesim-old";
/// Locked by the run that writes into the hidden folder: an unlocked one was left behind.
const LOCK_NAME: &str = ".lock";
/// Room kept from the start, so that a full disk still holds the summaries that say so.
const RESERVE_NAME: &str = ".reserve";
const RESERVE_BYTES: usize = 256 * 1024;

/// A folder of results that is being written.
#[derive(Debug)]
pub struct OutputFolder {
    target: PathBuf,
    new: PathBuf,
    old: PathBuf,
    /// Held until the folder is committed or dropped.
    lock: Option<File>,
}

/// Why results cannot be written.
#[derive(Debug)]
pub enum OutputError {
    /// The folder holds something and no summary.json of ours.
    NotOurs(PathBuf),
    /// There is a file at the path, or the path names no folder.
    NotAFolder(PathBuf),
    /// Another run writes to the same folder.
    Busy(PathBuf),
    /// The system refused.
    Io {
        /// What was tried, e.g. `cannot create`.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl OutputError {
    /// Whether the disk, or the user's share of it, is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, OutputError::Io { source, .. } if is_disk_full(source))
    }
}

/// Whether an error says that the disk, or the user's share of it, is full.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutputError::NotOurs(path) => write!(
                f,
                "folder {} is not empty and holds no summary.json of kubesim: it is left alone; choose another folder",
                path.display()
            ),
            OutputError::NotAFolder(path) => write!(f, "{} is not a folder", path.display()),
            OutputError::Busy(path) => write!(f, "another run is writing to {}", path.display()),
            OutputError::Io { action, path, source } if is_disk_full(source) => {
                write!(f, "{action} {}: the disk is full ({source})", path.display())
            }
            OutputError::Io { action, path, source } => write!(f, "{action} {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OutputError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl OutputFolder {
    /// Checks that results may go to `target` without changing anything.
    ///
    /// # Errors
    /// [`OutputError::NotOurs`], [`OutputError::NotAFolder`], or the folder cannot be read.
    pub fn check(target: &Path) -> Result<(), OutputError> {
        let entries = match fs::read_dir(target) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(OutputError::NotAFolder(target.to_path_buf()));
            }
            Err(error) => return Err(io_error("cannot read", target, error)),
        };
        let is_empty = entries.into_iter().next().is_none();
        if is_empty || is_ours(target) { Ok(()) } else { Err(OutputError::NotOurs(target.to_path_buf())) }
    }

    /// Makes the hidden folder that becomes `target`, and its parents. What a run that was killed left behind is put
    /// right first.
    ///
    /// # Errors
    /// Those of [`OutputFolder::check`], [`OutputError::Busy`], or the system refuses.
    pub fn begin(target: &Path) -> Result<OutputFolder, OutputError> {
        let target = resolve(target)?;
        let (new, old) = (sibling(&target, NEW_SUFFIX)?, sibling(&target, OLD_SUFFIX)?);
        OutputFolder::check(&target)?;
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|error| io_error("cannot create", parent, error))?;
        }
        clear_leftover(&new, &target)?;
        fs::create_dir(&new).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => OutputError::Busy(target.clone()),
            _ => io_error("cannot create", &new, error),
        })?;
        let mut folder = OutputFolder { target, new, old, lock: None };
        folder.lock = Some(take_lock(&folder.new)?);
        folder.recover()?;
        folder.write(RESERVE_NAME, &vec![b'.'; RESERVE_BYTES])?;
        Ok(folder)
    }

    /// Where the results will be.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Makes a file of the results, and its folders: `trace.csv`, `relist/trace.csv`.
    ///
    /// # Errors
    /// The system refuses; `is_disk_full` tells when the disk is full.
    pub fn create(&self, name: &str) -> Result<File, OutputError> {
        let path = self.path_of(name);
        let folder = path.parent().expect("a result lies in the folder");
        fs::create_dir_all(folder).map_err(|error| io_error("cannot create", folder, error))?;
        File::create_new(&path).map_err(|error| io_error("cannot create", &path, error))
    }

    /// Writes a whole file of the results.
    ///
    /// # Errors
    /// See [`OutputFolder::create`].
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        let mut file = self.create(name)?;
        file.write_all(bytes).map_err(|error| self.write_error(name, error))
    }

    /// The disk is full: gives back the room kept for this, and cuts the named files after their last whole row.
    ///
    /// # Errors
    /// The system refuses.
    pub fn make_room(&self, names: &[String]) -> Result<(), OutputError> {
        let reserve = self.new.join(RESERVE_NAME);
        match fs::remove_file(&reserve) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(io_error("cannot remove", &reserve, error));
            }
            _ => {}
        }
        for name in names {
            let path = self.path_of(name);
            cut_after_last_row(&path).map_err(|error| io_error("cannot cut", &path, error))?;
        }
        Ok(())
    }

    /// Removes a file or folder of the results that could not be finished.
    ///
    /// # Errors
    /// The system refuses.
    pub fn discard(&self, name: &str) -> Result<(), OutputError> {
        let path = self.path_of(name);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error("cannot remove", &path, error)),
            _ => Ok(()),
        }
    }

    /// The error of a write to a file of the results, in the words of this module.
    pub fn write_error(&self, name: &str, source: io::Error) -> OutputError {
        io_error("cannot write", &self.target.join(name), source)
    }

    /// Puts the results in place. They hold a summary.json of ours: without one the next run could not replace them.
    ///
    /// # Errors
    /// The system refuses: an older folder is then as it was.
    pub fn commit(mut self) -> Result<(), OutputError> {
        assert!(is_ours(&self.new), "results without a summary.json");
        self.make_room(&[])?;
        let lock = self.new.join(LOCK_NAME);
        fs::remove_file(&lock).map_err(|error| io_error("cannot remove", &lock, error))?;
        sync(&self.new)?;
        // The target may have changed since the run began.
        OutputFolder::check(&self.target)?;
        let had_older = self.target.exists();
        if had_older {
            rename(&self.target, &self.old)?;
        }
        if let Err(error) = rename(&self.new, &self.target) {
            if had_older {
                rename(&self.old, &self.target)?;
            }
            return Err(error);
        }
        self.lock = None;
        if let Some(parent) = self.target.parent() {
            sync_one(parent)?;
        }
        if had_older {
            // The results are in place; an older folder that cannot be deleted now is deleted by the next run.
            let _ = fs::remove_dir_all(&self.old);
        }
        Ok(())
    }

    fn path_of(&self, name: &str) -> PathBuf {
        let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        assert!(inside && !name.is_empty(), "results lie inside their folder");
        self.new.join(name)
    }

    /// After a stop between the two moves of a commit the older results are the only ones: they go back. After a later
    /// stop they are superseded: they go away.
    fn recover(&self) -> Result<(), OutputError> {
        if !self.old.exists() {
            return Ok(());
        }
        if !self.target.exists() {
            return rename(&self.old, &self.target);
        }
        fs::remove_dir_all(&self.old).map_err(|error| io_error("cannot remove", &self.old, error))
    }
}

fn cut_after_last_row(path: &Path) -> io::Result<()> {
    let bytes = fs::read(path)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |position| position + 1);
    fs::OpenOptions::new().write(true).open(path)?.set_len(whole as u64)
}

/// A folder that was not committed leaves nothing behind.
impl Drop for OutputFolder {
    fn drop(&mut self) {
        if self.lock.take().is_some() {
            // Nobody can be told here; the next run tries again.
            let _ = fs::remove_dir_all(&self.new);
        }
    }
}

/// The target with `.`, `..` and links resolved as far as it exists, so that its sibling lies on the same disk.
fn resolve(target: &Path) -> Result<PathBuf, OutputError> {
    match fs::canonicalize(target) {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(target.to_path_buf()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(OutputError::NotAFolder(target.to_path_buf())),
        Err(error) => Err(io_error("cannot read", target, error)),
    }
}

fn sibling(target: &Path, suffix: &str) -> Result<PathBuf, OutputError> {
    let name = target.file_name().ok_or_else(|| OutputError::NotAFolder(target.to_path_buf()))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(suffix);
    Ok(target.with_file_name(hidden))
}

fn is_ours(folder: &Path) -> bool {
    fs::read(folder.join(FILE_NAME)).is_ok_and(|text| summary::is_ours(&text))
}

/// Deletes a hidden folder that no living run holds.
fn clear_leftover(new: &Path, target: &Path) -> Result<(), OutputError> {
    if !new.exists() {
        return Ok(());
    }
    if let Ok(lock) = File::open(new.join(LOCK_NAME))
        && let Err(fs::TryLockError::WouldBlock) = lock.try_lock()
    {
        return Err(OutputError::Busy(target.to_path_buf()));
    }
    fs::remove_dir_all(new).map_err(|error| io_error("cannot remove", new, error))
}

fn take_lock(folder: &Path) -> Result<File, OutputError> {
    let path = folder.join(LOCK_NAME);
    let file = File::create(&path).map_err(|error| io_error("cannot create", &path, error))?;
    match file.try_lock() {
        // A file system without locks only loses the warning about a second run.
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(OutputError::Busy(folder.to_path_buf())),
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), OutputError> {
    fs::rename(from, to).map_err(|error| io_error("cannot move", from, error))
}

/// Flushes a folder and all in it to the disk: a full disk may only show itself here.
fn sync(folder: &Path) -> Result<(), OutputError> {
    let entries = fs::read_dir(folder).map_err(|error| io_error("cannot read", folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| io_error("cannot read", folder, error))?;
        let path = entry.path();
        if path.is_dir() { sync(&path)? } else { sync_one(&path)? }
    }
    sync_one(folder)
}

fn sync_one(path: &Path) -> Result<(), OutputError> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let synced = File::open(path).and_then(|file| file.sync_all());
    match synced {
        // Some file systems do not flush folders, and say so.
        Err(error) if !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Err(io_error("cannot write", path, error))
        }
        _ => Ok(()),
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> OutputError {
    OutputError::Io { action, path: path.to_path_buf(), source }
}

#[cfg(test)]
#[path = "output_folder_tests.rs"]
mod tests;
