//! The cases of allowed folders on a real file system.

use crate::{Cancel, Files, FilesError, ReadOptions, WriteOptions};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

struct Desk {
    _top: tempfile::TempDir,
    allow: PathBuf,
    out: PathBuf,
    files: Files,
}

fn desk() -> Desk {
    let top = tempfile::tempdir().unwrap();
    let base = top.path().canonicalize().unwrap();
    let (allow, out) = (base.join("allow"), base.join("out"));
    fs::create_dir(&allow).unwrap();
    fs::create_dir(&out).unwrap();
    let files = Files::new(vec![allow.clone()], None);
    Desk { _top: top, allow, out, files }
}

impl Desk {
    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.allow.display())
    }

    fn read(&self, path: &str) -> Result<String, FilesError> {
        read(&self.files, path)
    }

    fn write(&self, name: &str, content: &str) -> Result<crate::Written, FilesError> {
        self.files.write(&self.path(name), content, &WriteOptions::default(), Cancel::never())
    }
}

fn read(files: &Files, path: &str) -> Result<String, FilesError> {
    files.read(path, &ReadOptions::default(), Cancel::never()).map(|reading| reading.text)
}

#[test]
fn links_that_lead_out_are_refused_and_tell_nothing() {
    let desk = desk();
    fs::write(desk.out.join("secret"), "SECRET-0123").unwrap();
    symlink(desk.out.join("secret"), desk.allow.join("l")).unwrap();
    symlink(&desk.out, desk.allow.join("d")).unwrap();
    symlink("../out/secret", desk.allow.join("r")).unwrap();
    symlink("/proc/self/root", desk.allow.join("magic")).unwrap();
    for path in ["l", "d/secret", "r", "../out/secret", "x/../../out/secret", "magic/etc/hostname", "d/nothing"] {
        let error = desk.read(&desk.path(path)).unwrap_err();
        let refused = matches!(error, FilesError::Outside { .. } | FilesError::NotFound { .. });
        assert!(refused && !error.to_string().contains("SECRET"), "{path}: {error}");
    }
    assert!(matches!(desk.files.list(&desk.path("d"), 0, Cancel::never()), Err(FilesError::Outside { .. })));
    let listing = desk.files.list(&desk.path(""), 0, Cancel::never()).unwrap();
    let link = listing.entries.iter().find(|entry| entry.name == "l").unwrap();
    assert_eq!((link.is_dir, link.size, link.kind, link.leads), (false, 0, "link", Some("outside")));
    let found = desk.files.search(&desk.path(""), "secret", 50, Cancel::never()).unwrap();
    assert!(found.matches.is_empty());
}

#[test]
fn links_that_stay_inside_work_relative_and_absolute() {
    let desk = desk();
    fs::create_dir(desk.allow.join("sub")).unwrap();
    fs::write(desk.allow.join("sub/f"), "inside").unwrap();
    symlink("sub/f", desk.allow.join("relative")).unwrap();
    symlink(desk.allow.join("sub"), desk.allow.join("absolute")).unwrap();
    symlink("../sub/f", desk.allow.join("sub/up")).unwrap();
    for path in ["relative", "absolute/f", "sub/up", "sub/../absolute/../sub/f", "./sub//f", "sub/../../allow/sub/f"] {
        assert_eq!(desk.read(&desk.path(path)).unwrap(), "inside", "{path}");
    }
    symlink("b", desk.allow.join("a")).unwrap();
    symlink("a", desk.allow.join("b")).unwrap();
    assert!(matches!(desk.read(&desk.path("a")), Err(FilesError::InvalidPath { .. })));
}

#[test]
fn a_folder_allowed_through_a_link_works_by_both_names() {
    let desk = desk();
    let link = desk.allow.with_file_name("L");
    symlink(&desk.allow, &link).unwrap();
    fs::write(desk.allow.join("f"), "both").unwrap();
    fs::write(desk.allow.with_file_name("outside.txt"), "SECRET").unwrap();
    let files = Files::new(vec![link.clone()], None);
    for path in [link.join("f"), desk.allow.join("f")] {
        assert_eq!(read(&files, path.to_str().unwrap()).unwrap(), "both");
    }
    assert!(read(&files, &format!("{}/../outside.txt", link.display())).is_err());
    // Reached through a link above it, as /tmp on macOS.
    let above = desk.out.join("above");
    symlink(desk.allow.parent().unwrap(), &above).unwrap();
    assert_eq!(read(&files, &format!("{}/allow/f", above.display())).unwrap(), "both");
}

