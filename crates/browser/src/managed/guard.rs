//! What a program attached from outside may ask of the managed Chromium. It may do in pages whatever `browser_script`
//! allows; the rules about addresses, files and certificates hold for it as for every tool, and the browser itself is
//! not its to end or to open to others.

use serde_json::{Value, json};
use url::Url;

use crate::policy::Policy;

/// What becomes of a command.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// It goes on, with these parameters.
    Pass(Value),
    /// It is answered without the browser.
    Answer(Value),
    /// It is refused, with the reason.
    Refuse(String),
}

/// Domains whose commands stay inside pages and their workers. By name, so that what a newer browser learns to do is
/// refused until somebody has looked at it.
const DOMAINS: [&str; 34] = [
    "Accessibility",
    "Animation",
    "Audits",
    "CSS",
    "CacheStorage",
    "Console",
    "DOM",
    "DOMDebugger",
    "DOMSnapshot",
    "DOMStorage",
    "Debugger",
    "Emulation",
    "EventBreakpoints",
    "Fetch",
    "HeapProfiler",
    "IO",
    "IndexedDB",
    "Input",
    "Inspector",
    "LayerTree",
    "Log",
    "Media",
    "Network",
    "Overlay",
    "Page",
    "Performance",
    "PerformanceTimeline",
    "Profiler",
    "Runtime",
    "Schema",
    "ServiceWorker",
    "Storage",
    "Target",
    "WebAudio",
];

/// Of the browser itself: what tells, and where its windows stand.
const OF_THE_BROWSER: [&str; 7] = [
    "Browser.getVersion",
    "Browser.getWindowBounds",
    "Browser.getWindowForTarget",
    "Browser.setWindowBounds",
    "Browser.cancelDownload",
    "Browser.resetPermissions",
    "Security.enable",
];

/// Commands of those domains that would go round this guard, fetch past the rules about addresses, name files, or weaken
/// what protects the person.
const REFUSED: [&str; 8] = [
    "Target.exposeDevToolsProtocol",
    "Target.setRemoteLocations",
    "Target.attachToBrowserTarget",
    "Target.sendMessageToTarget",
    "Target.openDevTools",
    // It follows redirects in the browser's own process, where no rule of ours stands in between.
    "Network.loadNetworkResource",
    "Page.handleFileChooser",
    "Page.crash",
];

/// Decides about one command.
pub(super) fn check(policy: &Policy, method: &str, mut params: Value) -> Verdict {
    if params.is_null() {
        params = json!({});
    }
    let domain = method.split('.').next().unwrap_or_default();
    match method {
        // Downloads land where the worker says, so that their place can be told.
        "Browser.setDownloadBehavior" | "Page.setDownloadBehavior" => return Verdict::Answer(json!({})),
        // Switching them off again weakens nothing.
        "Security.setIgnoreCertificateErrors" if params["ignore"] == false => return Verdict::Pass(params),
        "Security.disable" => return Verdict::Pass(params),
        "Browser.grantPermissions" | "Browser.setPermission" => {
            return Verdict::Refuse("what a page may use of this machine (camera, clipboard, place) is the person's to give".to_owned());
        }
        _ => {}
    }
    if REFUSED.contains(&method) || !DOMAINS.contains(&domain) && !OF_THE_BROWSER.contains(&method) {
        return Verdict::Refuse("this is the worker's own to decide".to_owned());
    }
    match method {
        "Page.navigate" | "Target.createTarget" | "Fetch.continueRequest" | "Network.continueInterceptedRequest" => {
            match address(policy, &params) {
                Ok(()) => Verdict::Pass(params),
                Err(why) => Verdict::Refuse(why),
            }
        }
        "DOM.setFileInputFiles" => files(policy, params, "/files"),
        "Input.dispatchDragEvent" => files(policy, params, "/data/files"),
        _ => Verdict::Pass(params),
    }
}

fn address(policy: &Policy, params: &Value) -> Result<(), String> {
    match params["url"].as_str() {
        None | Some("") => Ok(()),
        Some(text) => match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => policy.check(&url).map_err(|r| r.to_string()),
            _ => policy.address(text).map(drop).map_err(|r| r.to_string()),
        },
    }
}

fn files(policy: &Policy, mut params: Value, place: &str) -> Verdict {
    if let Some(list) = params.pointer_mut(place) {
        for file in list.as_array_mut().into_iter().flatten() {
            match policy.upload(file.as_str().unwrap_or_default()) {
                Ok(path) => *file = path.to_string_lossy().into(),
                Err(refused) => return Verdict::Refuse(refused.to_string()),
            }
        }
    }
    Verdict::Pass(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn policy() -> Policy {
        let uploads = |p: &str| if p == "/ok/a" { Ok("/real/a".into()) } else { Err("it is outside the allowed folders".to_owned()) };
        Policy::new(&["bad.example"], Arc::new(|_| Err("no".into())), Arc::new(uploads)).unwrap()
    }

    #[test]
    fn the_rules_hold_for_programs_too() {
        let refused = |method: &str, params: Value| matches!(check(&policy(), method, params), Verdict::Refuse(_));
        for (method, params) in [
            ("Browser.close", json!({})),
            ("Target.sendMessageToTarget", json!({})),
            ("Extensions.loadUnpacked", json!({})),
            ("Browser.executeBrowserCommand", json!({"commandId": "openTabSearch"})),
            ("Browser.grantPermissions", json!({"permissions": ["videoCapture"]})),
            ("Security.setIgnoreCertificateErrors", json!({"ignore": true})),
            ("Network.loadNetworkResource", json!({"url": "http://a.example/", "options": {}})),
            ("Target.openDevTools", json!({"targetId": "T"})),
            ("Cast.startTabMirroring", json!({"sinkName": "x"})),
            ("SomethingNew.do", json!({})),
            ("nonsense", json!({})),
            ("Page.navigate", json!({"url": "javascript:1"})),
            ("Page.navigate", json!({"url": "view-source:http://a.example/"})),
            ("Target.createTarget", json!({"url": "file:///etc/passwd"})),
            ("Page.navigate", json!({"url": "file:///etc/passwd"})),
            ("Page.navigate", json!({"url": "http://169.254.169.254/"})),
            ("Target.createTarget", json!({"url": "chrome://settings"})),
            ("Fetch.continueRequest", json!({"requestId": "1", "url": "http://bad.example/"})),
            ("DOM.setFileInputFiles", json!({"files": ["/ok/a", "/etc/passwd"]})),
            ("Input.dispatchDragEvent", json!({"data": {"files": ["/etc/passwd"]}})),
        ] {
            assert!(refused(method, params.clone()), "{method} {params}");
        }
        assert_eq!(check(&policy(), "Browser.setDownloadBehavior", json!({"downloadPath": "/"})), Verdict::Answer(json!({})));
        assert_eq!(check(&policy(), "DOM.setFileInputFiles", json!({"files": ["/ok/a"]})), Verdict::Pass(json!({"files": ["/real/a"]})));
        assert_eq!(check(&policy(), "Target.createTarget", json!({"url": "about:blank"})), Verdict::Pass(json!({"url": "about:blank"})));
        assert_eq!(check(&policy(), "Fetch.continueRequest", json!({"requestId": "1"})), Verdict::Pass(json!({"requestId": "1"})));
    }
}
