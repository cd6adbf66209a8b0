//! From a path to an open parent folder and one name, without ever trusting the path again.
//!
//! Each component is looked up in the handle of the folder before it and never followed by the system: a link is read
//! as text and walked like a path the agent gave, starting over at the allow-list when it is absolute. So links inside
//! the allowed folders work, links out of them do not, and a link swapped in between two steps makes the next open
//! fail instead of leading away. `cap-std` adds the same containment below each single open (`openat2` with
//! `RESOLVE_BENEATH` where there is one).

use crate::names::{composed, loose, shown_path, unescape};
use crate::roots::Roots;
use crate::{Cancel, FilesError};
use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, Metadata};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

/// More links than this in one path is a cycle; Linux has the same limit.
const MAX_LINKS: u32 = 40;
/// More entries than this are not searched for a twin of a missing name.
const MAX_TWINS_SEEN: usize = 200_000;

/// What to do about names that are not there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The whole path must exist; a name that differs only in accents' or spaces' encoding will do.
    Fails,
    /// The last name may be missing: it is about to be made.
    LastMayMiss,
    /// The last name and folders before it may be missing; folders are made.
    MakeFolders,
}

/// A folder held open and a name in it.
pub(crate) struct Place {
    /// The open parent, or the folder itself when `name` is absent.
    pub(crate) folder: Dir,
    /// The last name; absent for an allowed folder itself.
    pub(crate) name: Option<OsString>,
    /// Where this really is: no links in it when it was walked.
    pub(crate) real: PathBuf,
}

impl Place {
    /// What is at the name now, without following a link.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        match &self.name {
            Some(name) => self.folder.symlink_metadata(name),
            None => self.folder.dir_metadata(),
        }
    }

    fn is_folder(&self) -> bool {
        self.metadata().is_ok_and(|metadata| metadata.is_dir())
    }

    /// Opens it as a folder; a link that took its place since the walk is refused by the system.
    pub(crate) fn open_folder(self) -> io::Result<Dir> {
        match &self.name {
            Some(name) => self.folder.open_dir_nofollow(name),
            None => Ok(self.folder),
        }
    }
}

enum Step {
    Up,
    Into(OsString),
}

/// One walk of one path.
pub(crate) struct Walk<'a> {
    roots: &'a Roots,
    asked: &'a str,
    missing: Missing,
    cancel: Cancel<'a>,
    links: u32,
    /// Open folders from the allowed folder (first, its name unused) to where the walk is.
    stack: Vec<(Dir, OsString)>,
    real: PathBuf,
    steps: VecDeque<Step>,
}

impl<'a> Walk<'a> {
    /// Walks `asked` to its place. Links are followed, the last one too, as far as they stay inside.
    pub(crate) fn to(roots: &'a Roots, asked: &'a str, missing: Missing, cancel: Cancel<'a>) -> Result<Place, FilesError> {
        let path = roots.absolute(asked)?;
        let (stack, steps) = (Vec::new(), VecDeque::new());
        let mut walk = Self { roots, asked, missing, cancel, links: 0, stack, real: PathBuf::new(), steps };
        walk.enter(&path)?;
        let place = walk.run()?;
        if asked.ends_with(std::path::is_separator) && !place.is_folder() {
            let reason = "it ends in a slash, and no folder is there. Leave the slash out".to_owned();
            return Err(FilesError::InvalidPath { path: asked.to_owned(), reason });
        }
        Ok(place)
    }

    fn enter(&mut self, path: &Path) -> Result<(), FilesError> {
        let entry = self.roots.enter(path, self.asked, self.links > 0, self.cancel)?;
        self.stack = vec![(entry.dir, OsString::new())];
        self.real = entry.real;
        self.steps = steps_of(&entry.rest);
        Ok(())
    }

