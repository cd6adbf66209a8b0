//! The folders the person allowed, and how a path enters one of them.
//!
//! A folder is pinned to the real path it had when it was first reachable, and is opened anew for each call along that
//! path **without following any link**: a folder that is deleted and made again works, one that is swapped for a link
//! does not. An entry that does not resolve allows nothing; it is never "no restriction".

use crate::names::{composed, shown, shown_path};
use crate::{Cancel, FilesError};
use cap_fs_ext::{DirExt as _, MetadataExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

/// One allowed folder.
struct Root {
    /// As configured, made absolute. `None` when that was impossible (relative, and no current folder).
    configured: Option<PathBuf>,
    /// As configured, for messages.
    text: String,
    /// Its real path once known; never changes afterwards.
    real: Mutex<Option<PathBuf>>,
}

/// A folder or file that stays closed, known by what it is and not by its name: links and hard links to it are it.
#[derive(Clone)]
pub(crate) struct Closed {
    real: PathBuf,
    /// What the folder was at the start. Anything else is looked at anew each time, because writing a file makes another one.
    folder: Option<(u64, u64)>,
}

impl Closed {
    pub(crate) fn of(place: &Path) -> Self {
        let real = place.canonicalize().unwrap_or_else(|_| place.to_owned());
        let opened = Dir::open_ambient_dir(&real, ambient_authority());
        let folder = opened.and_then(|dir| dir.dir_metadata()).ok().map(|m| (m.dev(), m.ino()));
        Self { real, folder }
    }

    fn is(&self, metadata: &Metadata) -> bool {
        let place = if metadata.is_dir() { self.folder.or_else(|| self.there()) } else { self.there() };
        place == Some((metadata.dev(), metadata.ino()))
    }

    /// What is there now. Nothing is opened but the folder above: a token may come through a pipe.
    fn there(&self) -> Option<(u64, u64)> {
        let (above, name) = (self.real.parent()?, self.real.file_name()?);
        let metadata = Dir::open_ambient_dir(above, ambient_authority()).ok()?.symlink_metadata(name).ok()?;
        Some((metadata.dev(), metadata.ino()))
    }

    /// Whether an allowed folder lies in it and is not what was downloaded.
    fn holds(&self, real: &Path) -> bool {
        real.starts_with(&self.real) && !real.starts_with(self.real.join("downloads"))
    }
}

/// The allow-list.
pub(crate) struct Roots {
    roots: Vec<Arc<Root>>,
    home: Option<PathBuf>,
    closed: Vec<Closed>,
}

/// Where a path begins: the open folder, its real path, and what is left of the path.
pub(crate) struct Entry {
    pub(crate) dir: Dir,
    pub(crate) real: PathBuf,
    pub(crate) rest: PathBuf,
}

/// One folder of the allow-list, as a caller may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedFolder {
    /// As configured.
    pub path: String,
    /// The real path, when it differs from `path` (the folder is reached through a link).
    pub real: Option<String>,
    /// It can be opened now.
    pub reachable: bool,
}

impl Root {
    fn new(path: PathBuf) -> Self {
        let text = shown_path(&path);
        let root = Self { configured: std::path::absolute(&path).ok(), text, real: Mutex::new(None) };
        // Pinned as early as possible; a folder that is not there yet is tried again at each call.
        let _ = root.real_path();
        root
    }

    fn real_path(&self) -> io::Result<PathBuf> {
        let mut real = self.real.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(path) = &*real {
            return Ok(path.clone());
        }
        let configured = self.configured.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let path = configured.canonicalize()?;
        if !path.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        *real = Some(path.clone());
        Ok(path)
    }

    fn open(&self) -> io::Result<(Dir, PathBuf)> {
        let real = self.real_path()?;
        Ok((open_without_links(&real)?, real))
    }
}

