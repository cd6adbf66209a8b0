//! Looking at the current tab's page: pictures, text, attributes, links, waiting; and running scripts in it.

use crate::Host;
use crate::browsing::{on_page, tab_lane};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use deskhand_browser::{Attribute, Content, Executed, Happened, Links, Naming, Picture, Shot, TEXT_MAX};
use deskhand_core::{Caller, Context, Effect, Group, Lane, Reply, Text, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::Cursor;
use std::time::Duration;

/// Takes a picture.
pub struct Screenshot;

/// Arguments of `browser_screenshot`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ScreenshotArgs {
    /// Only this element, brought into view.
    #[serde(default)]
    selector: Option<String>,
    /// The whole page instead of its window.
    #[serde(default)]
    full_page: bool,
    /// png or jpeg; chosen by size when absent.
    #[serde(default)]
    format: Option<String>,
}

/// What the picture is.
#[derive(Serialize, JsonSchema)]
pub struct ScreenshotOutput {
    /// Its width in pixels.
    image_width: u32,
    /// Its height in pixels.
    image_height: u32,
    #[serde(flatten)]
    picture: Picture,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for Screenshot {
    type Host = Host;
    type Args = ScreenshotArgs;
    type Output = ScreenshotOutput;
    const NAME: &'static str = "browser_screenshot";
    const TITLE: &'static str = "Picture of the page";
    const SUMMARY: &'static str = "A picture of the current tab's page (not of the tab in front), of one element, or of the whole page. PNG when it fits the limit of a result, else JPEG, else made smaller (scale).";
    const GROUPS: &'static [Group] = &[Group::BrowserRead];
    const EFFECT: Effect = Effect::Reads;

    fn lane(host: &Host, caller: &Caller, _: &ScreenshotArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: ScreenshotArgs) -> Result<Reply<ScreenshotOutput>, ToolError> {
        let shot = Shot { selector: args.selector, full_page: args.full_page, format: args.format };
        let (mut picture, happened) = on_page(host, cx, Naming::Silent, async |page| page.screenshot(&shot).await).await?;
        let (image_width, image_height) = size(&picture.data)?;
        let (data, mime) = (std::mem::take(&mut picture.data), picture.mime);
        Ok(Reply::image(ScreenshotOutput { image_width, image_height, picture, happened }, data, mime))
    }
}

fn size(data: &str) -> Result<(u32, u32), ToolError> {
    let broken = |e: String| ToolError::failed(format!("the browser's picture cannot be read: {e}"));
    let bytes = STANDARD.decode(data).map_err(|e| broken(e.to_string()))?;
    let reader = image::ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| broken(e.to_string()))?;
    reader.into_dimensions().map_err(|e| broken(e.to_string()))
}

/// Reads text.
pub struct GetContent;

/// Arguments of `browser_get_content`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct GetContentArgs {
    /// CSS, text=… or role=…[name="…"]; the first match is read.
    #[serde(default = "body")]
    selector: String,
    /// Where to begin, in bytes: the next_offset of the answer before.
    #[serde(default)]
    offset: u64,
    /// Most bytes of text to answer, up to 300000.
    #[serde(default = "whole")]
    limit: u64,
}

fn body() -> String {
    "body".to_owned()
}

fn whole() -> u64 {
    TEXT_MAX
}

/// The text.
#[derive(Serialize, JsonSchema)]
pub struct GetContentOutput {
    #[serde(flatten)]
    content: Content,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for GetContent {
    type Host = Host;
    type Args = GetContentArgs;
    type Output = GetContentOutput;
    const NAME: &'static str = "browser_get_content";
    const TITLE: &'static str = "Text of the page";
    const SUMMARY: &'static str = "The text of the page, or of one element, as it is shown; a form field gives its value. Frames follow under their address. At most 300 kB a call: truncated, total_bytes and next_offset say how to go on. No match is an error.";
    const GROUPS: &'static [Group] = &[Group::BrowserRead];
    const EFFECT: Effect = Effect::Reads;

    fn lane(host: &Host, caller: &Caller, _: &GetContentArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: GetContentArgs) -> Result<Reply<GetContentOutput>, ToolError> {
        let (content, happened) =
            on_page(host, cx, Naming::Silent, async |page| page.content(&args.selector, args.offset, args.limit).await).await?;
        let mut text = content.content.clone();
        if let Some(next) = content.next_offset {
            text.push_str(&format!("\n[cut here: {} bytes in all; go on with offset {next}]", content.total_bytes));
        }
        if !happened.is_empty() {
            text.push_str(&format!("\n{}", happened.sentence()));
        }
        Ok(Reply::text(GetContentOutput { content, happened }, text))
    }
}

/// Runs a script.
pub struct Execute;

/// Arguments of `browser_execute`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ExecuteArgs {
    /// JavaScript: an expression, or statements with return; await works.
    script: Text,
}

/// What it gave.
#[derive(Serialize, JsonSchema)]
pub struct ExecuteOutput {
    #[serde(flatten)]
    executed: Executed,
    /// Whether the value was cut to its first 300 kB of JSON, given as text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Bytes of the whole value as JSON, when it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_bytes: Option<usize>,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for Execute {
    type Host = Host;
    type Args = ExecuteArgs;
    type Output = ExecuteOutput;
    const NAME: &'static str = "browser_execute";
    const TITLE: &'static str = "Run JavaScript";
    const SUMMARY: &'static str = "Runs JavaScript in the current tab's page, as in a console: the value of the last expression or of return; promises are awaited, thrown errors are errors. What JSON cannot carry comes as text: NaN, Infinity, -0, 10n, Symbol(x), a date in ISO form, a function's source, \"undefined\" inside structures, <tag id=…> for elements; type tells undefined from null.";
    const GROUPS: &'static [Group] = &[Group::BrowserScript];
    const EFFECT: Effect = Effect::Changes;
    const DESTRUCTIVE: bool = true;

