//! A connection whose other end has stopped reading does not stay.
//!
//! hyper waits for ever to get rid of an answer. What the other end never takes would keep its memory, its place among
//! the streams and its call, so a write that makes no headway for a minute ends the connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::Sleep;

/// Longer than this no write may stand still.
pub(crate) const STALL: Duration = Duration::from_secs(60);

/// A connection and how long its writes may stand still.
#[derive(Debug)]
pub(crate) struct Brisk<T> {
    io: T,
    limit: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> Brisk<T> {
    pub(crate) fn new(io: T, limit: Duration) -> Self {
        Self { io, limit, waiting: None }
    }

    /// Passes on what came of a write, and starts, stops or heeds the clock.
    fn timed<R>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let limit = self.limit;
        let clock = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        clock.as_mut().poll(cx).map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "the other end does not read")))
    }
}

impl<T: Read + Unpin> Read for Brisk<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl<T: Write + Unpin> Write for Brisk<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.timed(cx, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(cx, parts);
        self.timed(cx, polled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    fn pair(limit: Duration) -> (TokioIo<Brisk<TokioIo<DuplexStream>>>, DuplexStream) {
        let (ours, theirs) = duplex(1024);
        (TokioIo::new(Brisk::new(TokioIo::new(ours), limit)), theirs)
    }

    #[tokio::test(start_paused = true)]
    async fn who_never_reads_is_left() {
        let (mut ours, theirs) = pair(STALL);
        let begun = tokio::time::Instant::now();
        let error = ours.write_all(&[0; 4096]).await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed()), (io::ErrorKind::TimedOut, STALL));
        drop(theirs);
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_slowly_gets_everything() {
        let (mut ours, mut theirs) = pair(STALL);
        let reader = tokio::spawn(async move {
            let mut all = Vec::new();
            let mut piece = [0; 512];
            while let Ok(read) = theirs.read(&mut piece).await {
                if read == 0 {
                    break;
                }
                all.extend_from_slice(&piece[..read]);
                tokio::time::sleep(STALL / 2).await;
            }
            all.len()
        });
        ours.write_all(&[7; 16 * 1024]).await.unwrap();
        drop(ours);
        assert_eq!(reader.await.unwrap(), 16 * 1024);
    }
}