#[test]
fn writing_through_a_dangling_link_makes_nothing_outside() {
    let desk = desk();
    symlink(desk.out.join("created"), desk.allow.join("new")).unwrap();
    symlink(desk.out.join("folder"), desk.allow.join("dir")).unwrap();
    symlink("target", desk.allow.join("inner")).unwrap();
    let make = WriteOptions { create_folders: true, encoding: None };
    for path in ["new", "dir/f", "dir/a/b", "../out/x"] {
        assert!(desk.files.write(&desk.path(path), "ESCAPED", &make, Cancel::never()).is_err(), "{path}");
    }
    assert_eq!(fs::read_dir(&desk.out).unwrap().count(), 0);
    // A dangling link that stays inside makes its target and stays a link.
    assert!(desk.write("inner", "through").unwrap().created);
    assert_eq!(fs::read_to_string(desk.allow.join("target")).unwrap(), "through");
    assert!(desk.allow.join("inner").is_symlink());
}

#[test]
fn a_link_swapped_while_running_never_leads_out() {
    let desk = desk();
    fs::create_dir(desk.allow.join("real")).unwrap();
    fs::write(desk.allow.join("real/f"), "inside").unwrap();
    fs::write(desk.out.join("f"), "SECRET").unwrap();
    let (allow, out) = (desk.allow.display(), desk.out.display());
    // A second process swaps a folder, and a file, for links that lead out, as fast as it can.
    let script = format!(
        "import os\nos.chdir('{allow}')\nprint('go', flush=True)\nwhile True:\n \
         os.rename('real','kept'); os.symlink('{out}','real'); os.unlink('real'); os.rename('kept','real')\n \
         os.rename('real/f','real/g'); os.symlink('{out}/f','real/f'); os.unlink('real/f'); os.rename('real/g','real/f')\n"
    );
    let mut swapper = std::process::Command::new("python3")
        .args(["-c", &script])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("python3 runs the swapping process");
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(swapper.stdout.take().unwrap()), &mut line).unwrap();
    let (mut read, mut refused) = (0, 0);
    for turn in 0..4000 {
        match desk.read(&desk.path("real/f")) {
            Ok(text) => {
                assert!(text == "inside" || text.starts_with("written"), "{text}");
                read += 1;
            }
            Err(_) => refused += 1,
        }
        if turn % 8 == 0 {
            let _ = desk.write("real/f", &format!("written {turn}"));
            let found = desk.files.search(&desk.path(""), "f", 50, Cancel::never());
            assert!(found.is_err() || !format!("{found:?}").contains("SECRET"));
        }
    }
    swapper.kill().unwrap();
    swapper.wait().unwrap();
    assert_eq!(fs::read_to_string(desk.out.join("f")).unwrap(), "SECRET");
    assert_eq!(fs::read_dir(&desk.out).unwrap().count(), 1);
    assert!(read > 0 && refused > 0, "the swapping was met: {read} read, {refused} refused");
}

#[test]
fn composed_and_decomposed_names() {
    let desk = desk();
    let (nfc, nfd) = ("caf\u{e9}", "cafe\u{301}");
    fs::create_dir(desk.allow.join(nfd)).unwrap();
    fs::write(desk.allow.join(nfd).join("a.txt"), "nfd").unwrap();
    assert_eq!(desk.read(&desk.path(&format!("{nfc}/a.txt"))).unwrap(), "nfd");
    fs::create_dir(desk.allow.join(nfc)).unwrap();
    fs::write(desk.allow.join(nfc).join("a.txt"), "nfc").unwrap();
    for (name, text) in [(nfc, "nfc"), (nfd, "nfd")] {
        assert_eq!(desk.read(&desk.path(&format!("{name}/a.txt"))).unwrap(), text);
    }
    // Two names that differ only so, and neither is exact.
    for name in ["o\u{323}\u{302}x", "\u{1ecd}\u{302}x"] {
        fs::write(desk.allow.join(name), "").unwrap();
    }
    assert!(matches!(desk.read(&desk.path("\u{1ed9}x")), Err(FilesError::Ambiguous { count: 2, .. })));
    fs::write(desk.allow.join("4:05\u{202f}PM.txt"), "narrow").unwrap();
    assert_eq!(desk.read(&desk.path("4:05 PM.txt")).unwrap(), "narrow");
    // Writing takes the twin in Unicode's sense, but not another space.
    fs::write(desk.allow.join("u\u{308}"), "old").unwrap();
    assert!(!desk.write("\u{fc}", "new").unwrap().created);
    assert!(desk.write("4:05 PM.txt", "other").unwrap().created);
}