    fn lane(host: &Host, caller: &Caller, _: &ExecuteArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: ExecuteArgs) -> Result<Reply<ExecuteOutput>, ToolError> {
        let (mut executed, happened) = on_page(host, cx, Naming::Silent, async |page| page.execute(args.script.as_str()).await).await?;
        let json = executed.result.to_string();
        let truncated = json.len() > TEXT_MAX as usize;
        if truncated {
            let mut end = TEXT_MAX as usize;
            while !json.is_char_boundary(end) {
                end -= 1;
            }
            executed.result = json[..end].into();
        }
        Ok(Reply::new(ExecuteOutput { executed, truncated, total_bytes: truncated.then_some(json.len()), happened }))
    }
}

/// Reads an attribute.
pub struct GetAttribute;

/// Arguments of `browser_get_attribute`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct GetAttributeArgs {
    /// CSS, text=… or role=…[name="…"]; the first match is read.
    selector: String,
    /// Name of the attribute, and of the property that is read beside it.
    name: String,
}

impl Tool for GetAttribute {
    type Host = Host;
    type Args = GetAttributeArgs;
    type Output = Attribute;
    const NAME: &'static str = "browser_get_attribute";
    const TITLE: &'static str = "Attribute of an element";
    const SUMMARY: &'static str = "An attribute as it is written (attributeValue: empty text when it has no value, null when absent) and the live property of the same name (propertyValue). value is what a form field holds now when name is value, else the written attribute.";
    const GROUPS: &'static [Group] = &[Group::BrowserRead];
    const EFFECT: Effect = Effect::Reads;

    fn lane(host: &Host, caller: &Caller, _: &GetAttributeArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: GetAttributeArgs) -> Result<Reply<Attribute>, ToolError> {
        let (attribute, _) = on_page(host, cx, Naming::Silent, async |page| page.attribute(&args.selector, &args.name).await).await?;
        Ok(Reply::new(attribute))
    }
}

/// Lists links.
pub struct GetLinks;

/// Arguments of `browser_get_links`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct GetLinksArgs {
    /// Only links within this element.
    #[serde(default)]
    selector: Option<String>,
    /// Most links to answer.
    #[serde(default = "hundred")]
    limit: u32,
}

fn hundred() -> u32 {
    100
}

impl Tool for GetLinks {
    type Host = Host;
    type Args = GetLinksArgs;
    type Output = Links;
    const NAME: &'static str = "browser_get_links";
    const TITLE: &'static str = "Links of the page";
    const SUMMARY: &'static str = "The links of the page, or within one element, in document order: text, full address, title, target. total says how many there are in all.";
    const GROUPS: &'static [Group] = &[Group::BrowserRead];
    const EFFECT: Effect = Effect::Reads;

    fn lane(host: &Host, caller: &Caller, _: &GetLinksArgs) -> Lane {
        tab_lane(host, caller)
    }

    async fn run(host: &Host, cx: &Context, args: GetLinksArgs) -> Result<Reply<Links>, ToolError> {
        let (links, _) =
            on_page(host, cx, Naming::Silent, async |page| page.links(args.selector.as_deref(), args.limit.min(2000)).await).await?;
        Ok(Reply::new(links))
    }
}

/// Waits for an element.
pub struct Wait;

/// Arguments of `browser_wait`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct WaitArgs {
    /// CSS, text=… or role=…[name="…"].
    selector: String,
    /// Milliseconds; 0 looks once.
    #[serde(default = "ten_seconds")]
    timeout: u64,
}

fn ten_seconds() -> u64 {
    10_000
}

/// What came.
#[derive(Serialize, JsonSchema)]
pub struct WaitOutput {
    /// Always true; not found in time is an error.
    found: bool,
    /// The element, such as button#save.
    element: String,
    #[serde(flatten)]
    happened: Happened,
}

impl Tool for Wait {
    type Host = Host;
    type Args = WaitArgs;
    type Output = WaitOutput;
    const NAME: &'static str = "browser_wait";
    const TITLE: &'static str = "Wait for an element";
    const SUMMARY: &'static str = "Waits until any element that matches is visible. One that is there but hidden does not count; when time is over the error says which of the two it was.";
    const GROUPS: &'static [Group] = &[Group::BrowserRead];
    const EFFECT: Effect = Effect::Reads;

    fn lane(host: &Host, caller: &Caller, _: &WaitArgs) -> Lane {
        tab_lane(host, caller)
    }

    fn timeout(args: &WaitArgs) -> Option<Duration> {
        // What fits into the ordinary deadline needs no longer one.
        (args.timeout > 20_000).then(|| Duration::from_millis(args.timeout).saturating_add(Duration::from_secs(3)))
    }

    async fn run(host: &Host, cx: &Context, args: WaitArgs) -> Result<Reply<WaitOutput>, ToolError> {
        let timeout = Duration::from_millis(args.timeout);
        let (element, happened) = on_page(host, cx, Naming::Silent, async |page| page.wait_for(&args.selector, timeout).await).await?;
        Ok(Reply::new(WaitOutput { found: true, element, happened }))
    }
}
