//! From what the worker knows to what a person is shown: plain values in, plain values out, so that what a person sees is
//! tested without a window.

use super::questions::Front;
use super::settings::Settings;
use super::snapshot::{Control, GatewayState, GroupInfo, GroupTool, Question, SettingsInfo, StandingInfo};
use deskhand_core::{Caller, Callers, Effect, GateState, Group, GroupSet, Origin, PromptKind, Standing, ToolInfo};
use deskhand_executor::{SocketState, Status};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
#[must_use]
pub fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// A name for people, from an identity as the log writes it.
#[must_use]
pub fn name_of(id: &str) -> String {
    if let Some(client) = id.strip_prefix("client:") {
        return client.to_owned();
    }
    match id.strip_prefix("gateway:").and_then(|rest| rest.rsplit_once('@')) {
        Some((user, server)) => format!("{user} through {server}"),
        None if id == "main" => "a local program with the main token".into(),
        None => id.to_owned(),
    }
}

pub(super) fn kind_of(id: &str) -> &'static str {
    match id {
        _ if id.starts_with("client:") => "client",
        _ if id.starts_with("gateway:") => "gateway",
        _ => "main",
    }
}

impl Control {
    /// How the gate stands.
    #[must_use]
    pub fn of(state: &GateState) -> Self {
        let none = |state, why: &str| Self {
            state,
            why: Some(why.to_owned()),
            reason: Some(reason(why)),
            groups: Vec::new(),
            callers: None,
            until: None,
        };
        match state {
            GateState::Off { why } => none("off", why),
            GateState::Paused { why } => none("paused", why),
            GateState::Authorised { groups, callers, until } => Self {
                state: "authorised",
                why: None,
                reason: None,
                groups: groups.iter().map(Group::name).collect(),
                callers: match callers {
                    Callers::Everyone => None,
                    Callers::Only(ids) => Some(ids.iter().cloned().collect()),
                },
                until: until.map(millis),
            },
        }
    }
}

/// The sort of reason that a sentence of the gate gives; pages translate these.
fn reason(why: &str) -> &'static str {
    const KNOWN: [(&str, &str); 8] = [
        ("it has not been authorised", "start"),
        ("its time ran out", "time"),
        ("the person pressed", "stop_key"),
        ("the session was locked", "lock"),
        ("the session ended", "sign_out"),
        ("the person took over", "takeover"),
        ("the person paused", "person"),
        ("the person stopped", "stop"),
    ];
    KNOWN.iter().find(|(start, _)| why.starts_with(start)).map_or("other", |(_, reason)| reason)
}

impl Question {
    /// The question as it is shown.
    #[must_use]
    pub fn of(front: &Front, tools: &[Arc<ToolInfo>]) -> Self {
        let prompt = &front.prompt;
        let group = match prompt.kind {
            PromptKind::Authorize => None,
            PromptKind::Group(group) => Some(group.name()),
        };
        let summary = tools.iter().find(|tool| tool.name == prompt.tool).map(|tool| tool.title.clone());
        Self {
            id: prompt.id,
            kind: if group.is_some() { "group" } else { "authorize" },
            group,
            caller: prompt.caller.id(),
            caller_name: caller_name(&prompt.caller),
            program: prompt.caller.program.clone(),
            tool: prompt.tool.clone(),
            tool_summary: summary.unwrap_or_default(),
            arguments: if prompt.arguments.is_null() { String::new() } else { prompt.arguments.to_string() },
            waiting: front.waiting,
            expires: millis(front.expires),
        }
    }
}

fn caller_name(caller: &Caller) -> String {
    match &caller.origin {
        Origin::Client(name) => name.clone(),
        _ => name_of(&caller.id()),
    }
}

/// Every group, with its tools.
#[must_use]
pub fn groups(tools: &[Arc<ToolInfo>], disabled: GroupSet) -> Vec<GroupInfo> {
    let of = |group: Group| {
        let own = tools.iter().filter(|tool| tool.groups.has(group));
        let tools = own.map(|t| GroupTool { name: t.name.clone(), summary: t.description.clone(), changes: t.effect == Effect::Changes });
        GroupInfo { name: group.name(), meaning: group.meaning(), enabled: !disabled.has(group), tools: tools.collect() }
    };
    Group::ALL.into_iter().map(of).collect()
}

/// The remembered decisions, as they are shown.
#[must_use]
pub fn standing(standing: &[Standing]) -> Vec<StandingInfo> {
    let of = |s: &Standing| StandingInfo {
        caller: s.caller.clone(),
        caller_name: name_of(&s.caller),
        group: s.group.name(),
        allowed: s.allowed,
    };
    standing.iter().map(of).collect()
}

