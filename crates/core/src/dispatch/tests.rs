//! The dispatcher and the gate together, with a scripted person and a tool that does as it is told.

use super::*;
use crate::{Answer, Callers, Consent, Context, Grant, GroupSet, Prompt, PromptKind, Reply, Text, Tool};
use async_trait::async_trait;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Default)]
struct Desk {
    ran: AtomicU32,
    down: AtomicU32,
    released: AtomicU32,
    order: Mutex<Vec<String>>,
}

struct Held(Arc<Desk>);

impl HeldInput for Held {
    fn any(&self) -> bool {
        self.0.down.load(Ordering::SeqCst) > 0
    }
    fn release(&self) {
        if self.0.down.swap(0, Ordering::SeqCst) > 0 {
            self.0.released.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Args {
    /// What to do: ok, fail, panic, hang, down.
    what: String,
    /// Something private.
    #[serde(default)]
    secret: Option<Text>,
    /// Milliseconds.
    timeout: Option<u64>,
}

struct Act;
impl Tool for Act {
    type Host = Desk;
    type Args = Args;
    type Output = bool;
    const NAME: &'static str = "act";
    const TITLE: &'static str = "Act";
    const SUMMARY: &'static str = "Does as it is told.";
    const GROUPS: &'static [Group] = &[Group::Keyboard];
    const EFFECT: crate::Effect = crate::Effect::Changes;

    fn lane(_: &Desk, _: &Caller, _: &Args) -> crate::Lane {
        crate::Lane::Desktop
    }
    fn timeout(args: &Args) -> Option<Duration> {
        args.timeout.map(Duration::from_millis)
    }
    async fn run(host: &Desk, cx: &Context, args: Args) -> Result<Reply<bool>, ToolError> {
        host.ran.fetch_add(1, Ordering::SeqCst);
        host.order.lock().push(cx.caller.scope());
        match args.what.as_str() {
            "ok" => Ok(Reply::new(true)),
            "down" => {
                host.down.store(1, Ordering::SeqCst);
                Ok(Reply::new(true))
            }
            "panic" => {
                host.down.store(1, Ordering::SeqCst);
                panic!("told to")
            }
            "hang" => {
                host.down.store(1, Ordering::SeqCst);
                cx.cancel.cancelled().await;
                Err(ToolError::cancelled("3 of 9 characters were typed").with("typed", 3))
            }
            _ => Err(ToolError::failed("told to")),
        }
    }
}

struct Look;
impl Tool for Look {
    type Host = Desk;
    type Args = NoArgs;
    type Output = bool;
    const NAME: &'static str = "look";
    const TITLE: &'static str = "Look";
    const SUMMARY: &'static str = "Looks.";
    const GROUPS: &'static [Group] = &[Group::Screen];
    const EFFECT: crate::Effect = crate::Effect::Reads;
    const LOOKS: bool = true;
    async fn run(_: &Desk, _: &Context, _: NoArgs) -> Result<Reply<bool>, ToolError> {
        Ok(Reply::new(true))
    }
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct NoArgs {}

/// A person whose answers are written down beforehand; `None` never answers.
#[derive(Default)]
struct Person {
    answers: Mutex<Vec<Option<Answer>>>,
    asked: Mutex<Vec<(PromptKind, String, Value)>>,
}

#[async_trait]
impl Consent for Person {
    async fn ask(&self, prompt: Prompt) -> Option<Answer> {
        self.asked.lock().push((prompt.kind, prompt.caller.id(), prompt.arguments));
        let answer = {
            let mut answers = self.answers.lock();
            if answers.is_empty() { None } else { answers.remove(0) }
        };
        match answer {
            Some(answer) => Some(answer),
            None => std::future::pending().await,
        }
    }
}

fn with(gate: Gate) -> (Dispatcher, Arc<Desk>) {
    let desk = Arc::new(Desk::default());
    let mut registry = Registry::default();
    registry.add(Handler::new::<Act>(&desk));
    registry.add(Handler::new::<Look>(&desk));
    let held = Arc::new(Held(Arc::clone(&desk)));
    let parts = DispatcherParts { registry, extras: Arc::new(crate::NoExtras), gate, audit: Arc::new(Audit::nowhere()), held };
    (Dispatcher::new(parts), desk)
}

fn asked(answers: Vec<Option<Answer>>) -> (Dispatcher, Arc<Desk>, Arc<Person>) {
    let person = Arc::new(Person { answers: Mutex::new(answers), asked: Mutex::default() });
    let (dispatcher, desk) = with(Gate::asking(person.clone(), GroupSet::off_by_default()));
    (dispatcher, desk, person)
}

fn act(what: &str) -> Call {
    Call::new(Caller::main(), "act", json!({ "what": what, "secret": "hunter2" }))
}

fn kind(outcome: &Outcome) -> &'static str {
    outcome.as_ref().map_or_else(|e| e.kind.name(), |_| "ok")
}

fn screen_only() -> Answer {
    Answer::Authorize(Grant::lasting(Group::Screen.into(), Callers::Everyone))
}

#[tokio::test]
async fn headless_policy_is_the_whole_policy() {
    let (dispatcher, desk) = with(Gate::headless(GroupSet::parse("screen").unwrap()));
    let outcome = dispatcher.call(act("ok")).await;
    assert_eq!(kind(&outcome), "denied");
    assert!(outcome.unwrap_err().message.contains("--authorize screen,keyboard"));
    assert_eq!(desk.ran.load(Ordering::SeqCst), 0);
    let (dispatcher, _) = with(Gate::headless(GroupSet::ALL));
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "ok");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_question_stands_answers_within_five_seconds_and_never_runs() {
    let (dispatcher, desk, person) = asked(vec![None]);
    let begun = tokio::time::Instant::now();
    let outcome = dispatcher.call(act("ok")).await;
    assert_eq!(kind(&outcome), "consent_pending");
    assert!(outcome.unwrap_err().details["retry_after_ms"].is_number());
    assert!(begun.elapsed() <= Duration::from_millis(5_100));
    // A second call finds the question standing: it is not put twice.
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "consent_pending");
    assert_eq!(person.asked.lock().len(), 1);
    assert_eq!(person.asked.lock()[0].2["secret"], "<7 characters>", "private text is not shown");
    assert_eq!(desk.ran.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_answers_is_one_refusal_that_is_not_remembered() {
    let (dispatcher, desk, person) = asked(vec![None, Some(Answer::Refuse)]);
    dispatcher.call(act("ok")).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(113)).await;
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "denied");
    assert_eq!(person.asked.lock().len(), 1);
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "denied");
    assert_eq!(person.asked.lock().len(), 2, "asked again, and refused for good");
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "denied");
    assert_eq!(person.asked.lock().len(), 2);
    assert_eq!(desk.ran.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn once_is_for_the_same_call_and_session_for_the_group_until_stop() {
    let (dispatcher, desk, person) = asked(vec![Some(screen_only()), Some(Answer::Once), Some(Answer::Session), Some(Answer::Refuse)]);
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "ok");
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "ok", "asked again, for the session");
    assert_eq!(kind(&dispatcher.call(act("fail")).await), "failed", "other arguments, same group");
    assert_eq!(person.asked.lock().len(), 3);
    dispatcher.gate().stop("the person pressed Stop");
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "denied");
    assert_eq!(person.asked.lock().last().unwrap().0, PromptKind::Authorize);
    assert_eq!(desk.ran.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn always_and_refusal_hold_for_that_caller_alone_and_can_be_taken_back() {
    let other = || Call::new(Caller::client("cursor"), "act", json!({ "what": "ok" }));
    let (dispatcher, _, person) = asked(vec![Some(screen_only()), Some(Answer::Always), Some(Answer::Refuse), Some(Answer::Session)]);
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "ok");
    assert_eq!(kind(&dispatcher.call(other()).await), "denied");
    assert_eq!(kind(&dispatcher.call(other()).await), "denied");
    assert_eq!(person.asked.lock().len(), 3, "a refusal is not asked again");
    assert_eq!(dispatcher.gate().standing().len(), 2);
    dispatcher.gate().forget("client:cursor");
    assert_eq!(kind(&dispatcher.call(other()).await), "ok");
    assert_eq!(dispatcher.gate().standing(), [crate::Standing { caller: "main".into(), group: Group::Keyboard, allowed: true }]);
}

