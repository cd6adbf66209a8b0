//! `deskhand doctor`: what works here, found out by doing it.

use anyhow::Result;
use deskhand_app::{Size, StateFolder, VirtualDisplay, examine};

/// See the module.
#[derive(clap::Args)]
pub(crate) struct Doctor {
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// Bring up a virtual display of this size and examine that.
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    virtual_display: Option<Size>,
    /// The X display to examine; default: $DISPLAY.
    #[arg(long, value_name = ":N", conflicts_with = "virtual_display")]
    display: Option<String>,
    #[command(flatten)]
    at: super::In,
}

impl Doctor {
    /// Exit code 1 when something that is needed does not work.
    pub(crate) fn run(self) -> Result<()> {
        let state = StateFolder::open(self.at.state_dir.as_deref())?;
        let virtual_display = self.virtual_display.map(|size| VirtualDisplay::start(size.width, size.height)).transpose()?;
        if let Some(display) = &virtual_display {
            display.export_before_threads()?;
        }
        let name = virtual_display.as_ref().map(VirtualDisplay::name).or(self.display);
        let report = super::runtime()?.block_on(async { examine(&state, name) })?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            for check in &report.checks {
                let mark = if check.ok {
                    "ok     "
                } else if check.needed {
                    "MISSING"
                } else {
                    "none   "
                };
                println!("{mark} {:<16} {}", check.name, check.found);
                if let Some(remedy) = check.remedy {
                    println!("        {:<16} mend it: {remedy}", "");
                }
            }
        }
        drop(virtual_display);
        anyhow::ensure!(report.well(), "something that Deskhand needs is missing here");
        if !self.json {
            println!("\nAll is well.");
        }
        Ok(())
    }
}