/// Opens an absolute path component by component, none of which may be a link.
fn open_without_links(path: &Path) -> io::Result<Dir> {
    let mut top = PathBuf::new();
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Prefix(_) | Component::RootDir => top.push(part.as_os_str()),
            Component::Normal(name) => names.push(name),
            Component::CurDir | Component::ParentDir => return Err(io::ErrorKind::InvalidInput.into()),
        }
    }
    let mut dir = Dir::open_ambient_dir(top, ambient_authority())?;
    for name in names {
        dir = dir.open_dir_nofollow(name)?;
    }
    Ok(dir)
}

impl Roots {
    pub(crate) fn new(folders: Vec<PathBuf>, home: Option<PathBuf>) -> Self {
        let expand = |path: PathBuf| match (path.strip_prefix("~"), &home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        };
        let roots = folders.into_iter().map(expand).map(|folder| Arc::new(Root::new(folder))).collect();
        Self { roots, home, closed: Vec::new() }
    }

    pub(crate) fn with_closed(&self, closed: Closed) -> Self {
        let closed = self.closed.iter().cloned().chain([closed]).collect();
        Self { roots: self.roots.clone(), home: self.home.clone(), closed }
    }

    pub(crate) fn with_folders(&self, folders: Vec<PathBuf>) -> Self {
        Self { closed: self.closed.clone(), ..Self::new(folders, self.home.clone()) }
    }

    /// Whether this is a folder or file that stays closed.
    pub(crate) fn closes(&self, metadata: &Metadata) -> bool {
        self.closed.iter().any(|closed| closed.is(metadata))
    }

    /// The list as a caller may see it.
    pub(crate) fn folders(&self) -> Vec<AllowedFolder> {
        let describe = |root: &Arc<Root>| {
            let opened = root.open();
            let configured = root.configured.as_deref();
            let path = configured.map_or_else(|| root.text.clone(), shown_path);
            let real = opened.as_ref().ok().map(|(_, real)| shown_path(real)).filter(|real| *real != path);
            AllowedFolder { path, real, reachable: opened.is_ok() }
        };
        self.roots.iter().map(describe).collect()
    }

    /// Makes an agent's path absolute: `~` is the person's home, a relative path is taken in the only allowed folder.
    pub(crate) fn absolute(&self, asked: &str) -> Result<PathBuf, FilesError> {
        let invalid = |reason: &str| FilesError::InvalidPath { path: asked.to_owned(), reason: reason.to_owned() };
        if asked.is_empty() {
            return Err(invalid("it is empty. Give the absolute path of a file or folder"));
        }
        if asked.contains('\0') {
            return Err(invalid("it contains a NUL character"));
        }
        let path = Path::new(asked);
        if let (Ok(rest), Some(home)) = (path.strip_prefix("~"), &self.home) {
            return Ok(home.join(rest));
        }
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        match &self.roots[..] {
            [] => Err(self.refusal(asked, false)),
            [only] if !path.has_root() => {
                let base = only.configured.as_ref().ok_or_else(|| self.refusal(asked, false))?;
                Ok(base.join(path))
            }
            _ => Err(invalid("it is relative. Give the absolute path (computer_whitelist lists the allowed folders)")),
        }
    }

    /// The error for a path that is not, or no longer, inside.
    pub(crate) fn refusal(&self, asked: &str, by_link: bool) -> FilesError {
        let path = asked.to_owned();
        let (usable, unusable): (Vec<_>, Vec<_>) = self.folders().into_iter().partition(|folder| folder.reachable);
        let names = |list: Vec<AllowedFolder>| list.into_iter().take(5).map(|folder| folder.path).collect();
        if usable.is_empty() {
            return FilesError::NoFolders { path, unusable: names(unusable) };
        }
        FilesError::Outside { path, by_link, allowed: names(usable) }
    }