#[tokio::test]
async fn a_group_that_is_switched_off_is_neither_listed_nor_asked_for() {
    let (dispatcher, _, person) = asked(vec![]);
    dispatcher.gate().set_disabled(Group::Keyboard.into());
    let names: Vec<_> = dispatcher.tools().await.iter().map(|t| t.name.clone()).collect();
    assert_eq!(names, ["look"]);
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "denied");
    assert!(person.asked.lock().is_empty());
}

#[tokio::test]
async fn stop_ends_what_runs_and_tells_how_far_it_came() {
    let (dispatcher, desk) = with(Gate::headless(GroupSet::ALL));
    let running = tokio::spawn({
        let dispatcher = dispatcher.clone();
        async move { dispatcher.call(act("hang")).await }
    });
    while desk.down.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    dispatcher.gate().stop("the person pressed Ctrl+Alt+Esc");
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert!(error.message.contains("Ctrl+Alt+Esc") && error.message.contains("3 of 9"), "{}", error.message);
    assert_eq!(error.details["typed"], 3);
    assert_eq!(desk.released.load(Ordering::SeqCst), 1);
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "denied");
}

#[tokio::test(start_paused = true)]
async fn every_way_out_releases_what_is_held() {
    let (dispatcher, desk) = with(Gate::headless(GroupSet::ALL));
    assert_eq!(kind(&dispatcher.call(act("panic")).await), "failed");
    assert_eq!(desk.released.load(Ordering::SeqCst), 1, "panic");
    assert_eq!(kind(&dispatcher.call(act("hang")).await), "timed_out");
    assert_eq!(desk.released.load(Ordering::SeqCst), 2, "deadline");
    let call = act("hang");
    let cancel = call.cancel.clone();
    let (outcome, ()) = tokio::join!(dispatcher.call(call), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    });
    assert_eq!(kind(&outcome), "cancelled");
    assert_eq!(desk.released.load(Ordering::SeqCst), 3, "cancel");
    let abandoned = tokio::time::timeout(Duration::from_millis(50), dispatcher.call(act("hang"))).await;
    assert!(abandoned.is_err());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(desk.released.load(Ordering::SeqCst), 4, "the door went away");
    assert_eq!(kind(&dispatcher.call(act("down")).await), "ok");
    assert_eq!(desk.released.load(Ordering::SeqCst), 4, "held on purpose");
    dispatcher.session_ended(&Caller::main()).await;
    assert_eq!(desk.released.load(Ordering::SeqCst), 5, "session end");
}

