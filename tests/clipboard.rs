//! What is on the clipboard survives being borrowed. The witness is xclip, another program on the same display.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use deskhand_desktop::clipboard::Clipboard;

use crate::support::server::Server;

fn xclip(display: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("xclip");
    command.args(["-selection", "clipboard", "-display", display]).args(arguments).stderr(Stdio::null());
    command
}

fn pasted(display: &str, form: &str) -> Vec<u8> {
    xclip(display, &["-o", "-t", form]).output().unwrap().stdout
}

/// Copies as another program would, and waits until it is the owner.
fn copied(display: &str, form: &str, content: &[u8]) {
    let mut child = xclip(display, &["-i", "-t", form]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(content).unwrap();
    child.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while pasted(display, form) != content {
        assert!(Instant::now() < end, "xclip does not own the clipboard");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_picture_is_given_back_byte_for_byte_after_text_stood_there() {
    let server = Server::start("640x480x24");
    let clipboard = Clipboard::new(Some(server.name().into()));
    // Larger than one request may be, so it travels in parts both ways.
    let picture: Vec<u8> = (0..5_000_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    copied(server.name(), "image/png", &picture);
    let saved = clipboard.save().unwrap();
    clipboard.set_text("漢字テスト").unwrap();
    assert_eq!(pasted(server.name(), "UTF8_STRING"), "漢字テスト".as_bytes());
    assert_eq!(clipboard.text().unwrap().as_deref(), Some("漢字テスト"));
    assert!(clipboard.put_back(&saved).unwrap());
    assert!(pasted(server.name(), "image/png") == picture, "the picture has changed");
    let offered = String::from_utf8(pasted(server.name(), "TARGETS")).unwrap();
    assert!(offered.contains("image/png") && !offered.contains("UTF8_STRING"), "{offered}");
}

#[test]
fn what_somebody_copied_meanwhile_is_newer_and_stays() {
    let server = Server::start("640x480x24");
    let clipboard = Clipboard::new(Some(server.name().into()));
    copied(server.name(), "UTF8_STRING", b"before");
    let saved = clipboard.save().unwrap();
    clipboard.set_text("borrowed").unwrap();
    copied(server.name(), "UTF8_STRING", b"copied meanwhile");
    assert!(!clipboard.put_back(&saved).unwrap());
    assert_eq!(clipboard.text().unwrap().as_deref(), Some("copied meanwhile"));
}

#[test]
fn an_empty_clipboard_is_empty_again() {
    let server = Server::start("640x480x24");
    let clipboard = Clipboard::new(Some(server.name().into()));
    assert_eq!(clipboard.text().unwrap(), None);
    let saved = clipboard.save().unwrap();
    assert!(saved.is_empty());
    clipboard.set_text("borrowed").unwrap();
    assert!(clipboard.put_back(&saved).unwrap());
    assert_eq!(clipboard.text().unwrap(), None);
    assert!(pasted(server.name(), "UTF8_STRING").is_empty());
}

#[test]
fn without_a_display_the_error_names_it() {
    let error = Clipboard::new(Some(":4097".into())).text().unwrap_err().to_string();
    assert!(error.contains(":4097"), "{error}");
}
