//! `deskhand serve`: a worker without the tray app. The policy is what `--authorize` says; nobody is asked.

use anyhow::Result;
use deskhand_app::{Gate, ServeOptions, StateFolder, VirtualDisplay, Worker, WorkerParts};

/// Runs until SIGTERM, SIGINT or `deskhand mcp stop`.
pub(crate) fn serve(options: ServeOptions) -> Result<()> {
    crate::log();
    let state = StateFolder::open(options.state_dir.as_deref())?;
    // Before the runtime: its threads must find the environment of the display that they work on.
    let virtual_display = options.virtual_display.map(|size| VirtualDisplay::start(size.width, size.height)).transpose()?;
    if let Some(display) = &virtual_display {
        display.export_before_threads()?;
        for missing in display.missing() {
            tracing::warn!("{} was not found: {}; {}", missing.what, missing.effect, missing.remedy);
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let gate = Gate::headless(options.authorize);
        let ready_json = options.ready_json;
        let worker = Worker::start(WorkerParts { options, state, gate, virtual_display }).await?;
        let stopping = worker.stopping();
        tokio::spawn(async move {
            deskhand_app::signalled().await;
            stopping.cancel();
        });
        if ready_json {
            println!("{}", worker.ready);
        } else {
            eprintln!("deskhand listens on {}; the token is in the state folder", worker.ready["mcp_url"].as_str().unwrap_or_default());
        }
        worker.run().await;
        Ok(())
    })
}
