//! Files, folders and patterns to documents.

use std::path::{Component, Path, PathBuf};

use super::diagnostic::Diagnostics;
use super::input;
use super::yaml::Document;
use crate::rules::suggest;

/// Endings of files that a folder or pattern is searched for.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];
/// Most files that an include may name.
const FILES_MAX: usize = 10_000;

/// Reads the documents of a file; what is known and not read yet is a notice.
pub fn read(path: &Path, problems: &mut Diagnostics) -> Vec<Document> {
    let file = input::read(path);
    problems.extend(file.problems);
    problems.extend(file.not_read);
    file.documents
}

/// The system's words differ between machines; ours do not.
pub(super) fn why(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".into(),
        std::io::ErrorKind::PermissionDenied => "may not be read".into(),
        std::io::ErrorKind::IsADirectory => "is a folder".into(),
        _ => error.to_string(),
    }
}

/// The entry of the same folder whose name is nearest to that of a path that does not exist.
pub fn neighbour(path: &Path) -> Option<PathBuf> {
    if path.exists() {
        return None;
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut names: Vec<String> =
        entries(folder).ok()?.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_string())).collect();
    names.sort();
    names.truncate(FILES_MAX);
    let near = suggest::nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(folder.join(near))
}

/// The files that a path names: itself, the files of a folder, or those that fit a pattern with `*` and `?`.
/// Folders are read in byte order of their paths.
///
/// # Errors
/// What is wrong, in words that follow the path.
pub fn expand(path: &Path) -> Result<Vec<PathBuf>, String> {
    if path.is_dir() {
        let mut files = Vec::new();
        walk(path, &mut files)?;
        files.retain(|file| file.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)));
        return sorted(files, "the folder holds no .yaml, .yml or .json file");
    }
    if !path.to_string_lossy().contains(['*', '?']) {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let pattern = part.as_os_str().to_string_lossy();
        if !pattern.contains(['*', '?']) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        for folder in &found {
            next.extend(
                entries(folder)?
                    .into_iter()
                    .filter(|path| path.file_name().is_some_and(|name| fits(&pattern, &name.to_string_lossy()))),
            );
        }
        found = next;
    }
    found.retain(|path| path.is_file());
    sorted(found, "no file fits the pattern")
}

fn sorted(mut files: Vec<PathBuf>, when_empty: &str) -> Result<Vec<PathBuf>, String> {
    files.sort_by(|a, b| a.as_os_str().as_encoded_bytes().cmp(b.as_os_str().as_encoded_bytes()));
    match files.len() {
        0 => Err(when_empty.to_string()),
        FILES_MAX.. => Err(format!("names more than {FILES_MAX} files")),
        _ => Ok(files),
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let entries: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    entries.map_err(|error| why(&error))
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in entries(folder)? {
        // Links to folders are not followed: they could lead in a circle.
        let is_folder = std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        if is_folder {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            return Err(format!("names more than {FILES_MAX} files"));
        }
    }
    Ok(())
}

/// Whether a name fits a pattern: `*` stands for any characters, `?` for one.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // reached[j]: the pattern so far fits the first j characters of the name.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for sign in pattern {
        let mut next = vec![false; name.len() + 1];
        for j in 0..=name.len() {
            next[j] = match sign {
                '*' => reached[j] || j > 0 && next[j - 1],
                _ => j > 0 && reached[j - 1] && (sign == '?' || sign == name[j - 1]),
            };
        }
        reached = next;
    }
    reached[name.len()]
}

/// Why files that a scenario names are not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotFound {
    /// They are there, but outside the scenario's folder.
    pub is_outside: bool,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// The files that a scenario in a folder names. Unless `allow_outside`, each of them lies in that folder, also when links
/// are followed.
///
/// # Errors
/// One of them lies outside, or none is there.
pub fn find(folder: &Path, named: &str, allow_outside: bool) -> Result<Vec<PathBuf>, NotFound> {
    let outside = |message: String| {
        let help = "move the file there, or run with --allow-outside".to_string();
        NotFound { is_outside: true, message, help: Some(help) }
    };
    let missing = |message: String, help| NotFound { is_outside: false, message, help };
    let path = match allow_outside {
        true => folder.join(named),
        false => inside(folder, named).map_err(outside)?,
    };
    let paths = expand(&path).map_err(|why| missing(format!("`{named}`: {why}"), None))?;
    for path in &paths {
        if !path.exists() {
            let near = neighbour(path).map(|near| format!("did you mean {}?", near.display()));
            return Err(missing(format!("no such file: {}", path.display()), near));
        }
        if !allow_outside && leads_out(folder, path) {
            return Err(outside(format!("`{}` is a link out of the scenario's folder", path.display())));
        }
    }
    Ok(paths)
}

/// Whether a path ends up outside of a folder once links are followed.
fn leads_out(folder: &Path, path: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(if path.as_os_str().is_empty() { Path::new(".") } else { path });
    matches!((real(folder), real(path)), (Ok(folder), Ok(target)) if !target.starts_with(&folder))
}

/// The path that a scenario names, which must lie in its folder.
///
/// # Errors
/// It lies outside.
fn inside(folder: &Path, named: &str) -> Result<PathBuf, String> {
    let path = Path::new(named);
    let mut depth = 0_i64;
    for part in path.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => depth = -1,
        }
        if depth < 0 {
            return Err(format!("`{named}` lies outside the scenario's folder"));
        }
    }
    let joined = folder.join(path);
    // A link in the folder may still lead out of it.
    match leads_out(folder, &joined) {
        true => Err(format!("`{named}` lies outside the scenario's folder")),
        false => Ok(joined),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names() {
        for (pattern, name, expected) in [
            ("*.yaml", "a.yaml", true),
            ("*.yaml", "a.yml", false),
            ("a?c*", "abcd", true),
            ("a?c", "ac", false),
            ("*", "", true),
            ("*a*b*", "xxaxxbxx", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out_of_the_folder() {
        use std::os::unix::fs::symlink;
        let base = std::env::temp_dir().join(format!("kubesim-files-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        let folder = base.join("scenario");
        std::fs::create_dir_all(folder.join("more")).expect("folders can be made");
        std::fs::write(base.join("secret.yaml"), "a: 1").expect("files can be written");
        std::fs::write(folder.join("own.yaml"), "a: 1").expect("files can be written");
        symlink(base.join("secret.yaml"), folder.join("more/link.yaml")).expect("links can be made");
        symlink(folder.join("own.yaml"), folder.join("fine.yaml")).expect("links can be made");
        let found = |named, allow| find(&folder, named, allow).map(|paths| paths.len()).map_err(|why| why.is_outside);
        for named in ["more", "more/link.yaml", "more/*.yaml", "../secret.yaml"] {
            assert_eq!(found(named, false), Err(true), "{named}");
            assert_eq!(found(named, true), Ok(1), "{named}");
        }
        assert_eq!(found("*.yaml", false), Ok(2));
        let missing = find(&folder, "owm.yaml", false).expect_err("it is not there");
        assert!(!missing.is_outside && missing.help.is_some_and(|help| help.contains("own.yaml")));
        let _ = std::fs::remove_dir_all(&base);
    }

    #[test]
    fn named_files_stay_inside() {
        for (named, fine) in [
            ("a.yaml", true),
            ("sub/../a.yaml", true),
            ("../a.yaml", false),
            ("sub/../../a.yaml", false),
            ("/etc/passwd", false),
        ] {
            assert_eq!(inside(Path::new("folder"), named).is_ok(), fine, "{named}");
        }
    }
}
