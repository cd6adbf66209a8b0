//! Where a tab goes: addresses, history, reload; and what the browser is.

use crate::Host;
use crate::browsing::{on_page, tab_lane};
use deskhand_browser::{Arrived, Happened, Kind, Naming, Viewport, Went};
use deskhand_core::{Caller, Context, Effect, Group, Lane, Reply, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No arguments.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct NoArgs {}

/// What browser it is.
pub struct GetInfo;

/// Of the browser that the current tab is in.
#[derive(Serialize, JsonSchema)]
pub struct InfoOutput {
    /// What the browser calls itself towards servers.
    user_agent: String,
    /// Where a program such as Playwright can attach to the managed browser (connectOverCDP), with this worker's token. Empty when it cannot; cdp_note says why.
    cdp_url: String,
    /// Why cdp_url is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    cdp_note: Option<&'static str>,
    /// The window of the current tab's page, in CSS pixels.
    viewport: Viewport,
    /// The name of the browser.
    browser: String,
}

impl Tool for GetInfo {
    type Host = Host;
    type Args = NoArgs;
    type Output = InfoOutput;
    const NAME: &'static str = "browser_get_info";
    const TITLE: &'static str = "About the browser";
    const SUMMARY: &'static str = "The browser that the current tab is in: user agent, window size in CSS pixels, and the address where Playwright or Puppeteer can attach to it (empty for the person's own browser).";
    const GROUPS: &'static [Group] = &[Group::BrowserRead];
    const EFFECT: Effect = Effect::Reads;

    fn lane(host: &Host, caller: &Caller, _: &NoArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, _: NoArgs) -> Result<Reply<InfoOutput>, ToolError> {
        let ((viewport, browser, kind), _) = on_page(host, cx, Naming::Named, async |page| {
            let viewport = page.viewport().await?;
            let (name, kind) = host.browsers.browser_of(page.tab_id()).await?;
            Ok((viewport, name, kind))
        })
        .await?;
        let (cdp_url, cdp_note) = match kind {
            Kind::Extension => (
                String::new(),
                Some("this is the person's own browser, which only the extension may reach; the managed browser can be attached to"),
            ),
            Kind::Managed => match host.browsers.cdp_address(&cx.caller.scope()) {
                Some(address) => (address, None),
                None => (String::new(), Some("attaching needs the permission browser_script, or is switched off here")),
            },
        };
        Ok(Reply::new(InfoOutput { user_agent: viewport.user_agent.clone(), cdp_url, cdp_note, viewport, browser }))
    }
}

/// Opens an address.
pub struct Navigate;

/// Arguments of `browser_navigate`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct NavigateArgs {
    /// The full address: http, https, about:blank, or file: inside an allowed folder.
    url: String,
}

/// Where it led.
#[derive(Serialize, JsonSchema)]
pub struct NavigateOutput {
    /// Always true; a failure is an error.
    success: bool,
    #[serde(flatten)]
    arrived: Arrived,
    /// The browser it was opened in.
    browser: String,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for Navigate {
    type Host = Host;
    type Args = NavigateArgs;
    type Output = NavigateOutput;
    const NAME: &'static str = "browser_navigate";
    const TITLE: &'static str = "Open an address";
    const SUMMARY: &'static str = "Opens an address in the current tab (a new tab if there is none) and waits until it has loaded; a page that goes on loading is told as loading. A failed load is an error with its net error. Downloads are told with their place; same_document says that only the fragment changed.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;

    fn lane(host: &Host, caller: &Caller, _: &NavigateArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: NavigateArgs) -> Result<Reply<NavigateOutput>, ToolError> {
        // Refused before a browser is started for it.
        host.browsers.policy().address(&args.url).map_err(|e| crate::browsing::sorted(e.into()))?;
        let ((arrived, browser), happened) = on_page(host, cx, Naming::Named, async |page| {
            let arrived = page.navigate(&args.url).await?;
            Ok((arrived, host.browsers.browser_of(page.tab_id()).await?.0))
        })
        .await?;
        Ok(Reply::new(NavigateOutput { success: true, arrived, browser, happened }))
    }
}

/// Where a step led.
#[derive(Serialize, JsonSchema)]
pub struct WentOutput {
    /// Always true; a failure is an error.
    success: bool,
    #[serde(flatten)]
    went: Went,
    #[serde(flatten)]
    happened: Happened,
}

/// One page back.
pub struct GoBack;

impl Tool for GoBack {
    type Host = Host;
    type Args = NoArgs;
    type Output = WentOutput;
    const NAME: &'static str = "browser_go_back";
    const TITLE: &'static str = "Go back";
    const SUMMARY: &'static str = "Goes back one page in the current tab's history and waits for it. No earlier page is an error.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;

    fn lane(host: &Host, caller: &Caller, _: &NoArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, _: NoArgs) -> Result<Reply<WentOutput>, ToolError> {
        let (went, happened) = on_page(host, cx, Naming::Silent, async |page| page.back().await).await?;
        Ok(Reply::new(WentOutput { success: true, went, happened }))
    }
}

/// One page forward.
pub struct GoForward;

impl Tool for GoForward {
    type Host = Host;
    type Args = NoArgs;
    type Output = WentOutput;
    const NAME: &'static str = "browser_go_forward";
    const TITLE: &'static str = "Go forward";
    const SUMMARY: &'static str = "Goes forward one page in the current tab's history and waits for it. No later page is an error.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;

    fn lane(host: &Host, caller: &Caller, _: &NoArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, _: NoArgs) -> Result<Reply<WentOutput>, ToolError> {
        let (went, happened) = on_page(host, cx, Naming::Silent, async |page| page.forward().await).await?;
        Ok(Reply::new(WentOutput { success: true, went, happened }))
    }
}

/// Loads again.
pub struct Reload;

/// Arguments of `browser_reload`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ReloadArgs {
    /// Whether to fetch everything anew instead of from the cache.
    #[serde(default, rename = "bypassCache")]
    bypass_cache: bool,
}

impl Tool for Reload {
    type Host = Host;
    type Args = ReloadArgs;
    type Output = WentOutput;
    const NAME: &'static str = "browser_reload";
    const TITLE: &'static str = "Reload the page";
    const SUMMARY: &'static str = "Loads the current tab's page again and waits for it. Also brings a crashed page back.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;

    fn lane(host: &Host, caller: &Caller, _: &ReloadArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: ReloadArgs) -> Result<Reply<WentOutput>, ToolError> {
        let (went, happened) = on_page(host, cx, Naming::Silent, async |page| page.reload(args.bypass_cache).await).await?;
        Ok(Reply::new(WentOutput { success: true, went, happened }))
    }
}