#[tokio::test(start_paused = true)]
async fn held_input_keeps_the_desktop_for_its_caller_until_it_has_been_idle_ten_seconds() {
    let (dispatcher, desk) = with(Gate::headless(GroupSet::ALL));
    let other = Call::new(Caller::client("b"), "act", json!({ "what": "ok" }));
    dispatcher.call(act("down")).await.unwrap();
    let begun = tokio::time::Instant::now();
    let (outcome, _) = tokio::join!(dispatcher.call(other), async {
        tokio::time::sleep(Duration::from_secs(6)).await;
        dispatcher.call(act("ok")).await
    });
    assert_eq!(kind(&outcome), "ok");
    assert_eq!(*desk.order.lock(), ["main", "main", "client:b"]);
    assert!(begun.elapsed() >= Duration::from_secs(16), "the second call renewed it: {:?}", begun.elapsed());
    assert_eq!(desk.released.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn pause_ends_calls_and_after_it_the_caller_must_look_first() {
    let (dispatcher, _) = with(Gate::headless(GroupSet::ALL));
    dispatcher.gate().pause("the person moved the mouse; they resume it in Deskhand");
    let paused = dispatcher.call(act("ok")).await.unwrap_err();
    assert_eq!(paused.kind, ErrorKind::Paused);
    assert!(paused.message.contains("resume"));
    dispatcher.gate().resume();
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "look_again");
    let other = Caller::client("b");
    dispatcher.call(Call::new(other, "look", json!({}))).await.unwrap();
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "look_again", "another caller's look does not count");
    dispatcher.call(Call::new(Caller::main(), "look", json!({}))).await.unwrap();
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "ok");
}

#[tokio::test]
async fn a_timed_grant_ends_by_itself() {
    let (dispatcher, _, _) = asked(vec![]);
    dispatcher.gate().authorise(Grant::timed(GroupSet::ALL, Callers::Everyone, Duration::from_millis(50)));
    assert_eq!(kind(&dispatcher.call(act("ok")).await), "ok");
    let gate = dispatcher.gate().clone();
    let watching = tokio::spawn(async move { gate.expire().await });
    let mut changes = dispatcher.gate().changes();
    while !matches!(dispatcher.gate().state(), crate::GateState::Off { .. }) {
        let _ = tokio::time::timeout(Duration::from_millis(100), changes.changed()).await;
    }
    watching.abort();
}

#[tokio::test]
async fn a_longer_time_is_for_local_callers_up_to_two_minutes() {
    let (dispatcher, _) = with(Gate::headless(GroupSet::ALL));
    let with_timeout = |caller: Caller, ms: u64| Call::new(caller, "act", json!({ "what": "ok", "timeout": ms }));
    assert_eq!(kind(&dispatcher.call(with_timeout(Caller::main(), 120_000)).await), "ok");
    let long = dispatcher.call(with_timeout(Caller::main(), 120_001)).await.unwrap_err();
    assert!(long.message.contains("120000"), "{}", long.message);
    let gateway = dispatcher.call(with_timeout(Caller::gateway("g", "ann"), 25_001)).await.unwrap_err();
    assert!(gateway.message.contains("25000") && gateway.kind == ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn every_call_leaves_a_start_and_an_end_and_nothing_private() {
    let (dispatcher, _) = with(Gate::headless(GroupSet::NONE));
    let mut lines = dispatcher.audit().lines();
    for call in [act("ok"), Call::new(Caller::main(), "nope", json!({})), Call::new(Caller::main(), "act", json!({ "wat": "hunter2" }))] {
        let _ = dispatcher.call(call).await;
        let (start, end) = (lines.recv().await.unwrap(), lines.recv().await.unwrap());
        assert_eq!((&start["event"], &end["event"], &start["call"]), (&"start".into(), &"end".into(), &end["call"]));
        assert!(!start.to_string().contains("hunter2"));
    }
}
