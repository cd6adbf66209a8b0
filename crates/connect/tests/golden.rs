//! Every client's file before and after: connected, connected again, disconnected, and files that are refused.
//!
//! `golden/CLIENT/CASE.before.EXT` becomes `CASE.after.EXT` and then `CASE.removed.EXT`; `CASE.refused.EXT` stays as it is.
//! After a change on purpose: `UPDATE_GOLDEN=1 cargo test -p deskhand-connect`, and read the difference.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use deskhand_connect::{Action, Client, ConnectError, Connection, Environment, Os, Scope, clients, plan, status};
use std::fs;
use std::path::{Path, PathBuf};

struct Desk {
    _top: tempfile::TempDir,
    environment: Environment,
    binary: PathBuf,
    state: PathBuf,
}

fn desk() -> Desk {
    let top = tempfile::tempdir().unwrap();
    let home = top.path().join("home");
    fs::create_dir(&home).unwrap();
    let binary = top.path().join("deskhand");
    fs::write(&binary, "#!/bin/sh\n").unwrap();
    #[cfg(unix)]
    fs::set_permissions(&binary, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let state = top.path().join("state");
    Desk { environment: Environment::of(Os::Linux, home), binary, state, _top: top }
}

impl Desk {
    fn plan(&self, action: Action, client: Client) -> Result<deskhand_connect::Plan, ConnectError> {
        plan(action, client, Scope::User, &self.binary, &self.environment, &self.state)
    }

    /// The client's usual file.
    fn file(&self, client: Client) -> PathBuf {
        status(&self.binary, &self.environment, &self.state).into_iter().find(|s| s.client == client).unwrap().files[0].path.clone()
    }

    fn put(&self, client: Client, text: &str) -> PathBuf {
        let path = self.file(client);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn connection(&self, client: Client) -> Connection {
        status(&self.binary, &self.environment, &self.state).into_iter().find(|s| s.client == client).unwrap().connection
    }

    /// The text with this run's binary replaced by a fixed word.
    fn text(&self, path: &Path) -> String {
        fs::read_to_string(path).unwrap().replace(self.binary.to_str().unwrap(), "/BIN")
    }
}

/// All files of one kind: client, case and path.
fn cases(kind: &str) -> Vec<(Client, PathBuf)> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases = Vec::new();
    for folder in fs::read_dir(golden).unwrap().flatten() {
        let client: Client = folder.file_name().to_str().unwrap().parse().unwrap();
        for file in fs::read_dir(folder.path()).unwrap().flatten() {
            if file.file_name().to_str().unwrap().contains(&format!(".{kind}.")) {
                cases.push((client, file.path()));
            }
        }
    }
    cases.sort();
    cases
}

fn compare(case: &Path, kind: &str, text: &str) {
    let golden = PathBuf::from(case.to_str().unwrap().replace(".before.", &format!(".{kind}.")));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, text).unwrap();
    }
    let wanted = fs::read_to_string(&golden).unwrap_or_else(|_| panic!("{} is missing", golden.display()));
    assert!(text == wanted, "{}:\n{}", golden.display(), similar::TextDiff::from_lines(&wanted, text).unified_diff());
}

#[test]
fn every_client_has_a_case() {
    let with_cases: std::collections::BTreeSet<_> = cases("before").into_iter().map(|(client, _)| client).collect();
    assert_eq!(with_cases.len(), Client::ALL.len());
}

#[test]
fn files_before_and_after() {
    for (client, case) in cases("before") {
        let desk = desk();
        let before = fs::read_to_string(&case).unwrap();
        let path = desk.put(client, &before);
        let install = desk.plan(Action::Install, client).unwrap();
        assert!(!install.is_done() && install.files[0].diff.contains("mcp"), "{}", install.preview());
        assert_eq!(fs::read_to_string(&path).unwrap(), before, "a plan writes nothing");
        let applied = install.apply(&desk.state).unwrap();
        compare(&case, "after", &desk.text(&path));
        assert_eq!(desk.connection(client), Connection::Connected, "{}", case.display());
        assert_eq!(fs::read_to_string(&applied.backups[0]).unwrap(), before);
        assert!(!fs::read_to_string(&path).unwrap().contains(&clients::token(&desk.state, client.name()).unwrap().unwrap()));
        // Once more: nothing to do.
        let again = desk.plan(Action::Install, client).unwrap();
        assert!(again.is_done(), "{}", again.preview());
        assert!(again.apply(&desk.state).unwrap().files.is_empty());
        desk.plan(Action::Uninstall, client).unwrap().apply(&desk.state).unwrap();
        compare(&case, "removed", &desk.text(&path));
        assert_eq!(desk.connection(client), Connection::NotConnected);
        assert_eq!(clients::list(&desk.state).unwrap(), Vec::<String>::new());
        assert!(desk.plan(Action::Uninstall, client).unwrap().is_done());
    }
}

#[test]
fn files_that_are_refused_stay_untouched() {
    for (client, case) in cases("refused") {
        let desk = desk();
        let before = fs::read_to_string(&case).unwrap();
        let path = desk.put(client, &before);
        let error = desk.plan(Action::Install, client).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("left untouched") && text.contains(path.to_str().unwrap()), "{text}");
        let placed = matches!(&error, ConnectError::Malformed { line, column, .. } if *line >= 1 && *column >= 1);
        assert!(placed || matches!(error, ConnectError::Unexpected { .. }), "{}: {text}", case.display());
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        assert!(!desk.state.exists(), "no token is left behind");
    }
}