    fn run(mut self) -> Result<Place, FilesError> {
        while let Some(step) = self.steps.pop_front() {
            self.cancel.check()?;
            match step {
                Step::Up => self.up()?,
                Step::Into(name) => {
                    if let Some(name) = self.step_into(&name)? {
                        let real = self.path_here().join(&name);
                        let Some((folder, _)) = self.stack.pop() else { break };
                        return Ok(Place { folder, name: Some(name), real });
                    }
                }
            }
        }
        // The path ended in `..` or named the allowed folder itself.
        let real = self.path_here();
        let Some((folder, _)) = self.stack.pop() else { return Err(self.roots.refusal(self.asked, true)) };
        Ok(Place { folder, name: None, real })
    }

    /// The real path of the folder the walk is in.
    fn path_here(&self) -> PathBuf {
        let mut path = self.real.clone();
        path.extend(self.stack.iter().skip(1).map(|(_, name)| name));
        path
    }

    fn up(&mut self) -> Result<(), FilesError> {
        if self.stack.len() > 1 {
            self.stack.pop();
            return Ok(());
        }
        // Above an allowed folder: fine only if that is inside another one. The real path has no links, so its
        // parent by name is its parent.
        self.count_link()?;
        match self.real.parent().map(Path::to_owned) {
            Some(parent) => self.start_over(&parent),
            None => Err(self.roots.refusal(self.asked, true)),
        }
    }

    /// Takes one component. Answers its name when the walk ends there.
    fn step_into(&mut self, name: &OsStr) -> Result<Option<OsString>, FilesError> {
        let last = self.steps.is_empty();
        let Some((name, metadata)) = self.look_up(name)? else {
            if last && self.missing != Missing::Fails {
                return Ok(Some(name.to_owned()));
            }
            if self.missing != Missing::MakeFolders {
                return Err(self.not_found(name));
            }
            self.make_folder(name)?;
            return self.descend(name.to_owned()).map(|()| None);
        };
        if self.roots.closes(&metadata) {
            return Err(FilesError::Closed { path: self.asked.to_owned() });
        }
        if metadata.is_symlink() {
            self.follow(&name)?;
            return Ok(None);
        }
        if last {
            return Ok(Some(name));
        }
        if !metadata.is_dir() {
            let path = shown_path(&self.path_here().join(&name));
            return Err(FilesError::NotAFolder { path, kind: kind_of(&metadata) });
        }
        self.descend(name)?;
        Ok(None)
    }

    fn here(&self) -> Result<&Dir, FilesError> {
        self.stack.last().map(|(dir, _)| dir).ok_or_else(|| self.roots.refusal(self.asked, true))
    }

