//! Tabs. Each caller (conversation) has its own current tab, on which the page tools act; a tab's number is never used
//! for another one.

use crate::Host;
use crate::browsing::{deadline, on_page, sorted, tab_lane, told, unless_cancelled};
use crate::page::NoArgs;
use deskhand_browser::{Arrived, Happened, Naming, TabRow};
use deskhand_core::{Caller, Context, Effect, Group, Lane, Reply, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists tabs.
pub struct List;

/// The tabs.
#[derive(Serialize, JsonSchema)]
pub struct ListOutput {
    /// Every tab that can be worked in; empty when no browser runs yet.
    tabs: Vec<TabRow>,
}

impl Tool for List {
    type Host = Host;
    type Args = NoArgs;
    type Output = ListOutput;
    const NAME: &'static str = "browser_tabs_list";
    const TITLE: &'static str = "List tabs";
    const SUMMARY: &'static str = "All tabs that can be worked in: those of the managed browser and those that the person lent. current marks the tab on which the other tools act, active the one in front of its window.";
    const GROUPS: &'static [Group] = &[Group::BrowserRead];
    const EFFECT: Effect = Effect::Reads;

    async fn run(host: &Host, cx: &Context, _: NoArgs) -> Result<Reply<ListOutput>, ToolError> {
        let tabs = unless_cancelled(cx, host.browsers.tabs(&cx.caller.scope())).await?;
        Ok(Reply::new(ListOutput { tabs }))
    }
}

/// Opens a tab.
pub struct New;

/// Arguments of `browser_tab_new`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct NewArgs {
    /// What to open in it; blank when absent.
    #[serde(default)]
    url: Option<String>,
}

/// The new tab.
#[derive(Serialize, JsonSchema)]
pub struct NewOutput {
    /// Its number.
    #[serde(rename = "tabId")]
    tab_id: i64,
    /// The browser it is in.
    browser: String,
    /// Where it led, when an address was given.
    #[serde(flatten)]
    arrived: Option<Arrived>,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for New {
    type Host = Host;
    type Args = NewArgs;
    type Output = NewOutput;
    const NAME: &'static str = "browser_tab_new";
    const TITLE: &'static str = "Open a tab";
    const SUMMARY: &'static str = "Opens a tab, which becomes the current one, and an address in it if one is given. When that cannot be opened, the tab is closed again.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;

    async fn run(host: &Host, cx: &Context, args: NewArgs) -> Result<Reply<NewOutput>, ToolError> {
        let (scope, shown) = (cx.caller.scope(), cx.caller.to_string());
        if let Some(url) = &args.url {
            host.browsers.policy().address(url).map_err(|e| sorted(e.into()))?;
        }
        let work = async {
            let page = host.browsers.new_tab(&scope, &shown, deadline(cx)).await?;
            let opened = match &args.url {
                Some(url) => page.navigate(url).await.map(Some),
                None => Ok(None),
            };
            if opened.is_err() {
                let _ = host.browsers.close(&scope, page.tab_id()).await;
            }
            let (arrived, happened) = told(&page, opened)?;
            let browser = host.browsers.browser_of(page.tab_id()).await?.0;
            Ok(NewOutput { tab_id: page.tab_id(), browser, arrived, happened })
        };
        unless_cancelled(cx, work).await.map(Reply::new)
    }
}

/// Closes a tab.
pub struct Close;

/// Arguments that name a tab.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct TabArgs {
    /// The tab's number, from browser_tabs_list.
    #[serde(rename = "tabId")]
    tab_id: i64,
}

/// What is current now.
#[derive(Serialize, JsonSchema)]
pub struct CloseOutput {
    /// Always true; a failure is an error.
    success: bool,
}

impl Tool for Close {
    type Host = Host;
    type Args = TabArgs;
    type Output = CloseOutput;
    const NAME: &'static str = "browser_tab_close";
    const TITLE: &'static str = "Close a tab";
    const SUMMARY: &'static str = "Closes a tab. When it was the current one, the tab worked in before it becomes current. The number of a closed tab is never used again.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;
    const DESTRUCTIVE: bool = true;

    fn lane(_: &Host, _: &Caller, args: &TabArgs) -> Lane {
        Lane::Tab(args.tab_id.to_string())
    }

    async fn run(host: &Host, cx: &Context, args: TabArgs) -> Result<Reply<CloseOutput>, ToolError> {
        unless_cancelled(cx, host.browsers.close(&cx.caller.scope(), args.tab_id)).await?;
        Ok(Reply::new(CloseOutput { success: true }))
    }
}

/// Tells the current tab.
pub struct Current;

/// The current tab.
#[derive(Serialize, JsonSchema)]
pub struct CurrentOutput {
    /// On which the other tools act.
    tab: TabRow,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for Current {
    type Host = Host;
    type Args = NoArgs;
    type Output = CurrentOutput;
    const NAME: &'static str = "browser_current_tab";
    const TITLE: &'static str = "The current tab";
    const SUMMARY: &'static str =
        "The tab on which the other browser tools act for this agent, and the browser it is in. Opens one when there is none.";
    const GROUPS: &'static [Group] = &[Group::BrowserRead];
    const EFFECT: Effect = Effect::Reads;

    fn lane(host: &Host, caller: &Caller, _: &NoArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, _: NoArgs) -> Result<Reply<CurrentOutput>, ToolError> {
        let scope = cx.caller.scope();
        let (tab, happened) = on_page(host, cx, Naming::Named, async |page| host.browsers.tab_row(&scope, page.tab_id()).await).await?;
        Ok(Reply::new(CurrentOutput { tab, happened }))
    }
}

/// Makes a tab current.
pub struct Select;

/// The tab that is current now.
#[derive(Serialize, JsonSchema)]
pub struct SelectOutput {
    /// Always true; a failure is an error.
    success: bool,
    /// Its number.
    #[serde(rename = "tabId")]
    tab_id: i64,
    /// Its address.
    url: String,
    /// The browser it is in.
    browser: String,
}

impl Tool for Select {
    type Host = Host;
    type Args = TabArgs;
    type Output = SelectOutput;
    const NAME: &'static str = "browser_tab_select";
    const TITLE: &'static str = "Choose the current tab";
    const SUMMARY: &'static str = "Makes a tab the current one of this agent. In the managed browser it comes to the front of its window; in the person's own browser the view is left as it is.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;
    const IDEMPOTENT: bool = true;

    async fn run(host: &Host, cx: &Context, args: TabArgs) -> Result<Reply<SelectOutput>, ToolError> {
        let scope = cx.caller.scope();
        let work = async {
            host.browsers.select(&scope, args.tab_id, deadline(cx)).await?;
            host.browsers.tab_row(&scope, args.tab_id).await
        };
        let row = unless_cancelled(cx, work).await?;
        Ok(Reply::new(SelectOutput { success: true, tab_id: row.id, url: row.url, browser: row.browser }))
    }
}
