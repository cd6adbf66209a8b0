//! The system's own dialogs. On Linux they are windows of this process and not the desktop portal's, so that no agent's
//! click or key reaches them.

use crate::shell::Shell;
use std::path::PathBuf;

/// A folder that the person chose.
pub async fn folder(shell: &Shell) -> Option<String> {
    let chosen = platform::folder(shell).await?;
    Some(chosen.display().to_string())
}

/// Where to save a file.
pub async fn save(shell: &Shell, name: &'static str) -> Option<PathBuf> {
    platform::save(shell, name).await
}

/// Says a sentence.
pub fn tell(shell: &Shell, text: String) {
    let shell = shell.clone();
    tauri::async_runtime::spawn(async move { platform::tell(&shell, text).await });
}

#[cfg(target_os = "linux")]
mod platform {
    use super::{PathBuf, Shell};
    use gtk::prelude::*;
    use gtk::{ButtonsType, DialogFlags, FileChooserAction, FileChooserDialog, MessageDialog, MessageType, ResponseType};
    use tokio::sync::oneshot;

    pub(super) async fn folder(shell: &Shell) -> Option<PathBuf> {
        choose(shell, FileChooserAction::SelectFolder, None).await
    }

    pub(super) async fn save(shell: &Shell, name: &'static str) -> Option<PathBuf> {
        choose(shell, FileChooserAction::Save, Some(name)).await
    }

    async fn choose(shell: &Shell, action: FileChooserAction, name: Option<&'static str>) -> Option<PathBuf> {
        let (chosen, waiting) = oneshot::channel();
        shell.on_main(move || show(action, name, chosen)).await?;
        waiting.await.ok().flatten()
    }

    /// A file dialog; it lives until it is answered.
    fn show(action: FileChooserAction, name: Option<&str>, chosen: oneshot::Sender<Option<PathBuf>>) {
        let words = [("gtk-cancel", ResponseType::Cancel), ("gtk-ok", ResponseType::Accept)];
        let dialog = FileChooserDialog::with_buttons(Some("Deskhand"), None::<&gtk::Window>, action, &words);
        if let Some(name) = name {
            dialog.set_current_name(name);
            dialog.set_do_overwrite_confirmation(true);
        }
        let chosen = std::cell::Cell::new(Some(chosen));
        dialog.connect_response(move |dialog, response| {
            let path = if response == ResponseType::Accept { dialog.filename() } else { None };
            if let Some(chosen) = chosen.take() {
                let _ = chosen.send(path);
            }
            dialog.close();
        });
        dialog.show_all();
        dialog.present();
    }

    pub(super) async fn tell(shell: &Shell, text: String) {
        let said = move || {
            let dialog = MessageDialog::new(None::<&gtk::Window>, DialogFlags::empty(), MessageType::Warning, ButtonsType::Close, &text);
            dialog.set_title("Deskhand");
            dialog.connect_response(|dialog, _| dialog.close());
            dialog.show_all();
        };
        shell.on_main(said).await;
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::{PathBuf, Shell};

    pub(super) async fn folder(shell: &Shell) -> Option<PathBuf> {
        let dialog = shell.on_main(|| rfd::AsyncFileDialog::new().set_title("Deskhand").pick_folder()).await?;
        Some(dialog.await?.path().to_owned())
    }

    pub(super) async fn save(shell: &Shell, name: &'static str) -> Option<PathBuf> {
        let dialog = shell.on_main(move || rfd::AsyncFileDialog::new().set_title("Deskhand").set_file_name(name).save_file()).await?;
        Some(dialog.await?.path().to_owned())
    }

    pub(super) async fn tell(shell: &Shell, text: String) {
        let dialog =
            move || rfd::AsyncMessageDialog::new().set_title("Deskhand").set_description(text).set_level(rfd::MessageLevel::Warning).show();
        if let Some(said) = shell.on_main(dialog).await {
            said.await;
        }
    }
}