#[test]
fn odd_names_are_shown_in_a_form_that_reads_them() {
    let desk = desk();
    let long = "n".repeat(251) + ".txt";
    for name in [&b"bad\xffname.txt"[..], b"new\nline.txt", b"-dash.txt", long.as_bytes(), b"back\\x41slash.txt"] {
        fs::write(desk.allow.join(std::ffi::OsStr::from_bytes(name)), "CONTENT").unwrap();
    }
    let listing = desk.files.list(&desk.path(""), 0, Cancel::never()).unwrap();
    assert_eq!(listing.entries.len(), 5);
    for entry in &listing.entries {
        assert_eq!(desk.read(&entry.path).unwrap(), "CONTENT", "{}", entry.name);
        assert_eq!(entry.raw_bytes, entry.name.contains("\\xff"));
    }
    assert_eq!(desk.files.search(&desk.path(""), ".TXT", 50, Cancel::never()).unwrap().matches.len(), 5);
    assert!(!desk.write(&long, "again").unwrap().created);
    assert!(matches!(desk.write(&"n".repeat(256), ""), Err(FilesError::InvalidPath { .. })));
}

#[test]
fn pipes_devices_sockets_and_folders_never_block() {
    let desk = desk();
    let fifo = desk.allow.join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(desk.allow.join("socket")).unwrap();
    fs::create_dir(desk.allow.join("folder")).unwrap();
    for name in ["fifo", "socket", "folder", ""] {
        assert!(matches!(desk.read(&desk.path(name)), Err(FilesError::NotAFile { .. })), "{name}");
        assert!(desk.write(name, "x").is_err(), "{name}");
    }
    let all = Files::new(vec![PathBuf::from("/dev"), PathBuf::from("/proc")], None);
    for path in ["/dev/zero", "/dev/random", "/dev/tty", "/proc/self/fd/0"] {
        assert!(read(&all, path).is_err(), "{path}");
    }
    // Files without a size are read to their end; one that never ends is bounded.
    assert!(read(&all, "/proc/self/status").unwrap().contains("VmPeak"));
    assert!(read(&all, "/proc/self/mem").is_err());
    let _ = read(&all, "/proc/kmsg");
}

#[test]
fn writing_is_exact_and_keeps_rights() {
    let desk = desk();
    for (name, mode) in [("private", 0o600), ("script", 0o755)] {
        let path = desk.allow.join(name);
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(!desk.write(name, "new content").unwrap().created);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new content");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
    fs::write(desk.allow.join("h1"), "old").unwrap();
    fs::hard_link(desk.allow.join("h1"), desk.allow.join("h2")).unwrap();
    assert!(desk.write("h1", "through").unwrap().links_split);
    assert_eq!(fs::read_to_string(desk.allow.join("h2")).unwrap(), "old");
    for content in ["\u{feff}one\r\ntwo\nthree\r", "", "\0nul", "a\u{2028}b"] {
        desk.write("exact", content).unwrap();
        assert_eq!(fs::read(desk.allow.join("exact")).unwrap(), content.as_bytes());
    }
    assert_eq!(desk.read(&desk.path("exact")).unwrap(), "a\u{2028}b");
    let error = desk.write("no/such/folder/f", "x").unwrap_err();
    assert!(error.to_string().contains("create_folders"), "{error}");
    let make = WriteOptions { create_folders: true, encoding: None };
    assert!(desk.files.write(&desk.path("a/b/c"), "x", &make, Cancel::never()).unwrap().created);
    // Cancelled before it takes its place: the old file, and nothing beside it.
    let stop = || true;
    assert!(matches!(desk.files.write(&desk.path("exact"), "never", &make, Cancel::new(&stop)), Err(FilesError::Cancelled)));
    let left: Vec<_> = fs::read_dir(&desk.allow).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("tmp")), "{left:?}");
}

