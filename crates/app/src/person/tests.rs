//! The person's side without any window.

use super::*;
use deskhand_core::{Caller, Callers, GateState, Grant, Group, Prompt, PromptKind, Standing};

fn person() -> (tempfile::TempDir, Person) {
    let dir = tempfile::tempdir().unwrap();
    let state = StateFolder::open(Some(&dir.path().join("state"))).unwrap();
    let settings = Settings { port: 0, ..Settings::default() };
    settings.save(&state).unwrap();
    let person = Person::new(state).unwrap();
    (dir, person)
}

fn wish(minutes: Option<f64>) -> GrantWish {
    GrantWish { groups: vec!["screen".into(), "mouse".into()], minutes, callers: None }
}

#[test]
fn what_comes_right_after_an_agents_press_is_not_the_persons_word() {
    assert!(judge(false).is_ok());
    let why = judge(true).unwrap_err();
    assert!(why.contains("Nothing was changed") && why.contains("try again"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_runs_and_control_goes_up_and_down_by_the_persons_orders() {
    let (_dir, person) = person();
    assert!(person.authorize(&wish(Some(15.0))).unwrap_err().contains("does not run"));
    assert_eq!(person.start().await, Started::Yes);
    assert!(person.snapshot().runs);
    person.authorize(&wish(Some(15.0))).unwrap();
    let until = person.snapshot().control.until.unwrap();
    person.extend(15).unwrap();
    assert!(person.snapshot().control.until.unwrap() > until);
    assert!(
        person.authorize(&wish(Some(0.0))).is_err()
            && person.authorize(&GrantWish { groups: vec![], minutes: None, callers: None }).is_err()
    );
    person.pause();
    assert_eq!(person.snapshot().control.reason, Some("person"));
    assert!(person.authorize(&wish(None)).unwrap_err().contains("paused"));
    person.resume().unwrap();
    assert_eq!(person.snapshot().control.state, "authorised");
    person.stop();
    assert_eq!((person.snapshot().control.state, person.snapshot().control.reason), ("off", Some("stop")));
    person.end().await;
    assert!(!person.snapshot().runs);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_told_and_another_one_helps() {
    let (_dir, person) = person();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    person
        .change(|s| {
            s.port = port;
            Ok(())
        })
        .unwrap();
    assert_eq!(person.start().await, Started::No);
    let problem = person.snapshot().problem.unwrap();
    assert!(problem.contains(&port.to_string()) && problem.contains("Settings"), "{problem}");
    let mut changes = person.changes();
    person
        .change(|s| {
            s.port = 0;
            Ok(())
        })
        .unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(20), async {
        while !person.snapshot().runs {
            changes.changed().await.unwrap();
        }
    })
    .await
    .unwrap();
    person.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_and_groups_are_saved_and_are_there_at_the_next_start() {
    let (_dir, person) = person();
    assert_eq!(person.start().await, Started::Yes);
    person.set_group("file_write", true).unwrap();
    person.set_group("mouse", false).unwrap();
    let standing = Standing { caller: "client:cursor".into(), group: Group::Screen, allowed: true };
    let mut changes = person.changes();
    person.gate().set_standing([standing.clone()]);
    while Settings::load(person.state()).0.standing.is_empty() {
        changes.changed().await.unwrap();
    }
    let saved = Settings::load(person.state()).0;
    assert_eq!((saved.disabled.to_string().as_str(), &saved.standing[..]), ("mouse, extra", &[standing][..]));
    let state = person.state().clone();
    person.end().await;
    let again = Person::new(state).unwrap();
    assert_eq!(again.snapshot().standing.len(), 1);
    assert!(!again.snapshot().groups.iter().find(|g| g.name == "mouse").unwrap().enabled);
    again.forget_standing("client:cursor", "screen").unwrap();
    assert!(again.snapshot().standing.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_needs_a_new_start_waits_for_control_to_be_off() {
    let (_dir, person) = person();
    assert_eq!(person.start().await, Started::Yes);
    person.gate().authorise(Grant::lasting(GroupSet::ALL, Callers::Everyone));
    let blocked = serde_json::json!({ "blockOrigins": ["https://example.com/"] });
    person.set_settings(blocked.as_object().unwrap()).unwrap();
    assert!(person.snapshot().settings.restart_needed);
    assert!(matches!(person.gate().state(), GateState::Authorised { .. }));
    let mut changes = person.changes();
    person.stop();
    tokio::time::timeout(std::time::Duration::from_secs(20), async {
        while person.snapshot().settings.restart_needed || !person.snapshot().runs {
            changes.changed().await.unwrap();
        }
    })
    .await
    .unwrap();
    assert_eq!(person.settings().block_origins, ["https://example.com"]);
    person.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_come_and_go_and_our_own_stays_closed() {
    let (dir, person) = person();
    let shared = dir.path().canonicalize().unwrap().join("shared");
    std::fs::create_dir(&shared).unwrap();
    person.add_folder(&shared).unwrap();
    assert_eq!(person.snapshot().folders[0].path, shared.display().to_string());
    assert!(person.add_folder(person.state().path()).is_err());
    assert!(person.add_folder(&dir.path().join("gone")).is_err());
    person.remove_folder(&shared).unwrap();
    assert!(person.snapshot().folders.is_empty());
}

#[tokio::test]
async fn a_question_is_shown_with_what_it_is_about() {
    let (_dir, person) = person();
    let questions = person.0.questions.clone();
    let mut changes = questions.changes();
    let prompt = Prompt {
        id: 4,
        kind: PromptKind::Group(Group::Mouse),
        caller: Caller::client("cursor").with_program(Some("node".into())),
        tool: "computer_mouse_click".into(),
        arguments: serde_json::json!({ "x": 1 }),
    };
    let asking = tokio::spawn(async move { deskhand_core::Consent::ask(&questions, prompt).await });
    changes.changed().await.unwrap();
    let question = person.snapshot().question.unwrap();
    assert_eq!((question.id, question.kind, question.group), (4, "group", Some("mouse")));
    assert_eq!((question.caller_name.as_str(), question.program.as_deref()), ("cursor", Some("node")));
    assert_eq!((question.arguments.as_str(), question.tool_summary.as_str()), (r#"{"x":1}"#, "Click"));
    assert!(person.answer(3, Reply::Refuse, None).is_err());
    person.answer(4, Reply::Once, None).unwrap();
    assert!(asking.await.unwrap().is_some());
}