    /// The entry with this name: exactly, or by its escaped form, or the only twin of it.
    fn look_up(&self, name: &OsStr) -> Result<Option<(OsString, Metadata)>, FilesError> {
        let here = self.here()?;
        let mut names = vec![name.to_owned()];
        names.extend(unescape(name));
        for name in names {
            match here.symlink_metadata(&name) {
                Ok(metadata) => return Ok(Some((name, metadata))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(FilesError::from_io(self.asked, error)),
            }
        }
        let Some(name) = name.to_str() else { return Ok(None) };
        // A name about to be made is a twin only in Unicode's own sense: "a b" must not overwrite "a\u{a0}b".
        let form = if self.missing == Missing::Fails { loose } else { composed };
        let Some(twin) = self.twin(here, name, form)? else { return Ok(None) };
        let metadata = here.symlink_metadata(&twin).map_err(|error| FilesError::from_io(self.asked, error))?;
        Ok(Some((twin, metadata)))
    }

    fn twin(&self, here: &Dir, name: &str, form: fn(&str) -> String) -> Result<Option<OsString>, FilesError> {
        let wanted = form(name);
        if name.is_ascii() && !name.contains(' ') {
            return Ok(None);
        }
        // A folder that can be entered but not listed simply has no twins to offer.
        let Ok(entries) = here.entries() else { return Ok(None) };
        let mut found = Vec::new();
        for (seen, entry) in entries.flatten().enumerate().take(MAX_TWINS_SEEN) {
            if seen % 256 == 0 {
                self.cancel.check()?;
            }
            let entry = entry.file_name();
            if entry.to_str().is_some_and(|entry| form(entry) == wanted) {
                found.push(entry);
            }
        }
        match found.len() {
            0 | 1 => Ok(found.pop()),
            count => Err(FilesError::Ambiguous { path: self.asked.to_owned(), count }),
        }
    }

    fn make_folder(&self, name: &OsStr) -> Result<(), FilesError> {
        match self.here()?.create_dir(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(FilesError::from_io(self.asked, error)),
            _ => Ok(()),
        }
    }

    fn descend(&mut self, name: OsString) -> Result<(), FilesError> {
        let dir = self.here()?.open_dir_nofollow(&name).map_err(|error| swapped(self.asked, error))?;
        // What was opened counts, not what the look-up saw.
        if dir.dir_metadata().is_ok_and(|metadata| self.roots.closes(&metadata)) {
            return Err(FilesError::Closed { path: self.asked.to_owned() });
        }
        self.stack.push((dir, name));
        Ok(())
    }

    fn follow(&mut self, name: &OsStr) -> Result<(), FilesError> {
        self.count_link()?;
        let target = self.here()?.read_link_contents(name).map_err(|error| swapped(self.asked, error))?;
        if target.has_root() || target.is_absolute() {
            return self.start_over(&target);
        }
        for step in steps_of(&target).into_iter().rev() {
            self.steps.push_front(step);
        }
        Ok(())
    }

    /// Goes on at an absolute path with the steps that are left.
    fn start_over(&mut self, path: &Path) -> Result<(), FilesError> {
        let mut path = path.to_owned();
        for step in self.steps.drain(..) {
            match step {
                Step::Up => path.push(".."),
                Step::Into(name) => path.push(name),
            }
        }
        self.enter(&path)
    }

    fn count_link(&mut self) -> Result<(), FilesError> {
        self.links += 1;
        if self.links <= MAX_LINKS {
            return Ok(());
        }
        let reason = "too many links in it (they may form a circle)".to_owned();
        Err(FilesError::InvalidPath { path: self.asked.to_owned(), reason })
    }

    fn not_found(&self, name: &OsStr) -> FilesError {
        let (name, folder) = (shown_path(Path::new(name)), shown_path(&self.path_here()));
        let hint = if self.missing == Missing::LastMayMiss {
            format!("there is no folder {name:?} in {folder}. Check the path, or pass create_folders: true")
        } else {
            format!("there is no {name:?} in {folder}. computer_file_list shows what is there")
        };
        FilesError::NotFound { path: self.asked.to_owned(), hint }
    }
}

fn steps_of(path: &Path) -> VecDeque<Step> {
    let step = |part: Component<'_>| match part {
        Component::Normal(name) => Some(Step::Into(name.to_owned())),
        Component::ParentDir => Some(Step::Up),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
}

/// An open that fails because the entry is no longer what the lookup saw.
pub(crate) fn swapped(asked: &str, error: io::Error) -> FilesError {
    match error.kind() {
        // ELOOP, ENOTDIR, EINVAL: a link or another kind of entry took the place.
        io::ErrorKind::NotADirectory | io::ErrorKind::InvalidInput | io::ErrorKind::NotFound => {
            FilesError::Changed { path: asked.to_owned() }
        }
        _ if is_link_refusal(&error) => FilesError::Changed { path: asked.to_owned() },
        _ => FilesError::from_io(asked, error),
    }
}

#[cfg(unix)]
fn is_link_refusal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_link_refusal(_error: &io::Error) -> bool {
    false
}

/// What an entry is, in words.
pub(crate) fn kind_of(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    if kind.is_dir() {
        return "a folder";
    }
    if kind.is_symlink() {
        return "a link";
    }
    special_kind(kind)
}

#[cfg(unix)]
fn special_kind(kind: cap_std::fs::FileType) -> &'static str {
    use cap_std::fs::FileTypeExt as _;
    match kind {
        kind if kind.is_file() => "a file",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something special",
    }
}

#[cfg(not(unix))]
fn special_kind(kind: cap_std::fs::FileType) -> &'static str {
    if kind.is_file() { "a file" } else { "something special" }
}