impl GatewayState {
    /// The executor's state in one word.
    #[must_use]
    pub fn of(status: &Status) -> Self {
        use SocketState::{Connected, Connecting, Replaced};
        let state = match (&status.computer, &status.browser) {
            _ if status.server.is_none() => "signed_out",
            (Replaced, _) | (_, Replaced) => "replaced",
            (Connected { .. }, Connected { .. }) => "connected",
            (Connected { .. }, _) | (_, Connected { .. }) => "partly",
            (Connecting { .. }, _) | (_, Connecting { .. }) => "connecting",
            _ => "off",
        };
        let since = [&status.computer, &status.browser].into_iter().filter_map(|socket| match socket {
            Connected { since_ms } => u64::try_from(*since_ms).ok(),
            _ => None,
        });
        Self { state, server: status.server.clone(), user: status.user.clone(), since: since.max(), last_error: status.last_error.clone() }
    }
}

impl SettingsInfo {
    /// The settings as they are shown.
    #[must_use]
    pub fn of(settings: &Settings, ocr_languages: Vec<String>, data_folder: String, restart_needed: bool) -> Self {
        Self {
            language: settings.language.tag(),
            port: settings.port,
            stop_key: settings.stop_key.clone(),
            takeover: settings.takeover,
            start_at_login: settings.start_at_login,
            browser: settings.browser,
            ocr: settings.ocr,
            ocr_languages,
            block_origins: settings.block_origins.clone(),
            data_folder,
            restart_needed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_gate_says_is_told_with_a_reason_that_pages_know() {
        let off = |why: &str| Control::of(&GateState::Off { why: why.into() }).reason;
        assert_eq!(off("its time ran out"), Some("time"));
        assert_eq!(off("the person pressed Ctrl+Alt+Esc"), Some("stop_key"));
        assert_eq!(off("the worker is ending"), Some("other"));
        let paused = Control::of(&GateState::Paused { why: "the person took over mouse or keyboard; …".into() });
        assert_eq!((paused.state, paused.reason), ("paused", Some("takeover")));
        let callers = Callers::Only(["client:cursor".to_owned()].into());
        let on = Control::of(&GateState::Authorised { groups: Group::Mouse.into(), callers, until: Some(UNIX_EPOCH) });
        assert_eq!((on.state, on.groups, on.until), ("authorised", vec!["mouse"], Some(0)));
        assert_eq!(on.callers.unwrap(), ["client:cursor"]);
    }

    #[test]
    fn the_shape_is_what_the_pages_expect() {
        let control = serde_json::to_value(Control::of(&GateState::Off { why: "its time ran out".into() })).unwrap();
        assert_eq!(
            control,
            serde_json::json!({"state": "off", "why": "its time ran out", "reason": "time", "groups": [], "callers": null, "until": null})
        );
        let settings = SettingsInfo::of(&Settings::default(), vec!["eng".into()], "/x".into(), false);
        let settings = serde_json::to_value(settings).unwrap();
        assert_eq!(
            (&settings["stopKey"], &settings["browser"], &settings["ocr"]),
            (&"Ctrl+Alt+Esc".into(), &"auto".into(), &"auto".into())
        );
        assert_eq!(
            (&settings["restartNeeded"], &settings["startAtLogin"], &settings["language"]),
            (&false.into(), &false.into(), &"system".into())
        );
    }

    #[test]
    fn a_gateway_is_shown_by_its_worst_news_first() {
        let mut status = Status::default();
        assert_eq!(GatewayState::of(&status).state, "signed_out");
        status.server = Some("https://x".into());
        assert_eq!(GatewayState::of(&status).state, "off");
        status.computer = SocketState::Connected { since_ms: 5 };
        assert_eq!((GatewayState::of(&status).state, GatewayState::of(&status).since), ("partly", Some(5)));
        status.browser = SocketState::Replaced;
        assert_eq!(GatewayState::of(&status).state, "replaced");
    }

    #[test]
    fn identities_have_names_for_people() {
        assert_eq!((name_of("client:cursor").as_str(), kind_of("client:cursor")), ("cursor", "client"));
        assert_eq!((name_of("gateway:ann@desk.example").as_str(), kind_of("gateway:x@y")), ("ann through desk.example", "gateway"));
        assert_eq!(kind_of("main"), "main");
    }
}
