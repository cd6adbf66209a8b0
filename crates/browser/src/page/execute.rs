//! Running a caller's script in the page, as if typed into the console: an expression or statements, `const x` as often
//! as one likes, `return` where a function would have it, promises awaited.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Page, value};
use crate::error::BrowserError;

/// Left for the answer to travel when a script is cut at the deadline.
const MARGIN: Duration = Duration::from_millis(700);
/// Handles to a script's values, let go together.
const GROUP: &str = "deskhand-script";

/// What a script gave.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Executed {
    /// Its value as JSON; what JSON cannot carry in the stated textual form.
    pub result: Value,
    /// `undefined`, `null`, `boolean`, `number`, `bigint`, `string`, `symbol`, `function`, or the kind of object.
    #[serde(rename = "type")]
    pub kind: String,
}

impl Page {
    /// Runs a script in the main frame.
    ///
    /// # Errors
    /// `Argument` when it is empty, `Script` when it throws, `TimedOut` when it or its promise does not end.
    pub async fn execute(&self, script: &str) -> Result<Executed, BrowserError> {
        if script.trim().is_empty() {
            return Err(BrowserError::Argument("the script is empty; give an expression, or statements with return".to_owned()));
        }
        self.tab.ensure_ready().await?;
        let mut answer = self.evaluate(script).await?;
        // A syntax error was found before anything ran, so another reading of the same text can be tried.
        if let Some(wrapped) = other_reading(script, &answer) {
            answer = self.evaluate(&wrapped).await?;
        }
        // In a console's manner the value of a promise is the promise; what it comes to is wanted.
        if answer["result"]["subtype"].as_str() == Some("promise")
            && let Some(promise) = answer["result"]["objectId"].as_str()
        {
            let function = json!({"functionDeclaration": "function(){return this}", "objectId": promise, "awaitPromise": true, "objectGroup": GROUP, "serializationOptions": deep()});
            answer = self.cut("Runtime.callFunctionOn", function).await?;
        }
        if let Some(details) = answer.get("exceptionDetails") {
            return Err(BrowserError::Script(thrown(details)));
        }
        let result = &answer["result"];
        let done = self.written(result).await;
        if result["objectId"].is_string() {
            let (tab, group) = (self.tab.clone(), json!({"objectGroup": GROUP}));
            tokio::spawn(async move { tab.send("Runtime.releaseObjectGroup", group).await });
        }
        done
    }

    async fn evaluate(&self, script: &str) -> Result<Value, BrowserError> {
        let params = json!({
            "expression": script,
            "replMode": true,
            "awaitPromise": true,
            "userGesture": true,
            "allowUnsafeEvalBlockedByCSP": true,
            "objectGroup": GROUP,
            // Ends a script that never ends by itself; a promise that never settles is left alone.
            "timeout": self.limit().as_millis() as u64,
            "serializationOptions": deep(),
        });
        self.cut("Runtime.evaluate", params).await
    }

