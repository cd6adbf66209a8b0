//! The token in a real keyring: gnome-keyring on a session bus of its own.

use std::process::{Command, Stdio};

use deskhand_executor::{Kept, Token, Vault};

/// Runs this test binary again inside a session bus with an unlocked keyring.
#[test]
fn the_token_lives_in_gnome_keyring() {
    let have = |program: &str| Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !have("dbus-run-session") || !have("gnome-keyring-daemon") {
        crate::skipped("dbus-run-session or gnome-keyring-daemon is not installed (Debian: dbus, gnome-keyring)");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let script = "printf 'test' | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec \"$0\" keyring::inside --exact --ignored --nocapture";
    let output = Command::new("dbus-run-session")
        .args(["--", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("HOME", home.path())
        .env("XDG_DATA_HOME", home.path().join("data"))
        .env("XDG_RUNTIME_DIR", home.path())
        .env_remove("DISPLAY")
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
#[ignore = "runs inside the_token_lives_in_gnome_keyring"]
async fn inside() {
    let dir = tempfile::tempdir().unwrap();
    let vault = Vault::new(dir.path());
    let token = Token::new("ana:00ff");
    assert_eq!(vault.put("https://x ana", &token).await.unwrap(), Kept::Keyring);
    assert!(!dir.path().join("gateway-token").exists(), "not in a file as well");
    assert!(vault.get("https://x ana").await.unwrap() == Some(token));
    assert!(vault.get("https://x bob").await.unwrap().is_none());
    vault.remove("https://x ana").await.unwrap();
    assert!(vault.get("https://x ana").await.unwrap().is_none());
}

#[tokio::test]
async fn without_a_keyring_it_is_a_private_file() {
    let dir = tempfile::tempdir().unwrap();
    let vault = Vault::in_file(dir.path());
    assert_eq!(vault.put("a", &Token::new("ana:00")).await.unwrap(), Kept::File);
    assert!(vault.get("a").await.unwrap().is_some());
}