#[test]
fn a_search_ends_on_cycles_and_limits() {
    let desk = desk();
    fs::create_dir_all(desk.allow.join("a/b")).unwrap();
    symlink(&desk.allow, desk.allow.join("a/loop")).unwrap();
    fs::write(desk.allow.join("a/Needle.txt"), "n").unwrap();
    fs::write(desk.allow.join("a/b/needle2"), "nn").unwrap();
    let found = desk.files.search(&desk.path(""), "needle", 50, Cancel::never()).unwrap();
    let paths: Vec<_> = found.matches.iter().map(|entry| entry.path.clone()).collect();
    assert_eq!(paths, [desk.path("a/Needle.txt"), desk.path("a/b/needle2")]);
    assert_eq!(found.incomplete, None);
    let found = desk.files.search(&desk.path(""), "needle", 1, Cancel::never()).unwrap();
    assert!(found.matches.len() == 1 && found.incomplete.is_some());
    let stop = || true;
    assert!(matches!(desk.files.search(&desk.path(""), "x", 5, Cancel::new(&stop)), Err(FilesError::Cancelled)));
    assert!(matches!(desk.files.search(&desk.path(""), "", 5, Cancel::never()), Err(FilesError::InvalidArgument { .. })));
    // A tree deeper than there are handles.
    let mut deep = desk.allow.join("deep");
    for _ in 0..900 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("bottom"), "").unwrap();
    assert_eq!(desk.files.search(&desk.path("deep"), "bottom", 5, Cancel::never()).unwrap().matches.len(), 1);
}

#[test]
fn a_long_listing_goes_on_at_an_offset() {
    let desk = desk();
    for number in 0..2500 {
        fs::write(desk.allow.join(format!("file{number:04}")), "").unwrap();
    }
    let (mut names, mut offset) = (Vec::new(), Some(0));
    while let Some(from) = offset {
        let page = desk.files.list(&desk.path(""), from, Cancel::never()).unwrap();
        assert_eq!(page.total, 2500);
        names.extend(page.entries.into_iter().map(|entry| entry.name));
        offset = page.next_offset;
    }
    assert_eq!(names.len(), 2500);
    assert!(names.is_sorted());
}

#[test]
fn what_is_lent_to_the_browser() {
    let desk = desk();
    let private = tempfile::tempdir().unwrap();
    fs::write(desk.allow.join("picture é.png"), b"\x89PNG").unwrap();
    fs::write(desk.out.join("secret"), "SECRET").unwrap();
    symlink(desk.out.join("secret"), desk.allow.join("l")).unwrap();
    let lend = |path: &str| desk.files.open_for_upload(path, private.path(), Cancel::never());
    let upload = lend(&desk.path("picture é.png")).unwrap();
    assert_eq!(fs::read(upload.path()).unwrap(), b"\x89PNG");
    assert_eq!(upload.path().file_name().unwrap(), "picture é.png");
    assert!(upload.path().starts_with(private.path()));
    assert!(lend(&desk.path("l")).is_err());
    drop(upload);
    assert_eq!(fs::read_dir(private.path()).unwrap().count(), 0);
    let url = |text: &str| desk.files.check_file_url(text, Cancel::never());
    let allow = desk.allow.display();
    assert_eq!(url(&format!("file://{allow}/picture%20%C3%A9.png")).unwrap(), desk.allow.join("picture é.png"));
    for bad in [format!("file://{allow}/l"), format!("file://{allow}/%2e%2e/out/secret"), format!("file://host{allow}/f")] {
        assert!(url(&bad).is_err(), "{bad}");
    }
    assert!(url(&format!("http://x{allow}")).is_err());
    assert!(Path::new("/etc/passwd").exists() && url("file:///etc/passwd").is_err());
}