    fn limit(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()).saturating_sub(MARGIN).max(Duration::from_millis(100))
    }

    /// Sends what may run for long, and gives it up a little before the deadline.
    async fn cut(&self, method: &str, params: Value) -> Result<Value, BrowserError> {
        let limit = self.limit();
        match tokio::time::timeout(limit, self.tab.send(method, params)).await {
            Ok(Err(error)) if error.is_navigation() => Err(BrowserError::Navigated(format!(
                "the page navigated to {} while the script ran, so its result is lost; what it had done by then is done",
                self.tab.url()
            ))),
            Ok(Err(BrowserError::Failed(reason))) if reason.contains("terminated") => Err(slow(limit)),
            Ok(answer) => answer,
            Err(_) => Err(slow(limit)),
        }
    }

    /// The value, with a second look at objects of the browser that only `toJSON` or their own properties tell about.
    async fn written(&self, result: &Value) -> Result<Executed, BrowserError> {
        let kind = value::kind(result);
        let opaque =
            matches!(result["deepSerializedValue"]["type"].as_str(), Some("platformobject" | "error" | "typedarray" | "arraybuffer"));
        let (true, Some(object)) = (opaque, result["objectId"].as_str()) else {
            return Ok(Executed { result: value::plain(result), kind });
        };
        let function = "function(){if(ArrayBuffer.isView(this))return Array.from(this,v=>typeof v==='bigint'?v+'n':v);if(this instanceof ArrayBuffer)return Array.from(new Uint8Array(this));if(this instanceof Error)return String(this.stack||this);const o={};for(const k in this){try{const v=this[k];if(typeof v!=='function')o[k]=Object(v)===v?String(v):v}catch{}}return typeof this.toJSON==='function'?this.toJSON():o}";
        let asked =
            self.send("Runtime.callFunctionOn", json!({"functionDeclaration": function, "objectId": object, "returnByValue": true})).await;
        let told = asked.ok().map(|a| a["result"]["value"].clone()).filter(|v| !v.is_null());
        Ok(Executed { result: told.unwrap_or_else(|| value::plain(result)), kind })
    }
}

fn deep() -> Value {
    json!({"serialization": "deep", "maxDepth": value::DEPTH, "additionalParameters": {"maxNodeDepth": 0, "includeShadowTree": "none"}})
}

fn slow(limit: Duration) -> BrowserError {
    BrowserError::TimedOut {
        what: "the script, or the promise it gave, did not come to an end; what it had done by then is done".to_owned(),
        after: limit,
    }
}

/// The error's own description without the stack of our own frames.
fn thrown(details: &Value) -> String {
    let exception = &details["exception"];
    let said = exception["description"].as_str().or(exception["value"].as_str()).map(str::to_owned);
    let said = said.unwrap_or_else(|| {
        if exception["value"].is_null() {
            details["text"].as_str().unwrap_or("an unknown value").to_owned()
        } else {
            exception["value"].to_string()
        }
    });
    // The script's own place in the stack; Chrome's line numbers count its wrapping.
    let place = said.split_once("<anonymous>:").and_then(|(_, at)| at.split(':').next()).and_then(|l| l.parse::<u32>().ok());
    let place = place.map(|line| format!(" (line {line})")).unwrap_or_default();
    let first = said.lines().next().unwrap_or_default().chars().take(2000).collect::<String>();
    format!("{first}{place}")
}

/// Another way to read a script that does not parse as it stands: as a function's body where it says `return`, in a
/// scope of its own where a name is taken by the page.
fn other_reading(script: &str, answer: &Value) -> Option<String> {
    let details = answer.get("exceptionDetails")?;
    let said = details["exception"]["description"].as_str()?;
    // One that ran and threw has a stack.
    if details["exception"]["className"].as_str() != Some("SyntaxError") || details.get("stackTrace").is_some() {
        return None;
    }
    if said.contains("Illegal return") {
        return Some(format!("(async()=>{{{script}\n}})()"));
    }
    if said.contains("has already been declared") {
        let text = Value::from(script).to_string();
        return Some(if script.contains("await") { format!("(async()=>{{{script}\n}})()") } else { format!("(()=>eval({text}))()") });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_did_not_run_is_read_another_way() {
        let error = |text: &str, stack: bool| {
            let mut d = json!({"exceptionDetails": {"exception": {"className": "SyntaxError", "description": text}}});
            if stack {
                d["exceptionDetails"]["stackTrace"] = json!({"callFrames": []});
            }
            d
        };
        assert!(
            other_reading("return 1", &error("SyntaxError: Illegal return statement", false)).is_some_and(|s| s.contains("return 1\n"))
        );
        assert!(
            other_reading("const a=1;a", &error("SyntaxError: Identifier 'a' has already been declared", false))
                .is_some_and(|s| s.contains("eval("))
        );
        assert!(other_reading("eval('return 1')", &error("SyntaxError: Illegal return statement", true)).is_none());
        assert!(other_reading("x(", &error("SyntaxError: missing )", false)).is_none());
    }
}