    /// Finds the allowed folder an absolute path lies in and opens it.
    pub(crate) fn enter(&self, path: &Path, asked: &str, by_link: bool, cancel: Cancel<'_>) -> Result<Entry, FilesError> {
        if let Some(entry) = self.enter_as_written(path, asked)? {
            return Ok(entry);
        }
        // The path may reach an allowed folder through a link above it (`/tmp` on macOS, a linked home). What the
        // system says here only picks the folder; the opening below it is contained all the same.
        for (above, rest) in ancestors(path) {
            cancel.check()?;
            let Ok(real) = above.canonicalize() else { continue };
            return match self.enter_as_written(&real.join(rest), asked)? {
                Some(entry) => Ok(entry),
                None => break,
            };
        }
        Err(self.refusal(asked, by_link))
    }

    fn enter_as_written(&self, path: &Path, asked: &str) -> Result<Option<Entry>, FilesError> {
        let mut best: Option<(usize, &Arc<Root>, PathBuf)> = None;
        for root in &self.roots {
            let real = root.real_path().ok();
            for base in [root.configured.as_deref(), real.as_deref()].into_iter().flatten() {
                let depth = base.components().count();
                if let Some(rest) = below(path, base)
                    && best.as_ref().is_none_or(|(found, ..)| depth > *found)
                {
                    best = Some((depth, root, rest));
                }
            }
        }
        let Some((_, root, rest)) = best else { return Ok(None) };
        match root.open() {
            Ok((_, real)) if self.closed.iter().any(|closed| closed.holds(&real)) => Err(FilesError::Closed { path: asked.to_owned() }),
            Ok((dir, real)) => Ok(Some(Entry { dir, real, rest })),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(FilesError::from_io(asked, error)),
            Err(_) => Err(self.refusal(asked, false)),
        }
    }
}

/// The folders above `path` that contain no `..` below them, nearest first, each with what is left.
fn ancestors(path: &Path) -> impl Iterator<Item = (&Path, &Path)> {
    path.ancestors().filter_map(move |above| Some((above, path.strip_prefix(above).ok()?)))
}

