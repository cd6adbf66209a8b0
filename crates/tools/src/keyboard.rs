//! The keyboard: text exactly, and keys by name.

use crate::acting::{Done, Hands};
use crate::{Host, engine_errors};
use deskhand_core::{Caller, Context, Effect, Group, Lane, Reply, Text, Tool, ToolError};
use deskhand_desktop::input::chord;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Types text.
pub struct KeyboardType;

/// Arguments of `computer_keyboard_type`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct KeyboardTypeArgs {
    /// The text, any Unicode. A line break is Return, a tab is Tab.
    text: Text,
}

/// What became of the text.
#[derive(Serialize, JsonSchema)]
pub struct KeyboardTypeOutput {
    /// True: all of it was typed.
    ok: bool,
    /// Characters typed.
    characters: usize,
    /// False when the window gave no sign of having read characters that the keyboard layout lacks, or is so slow that it is
    /// still at work on what it was sent: look at it.
    confirmed: bool,
}

impl Tool for KeyboardType {
    type Host = Host;
    type Args = KeyboardTypeArgs;
    type Output = KeyboardTypeOutput;
    const NAME: &'static str = "computer_keyboard_type";
    const TITLE: &'static str = "Type text";
    const SUMMARY: &'static str = "Types exactly this text into the window that has the keyboard focus: any Unicode, any keyboard layout; a line break is Return, a tab is Tab. The clipboard is not used. A character that cannot be typed is an error that names it and says how many went in.";
    const GROUPS: &'static [Group] = &[Group::Keyboard];
    const EFFECT: Effect = Effect::Changes;

    fn lane(_: &Host, _: &Caller, _: &KeyboardTypeArgs) -> Lane {
        Lane::Desktop
    }

    async fn run(host: &Host, cx: &Context, args: KeyboardTypeArgs) -> Result<Reply<KeyboardTypeOutput>, ToolError> {
        let typed = Hands::ready(host, cx).await?.act(move |desktop, cancel| desktop.type_text(args.text.as_str(), cancel)).await?;
        Ok(Reply::new(KeyboardTypeOutput { ok: true, characters: typed.characters, confirmed: typed.confirmed }))
    }
}

/// Presses keys.
pub struct KeyboardPress;

/// Arguments of `computer_keyboard_press`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct KeyboardPressArgs {
    /// Keys to press together, such as ["ctrl", "c"] or ["enter"]; one string such as "ctrl+c" means the same.
    keys: Keys,
}

/// Names of keys, in an array or joined with `+`.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
pub enum Keys {
    /// `["ctrl", "c"]`
    Several(Vec<String>),
    /// `"ctrl+c"`
    One(String),
}

impl Keys {
    pub(crate) fn names(self) -> Vec<String> {
        match self {
            Self::Several(names) => names,
            // Some clients send an array as its JSON text.
            Self::One(name) => serde_json::from_str(&name).unwrap_or_else(|_| vec![name]),
        }
    }
}

impl JsonSchema for Keys {
    fn schema_name() -> Cow<'static, str> {
        "Keys".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["array", "string"], "items": { "type": "string" } })
    }

    fn inline_schema() -> bool {
        true
    }
}

impl Tool for KeyboardPress {
    type Host = Host;
    type Args = KeyboardPressArgs;
    type Output = Done;
    const NAME: &'static str = "computer_keyboard_press";
    const TITLE: &'static str = "Press keys";
    const SUMMARY: &'static str = "Presses keys in order and releases them in reverse, on any layout: [\"ctrl\", \"c\"], [\"enter\"], [\"alt\", \"tab\"], \"ctrl+shift+t\". Names of xdotool, pyautogui and the DOM are known, in any case (Return, esc, PgDn, ArrowLeft, cmd, f5, KP_Enter); a single character is the key that types it. An unknown name is an error that lists the known ones.";
    const GROUPS: &'static [Group] = &[Group::Keyboard];
    const EFFECT: Effect = Effect::Changes;

    fn lane(_: &Host, _: &Caller, _: &KeyboardPressArgs) -> Lane {
        Lane::Desktop
    }

    async fn run(host: &Host, cx: &Context, args: KeyboardPressArgs) -> Result<Reply<Done>, ToolError> {
        let keys = chord(&args.keys.names()).map_err(engine_errors::desktop)?;
        Hands::ready(host, cx).await?.act(move |desktop, cancel| desktop.press(&keys, cancel)).await?;
        Ok(Reply::new(Done::OK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_as_an_array_as_one_string_and_as_an_array_in_a_string() {
        for (given, want) in
            [(r#"["ctrl","c"]"#, vec!["ctrl", "c"]), (r#""ctrl+c""#, vec!["ctrl+c"]), (r#""[\"ctrl\",\"c\"]""#, vec!["ctrl", "c"])]
        {
            assert_eq!(serde_json::from_str::<Keys>(given).unwrap().names(), want);
        }
    }
}
