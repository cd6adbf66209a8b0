//! `deskhand call TOOL JSON`: one call of the running worker, as any client would make it.

use anyhow::{Context, Result, bail};
use deskhand_app::StateFolder;
use serde_json::{Value, json};
use std::path::PathBuf;

/// See the module.
#[derive(clap::Args)]
pub(crate) struct Call {
    /// Name of the tool.
    tool: String,
    /// Its arguments as a JSON object.
    #[arg(default_value = "{}")]
    arguments: String,
    /// Write a picture in the result to this file.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// State folder of the worker.
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

impl Call {
    /// Prints the result's text; an error result is an error.
    pub(crate) async fn run(self) -> Result<()> {
        let arguments: Value = serde_json::from_str(&self.arguments).context("the arguments are not JSON")?;
        let state = StateFolder::open(self.state_dir.as_deref())?;
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": self.tool, "arguments": arguments } });
        let answer = deskhand_app::post(&state, &request).await?;
        if let Some(error) = answer.get("error") {
            bail!("{}", error["message"].as_str().unwrap_or_default());
        }
        let result = &answer["result"];
        let mut texts = Vec::new();
        for content in result["content"].as_array().into_iter().flatten() {
            match (content["type"].as_str(), &self.save) {
                (Some("image"), Some(file)) => {
                    let picture = deskhand_app::base64_decode(content["data"].as_str().unwrap_or_default())?;
                    std::fs::write(file, picture).with_context(|| format!("{} cannot be written", file.display()))?;
                }
                (Some("image"), None) => eprintln!("(a picture; --save FILE writes it)"),
                _ => texts.push(content["text"].as_str().unwrap_or_default()),
            }
        }
        let text = texts.join("\n");
        if result["isError"] == true {
            bail!("{text}");
        }
        println!("{text}");
        Ok(())
    }
}