/// What is left of `path` below `base`, comparing names in composed form; `None` when it is not below.
fn below(path: &Path, base: &Path) -> Option<PathBuf> {
    let same = |a: Component<'_>, b: Component<'_>| {
        a == b || {
            let form = |part: Component<'_>| composed(&shown(part.as_os_str()).0);
            matches!((a, b), (Component::Normal(_), Component::Normal(_))) && form(a) == form(b)
        }
    };
    let mut parts = path.components();
    for part in base.components() {
        if !same(parts.next()?, part) {
            return None;
        }
    }
    Some(parts.as_path().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(roots: &Roots, path: &Path) -> Result<Entry, FilesError> {
        roots.enter(path, &shown_path(path), false, Cancel::never())
    }

    #[test]
    fn an_allow_list_that_resolves_to_nothing_refuses_everything() {
        let dir = tempfile::tempdir().unwrap();
        let gone = dir.path().join("gone");
        for folders in [vec![], vec![gone.clone()], vec![PathBuf::from("no/such/relative")]] {
            let roots = Roots::new(folders, None);
            for path in [dir.path(), Path::new("/etc/passwd"), gone.as_path()] {
                assert!(matches!(enter(&roots, path), Err(FilesError::NoFolders { .. })), "{path:?}");
            }
        }
        // Made afterwards, it is what the person allowed.
        let roots = Roots::new(vec![gone.clone()], None);
        std::fs::create_dir(&gone).unwrap();
        assert!(enter(&roots, &gone).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_swapped_for_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (allowed, out) = (dir.path().join("allowed"), dir.path().join("out"));
        std::fs::create_dir(&allowed).unwrap();
        std::fs::create_dir(&out).unwrap();
        let roots = Roots::new(vec![allowed.clone()], None);
        assert!(enter(&roots, &allowed).is_ok());
        std::fs::remove_dir(&allowed).unwrap();
        std::os::unix::fs::symlink(&out, &allowed).unwrap();
        assert!(matches!(enter(&roots, &allowed), Err(FilesError::NoFolders { .. })));
    }

    #[test]
    fn the_closed_folder_stays_closed_by_whatever_way() {
        let dir = tempfile::tempdir().unwrap();
        let (allowed, state) = (dir.path().join("home"), dir.path().join("home/state"));
        std::fs::create_dir_all(state.join("downloads")).unwrap();
        for name in ["token", "downloads/a", "downloads/../token"] {
            std::fs::write(state.join(name), "secret").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(&state, allowed.join("by-link")).unwrap();
        let files = crate::Files::new(vec![allowed.clone(), state.clone()], None).with_closed(&state);
        let closed = |path: &Path| {
            let text = shown_path(path);
            let read = files.read(&text, &crate::ReadOptions::default(), Cancel::never()).map(|_| ());
            let write = files.write(&text, "x", &crate::WriteOptions::default(), Cancel::never()).map(|_| ());
            let list = files.list(&text, 0, Cancel::never()).map(|_| ());
            assert!([read, write, list].iter().all(Result::is_err), "{text}");
        };
        closed(&state);
        closed(&state.join("token"));
        closed(&state.join("new"));
        closed(&state.join("downloads/a"));
        closed(&allowed.join("by-link"));
        closed(&allowed.join("by-link/token"));
        closed(&allowed.join("x/../state/token"));
        assert_eq!(std::fs::read_to_string(state.join("token")).unwrap(), "secret");
        assert!(files.search(&shown_path(&allowed), "token", 10, Cancel::never()).unwrap().matches.is_empty());
        // What was downloaded may be allowed by name; a list that changes keeps the rest closed.
        files.set_folders(vec![state.join("downloads")]);
        assert!(files.read(&shown_path(&state.join("downloads/a")), &crate::ReadOptions::default(), Cancel::never()).is_ok());
        closed(&state.join("token"));
    }

    #[test]
    fn a_closed_file_is_closed_under_every_name() {
        let dir = tempfile::tempdir().unwrap();
        let token = dir.path().join("token");
        std::fs::write(&token, "secret").unwrap();
        let files = crate::Files::new(vec![dir.path().to_owned()], None).with_closed(&dir.path().join("other")).with_closed(&token);
        std::fs::hard_link(&token, dir.path().join("hard")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("token", dir.path().join("soft")).unwrap();
        let refused = |name: &str| {
            let text = shown_path(&dir.path().join(name));
            let read = files.read(&text, &crate::ReadOptions::default(), Cancel::never()).map(|_| ());
            let write = files.write(&text, "x", &crate::WriteOptions::default(), Cancel::never()).map(|_| ());
            [read, write].iter().all(|outcome| matches!(outcome, Err(FilesError::Closed { .. })))
        };
        assert!(refused("token") && refused("hard"));
        #[cfg(unix)]
        assert!(refused("soft"));
        // Another file in its place is the one to keep now.
        std::fs::remove_file(&token).unwrap();
        std::fs::write(&token, "newer").unwrap();
        assert!(refused("token") && !refused("hard"));
        assert_eq!(std::fs::read_to_string(&token).unwrap(), "newer");
    }

    #[test]
    fn relative_and_home_paths() {
        let dir = tempfile::tempdir().unwrap();
        let one = Roots::new(vec![dir.path().to_owned()], Some(PathBuf::from("/home/x")));
        assert_eq!(one.absolute("a/b").unwrap(), dir.path().join("a/b"));
        assert_eq!(one.absolute("~/n").unwrap(), Path::new("/home/x/n"));
        let two = Roots::new(vec![dir.path().to_owned(), PathBuf::from("/")], None);
        assert!(matches!(two.absolute("a/b"), Err(FilesError::InvalidPath { .. })));
        assert!(matches!(two.absolute("a\0b"), Err(FilesError::InvalidPath { .. })));
        assert!(matches!(two.absolute(""), Err(FilesError::InvalidPath { .. })));
    }
}
