//! The worker's way to a gateway: from the command line's options, else from the account that is signed in.

use crate::options::ServeOptions;
use crate::state::StateFolder;
use anyhow::Result;
use deskhand_core::Dispatcher;
use deskhand_executor::{Address, Executor, Source, Token, Vault};

/// Starts the executor. It connects while AI control is authorised and somebody is signed in.
pub(crate) fn start(options: &ServeOptions, state: &StateFolder, dispatcher: &Dispatcher) -> Result<Executor> {
    let source = match (&options.gateway, &options.gateway_token_file) {
        (Some(url), Some(file)) => Source::Fixed {
            address: Address::parse(url)?,
            token: Token::read(file)?,
            ca: options.gateway_ca.clone(),
            state_dir: Some(state.path().to_owned()),
        },
        _ => Source::Account { state_dir: state.path().to_owned(), vault: Vault::new(state.path()) },
    };
    Ok(Executor::for_dispatcher(dispatcher, source))
}
