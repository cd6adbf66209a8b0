//! A TCP proxy that cuts, holds and lets go.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Bytes stay where they are; connections stay up.
    Held,
}

pub struct Proxy {
    pub url: String,
    state: watch::Sender<State>,
    /// Rises at each cut.
    cuts: watch::Sender<u64>,
}

impl Proxy {
    pub async fn to(url: &str) -> Self {
        let target: SocketAddr = url.trim_start_matches("http://").parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            state: watch::Sender::new(State::Open),
            cuts: watch::Sender::new(0),
        };
        let (state, cuts) = (proxy.state.subscribe(), proxy.cuts.subscribe());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (state, mut cuts) = (state.clone(), cuts.clone());
                cuts.mark_unchanged();
                tokio::spawn(async move {
                    let Ok(far) = TcpStream::connect(target).await else { return };
                    let (near, far) = (near.into_split(), far.into_split());
                    tokio::select! {
                        () = pump(near.0, far.1, state.clone()) => {}
                        () = pump(far.0, near.1, state) => {}
                        _ = cuts.changed() => {}
                    }
                });
            }
        });
        proxy
    }

    /// Ends all connections at once.
    pub fn cut(&self) {
        self.cuts.send_modify(|count| *count += 1);
    }

    /// Lets nothing through, either way, until released.
    pub fn hold(&self) {
        self.state.send_replace(State::Held);
    }

    pub fn release(&self) {
        self.state.send_replace(State::Open);
    }
}

async fn pump(mut from: tokio::net::tcp::OwnedReadHalf, mut to: tokio::net::tcp::OwnedWriteHalf, mut state: watch::Receiver<State>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length) = from.read(&mut buffer).await {
        if length == 0 || state.wait_for(|state| *state == State::Open).await.is_err() {
            return;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