#[test]
fn a_client_without_a_file_gets_one() {
    for client in Client::ALL {
        let desk = desk();
        let install = desk.plan(Action::Install, client).unwrap();
        assert!(install.files[0].creates && install.notes[0].contains("not found"), "{}", install.preview());
        install.apply(&desk.state).unwrap();
        assert_eq!(desk.connection(client), Connection::Connected);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(desk.file(client)).unwrap().permissions().mode() & 0o777, 0o600);
        }
        desk.plan(Action::Uninstall, client).unwrap().apply(&desk.state).unwrap();
        assert_eq!(desk.connection(client), Connection::NotConnected);
    }
}

#[test]
fn a_file_that_changed_since_the_plan_is_not_written() {
    let desk = desk();
    let path = desk.put(Client::Cursor, "{}");
    let install = desk.plan(Action::Install, Client::Cursor).unwrap();
    fs::write(&path, "{\"mcpServers\": {\"new\": {}}}").unwrap();
    assert!(matches!(install.apply(&desk.state), Err(ConnectError::Changed { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"mcpServers\": {\"new\": {}}}");
    assert_eq!(clients::list(&desk.state).unwrap(), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_modes_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let desk = desk();
    let kept = desk.environment.home.join("dotfiles");
    fs::create_dir(&kept).unwrap();
    let target = kept.join("cursor.json");
    fs::write(&target, "{}").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    let path = desk.file(Client::Cursor);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink("../dotfiles/cursor.json", &path).unwrap();
    let install = desk.plan(Action::Install, Client::Cursor).unwrap();
    assert!(install.preview().contains("is a link to"), "{}", install.preview());
    install.apply(&desk.state).unwrap();
    assert!(path.is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("deskhand"));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    // A link to a file that is still to be made.
    let path = desk.file(Client::Goose);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(kept.join("goose.yaml"), &path).unwrap();
    desk.plan(Action::Install, Client::Goose).unwrap().apply(&desk.state).unwrap();
    assert!(path.is_symlink() && kept.join("goose.yaml").is_file());
}

#[test]
fn projects_get_no_token_and_keep_the_person_s_own() {
    let desk = desk();
    let project = desk.environment.home.join("code");
    fs::create_dir(&project).unwrap();
    for client in Client::ALL {
        let scope = || Scope::Project(project.clone());
        let install = match plan(Action::Install, client, scope(), &desk.binary, &desk.environment, &desk.state) {
            Err(ConnectError::NoProjectFile { .. }) => continue,
            other => other.unwrap(),
        };
        let path = install.files[0].path.clone();
        assert!(path.starts_with(&project) && install.preview().contains("no token"), "{}", install.preview());
        install.apply(&desk.state).unwrap();
        let token = clients::token(&desk.state, client.name()).unwrap().unwrap();
        assert!(!fs::read_to_string(&path).unwrap().contains(&token));
        let uninstall = plan(Action::Uninstall, client, scope(), &desk.binary, &desk.environment, &desk.state).unwrap();
        uninstall.apply(&desk.state).unwrap();
        assert!(!fs::read_to_string(&path).unwrap().contains("deskhand"));
        assert!(clients::token(&desk.state, client.name()).unwrap().is_some(), "other projects may use it");
    }
}

#[test]
fn status_tells_what_is_wrong() {
    let desk = desk();
    desk.put(Client::Cursor, "{\"mcpServers\": {\"deskhand\": {\"command\": \"/old/deskhand\", \"args\": []}}}");
    assert_eq!(desk.connection(Client::Cursor), Connection::Differs { starts: "/old/deskhand".into() });
    let install = desk.plan(Action::Install, Client::Cursor).unwrap();
    assert!(install.preview().contains("replaces") && install.preview().contains("/old/deskhand"), "{}", install.preview());
    install.apply(&desk.state).unwrap();
    clients::revoke(&desk.state, "cursor").unwrap();
    assert_eq!(desk.connection(Client::Cursor), Connection::Revoked);
    desk.plan(Action::Install, Client::Cursor).unwrap().apply(&desk.state).unwrap();
    assert_eq!(desk.connection(Client::Cursor), Connection::Connected);
    desk.put(Client::Zed, "{ \"a\": }");
    assert!(matches!(desk.connection(Client::Zed), Connection::Unreadable { reason } if reason.contains("line 1")));
}

#[cfg(unix)]
#[test]
fn a_binary_that_others_can_change_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = desk();
    for (mode, fine) in [(0o757, false), (0o644, false), (0o755, true), (0o700, true)] {
        fs::set_permissions(&desk.binary, fs::Permissions::from_mode(mode)).unwrap();
        let outcome = desk.plan(Action::Install, Client::Cursor);
        assert_eq!(outcome.is_ok(), fine, "{mode:o}");
    }
    let relative = plan(Action::Install, Client::Cursor, Scope::User, Path::new("deskhand"), &desk.environment, &desk.state);
    assert!(matches!(relative, Err(ConnectError::Binary { .. })));
}
