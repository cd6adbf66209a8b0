//! Acting in the current tab's page: click, type, keys, scroll.

use crate::Host;
use crate::browsing::{on_page, tab_lane};
use deskhand_browser::{Clicked, Happened, Modifiers, Naming, Pressed, Scrolled, Typed};
use deskhand_core::{Caller, Context, Effect, Group, Lane, Reply, Text, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Clicks.
pub struct Click;

/// Arguments of `browser_click`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ClickArgs {
    /// CSS, text=… or role=…[name="…"]; the first visible match. `a >>> b` is b inside the frame or shadow root a.
    selector: String,
}

/// What it did.
#[derive(Serialize, JsonSchema)]
pub struct ClickOutput {
    /// Always true; a failure is an error.
    success: bool,
    #[serde(flatten)]
    clicked: Clicked,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for Click {
    type Host = Host;
    type Args = ClickArgs;
    type Output = ClickOutput;
    const NAME: &'static str = "browser_click";
    const TITLE: &'static str = "Click an element";
    const SUMMARY: &'static str = "Clicks an element as a person would, once it is visible, still, enabled and not covered; success means that the page got the click at that element. Else the error says what is in the way. Tabs that it opens are in opened_tabs (the current tab stays), dialogs and downloads are told. Options of a drop-down are chosen with browser_type.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;

    fn lane(host: &Host, caller: &Caller, _: &ClickArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: ClickArgs) -> Result<Reply<ClickOutput>, ToolError> {
        let (clicked, happened) = on_page(host, cx, Naming::Silent, async |page| page.click(&args.selector).await).await?;
        Ok(Reply::new(ClickOutput { success: true, clicked, happened }))
    }
}

/// Types.
pub struct Type;

/// Arguments of `browser_type`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct TypeArgs {
    /// CSS, text=… or role=…[name="…"]; the first visible match.
    selector: String,
    /// The new text; empty clears the field. A drop-down: the option's text or value. A date: 2025-12-31. A file input: paths, one a line.
    text: Text,
}

/// What it did.
#[derive(Serialize, JsonSchema)]
pub struct TypeOutput {
    /// Always true; a failure is an error.
    success: bool,
    #[serde(flatten)]
    typed: Typed,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for Type {
    type Host = Host;
    type Args = TypeArgs;
    type Output = TypeOutput;
    const NAME: &'static str = "browser_type";
    const TITLE: &'static str = "Fill a field";
    const SUMMARY: &'static str = "Replaces what a field holds, and reads it back: text fields and rich text by typing, drop-downs by option, date, time, range and colour fields by value, file inputs by path inside an allowed folder. A read-only or disabled field, or a text it does not take, is an error and leaves the value unchanged. value in the result says what the field shows when the page rewrote the text.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;
    const IDEMPOTENT: bool = true;

    fn lane(host: &Host, caller: &Caller, _: &TypeArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: TypeArgs) -> Result<Reply<TypeOutput>, ToolError> {
        let (typed, happened) =
            on_page(host, cx, Naming::Silent, async |page| page.type_text(&args.selector, args.text.as_str()).await).await?;
        Ok(Reply::new(TypeOutput { success: true, typed, happened }))
    }
}

/// Presses a key.
pub struct KeyPress;

/// Arguments of `browser_key_press`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct KeyPressArgs {
    /// Enter, Tab, Escape, ArrowDown, PageDown, F5, Space, one character, or a combination such as Control+a.
    key: Text,
    /// The element that gets the focus first; without one the key goes to what has it.
    #[serde(default)]
    selector: Option<String>,
    /// With Control held.
    #[serde(default, rename = "ctrlKey")]
    ctrl: bool,
    /// With Shift held.
    #[serde(default, rename = "shiftKey")]
    shift: bool,
    /// With Alt held.
    #[serde(default, rename = "altKey")]
    alt: bool,
    /// With Meta (Command, Windows) held.
    #[serde(default, rename = "metaKey")]
    meta: bool,
}

/// What it did.
#[derive(Serialize, JsonSchema)]
pub struct KeyPressOutput {
    /// Always true; a failure is an error.
    success: bool,
    #[serde(flatten)]
    pressed: Pressed,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for KeyPress {
    type Host = Host;
    type Args = KeyPressArgs;
    type Output = KeyPressOutput;
    const NAME: &'static str = "browser_key_press";
    const TITLE: &'static str = "Press a key in the page";
    const SUMMARY: &'static str = "Presses and releases a key in the current tab's page, with modifiers if wanted. It goes to the element of selector, else to whatever has the focus.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;

    fn lane(host: &Host, caller: &Caller, _: &KeyPressArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: KeyPressArgs) -> Result<Reply<KeyPressOutput>, ToolError> {
        let modifiers = Modifiers { ctrl: args.ctrl, shift: args.shift, alt: args.alt, meta: args.meta };
        let (pressed, happened) =
            on_page(host, cx, Naming::Silent, async |page| page.press_key(args.key.as_str(), modifiers, args.selector.as_deref()).await)
                .await?;
        Ok(Reply::new(KeyPressOutput { success: true, pressed, happened }))
    }
}

/// Scrolls.
pub struct Scroll;

/// Arguments of `browser_scroll`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ScrollArgs {
    /// The element to scroll, or the nearest one around it that scrolls. Without it: the page, or its largest scrolling part.
    #[serde(default)]
    selector: Option<String>,
    /// CSS pixels to the right; negative to the left.
    #[serde(default)]
    x: i64,
    /// CSS pixels down; negative up.
    #[serde(default)]
    y: i64,
}

/// Where it is now.
#[derive(Serialize, JsonSchema)]
pub struct ScrollOutput {
    /// Always true; movedX and movedY say whether anything moved.
    success: bool,
    #[serde(flatten)]
    scrolled: Scrolled,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for Scroll {
    type Host = Host;
    type Args = ScrollArgs;
    type Output = ScrollOutput;
    const NAME: &'static str = "browser_scroll";
    const TITLE: &'static str = "Scroll the page";
    const SUMMARY: &'static str =
        "Scrolls by so many CSS pixels. The result gives the new place and how far it really moved; 0 at the end of what can be scrolled.";
    const GROUPS: &'static [Group] = &[Group::BrowserAct];
    const EFFECT: Effect = Effect::Changes;

    fn lane(host: &Host, caller: &Caller, _: &ScrollArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: ScrollArgs) -> Result<Reply<ScrollOutput>, ToolError> {
        let (scrolled, happened) =
            on_page(host, cx, Naming::Silent, async |page| page.scroll(args.selector.as_deref(), args.x, args.y).await).await?;
        Ok(Reply::new(ScrollOutput { success: true, scrolled, happened }))
    }
}
