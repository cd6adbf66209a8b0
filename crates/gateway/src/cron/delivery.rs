//! Delivery of a fired entry to the configured webhook, with retries.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

use crate::store::{CronRow, now_ms};

/// Waits between tries.
const RETRIES: [Duration; 4] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120)];
/// One try may take this long.
const TRY_WITHIN: Duration = Duration::from_secs(20);

/// Where entries are delivered.
#[derive(Clone)]
pub struct Webhook {
    client: reqwest::Client,
    url: String,
    secret: Option<Vec<u8>>,
    retries: Vec<Duration>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a key.
        f.write_str("Webhook(..)")
    }
}

impl Webhook {
    /// A webhook at `url`; with a secret every body is signed.
    #[must_use]
    pub fn new(client: reqwest::Client, url: String, secret: Option<Vec<u8>>) -> Self {
        Self { client, url, secret, retries: RETRIES.to_vec() }
    }

    /// The same with other waits between tries.
    #[must_use]
    pub fn with_retries(mut self, retries: Vec<Duration>) -> Self {
        self.retries = retries;
        self
    }

    /// Posts the entry until it is taken. `delivery` is the same in every try, so that a receiver can drop repeats.
    ///
    /// # Errors
    /// Why the last try failed, in words.
    pub(crate) async fn deliver(&self, row: &CronRow) -> Result<(), String> {
        let delivery = hex::encode(rand::random::<[u8; 16]>());
        let body = json!({
            "id": row.id,
            "delivery": delivery,
            "user": row.user_name,
            "schedule": row.schedule,
            "prompt": row.prompt,
            "due_ms": row.next_ms,
            "fired_ms": now_ms(),
        })
        .to_string();
        let mut waits = self.retries.iter();
        loop {
            let why = match self.post(&body, &delivery).await {
                Ok(()) => return Ok(()),
                Err(Failure { why, lasting: true }) => return Err(why),
                Err(Failure { why, lasting: false }) => why,
            };
            match waits.next() {
                Some(wait) => tokio::time::sleep(*wait).await,
                None => return Err(format!("{why} (after {} tries)", self.retries.len() + 1)),
            }
        }
    }

    async fn post(&self, body: &str, delivery: &str) -> Result<(), Failure> {
        let mut post = self
            .client
            .post(&self.url)
            .timeout(TRY_WITHIN)
            .header("content-type", "application/json")
            .header("x-deskhand-delivery", delivery)
            .body(body.to_owned());
        if let Some(secret) = &self.secret
            && let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret)
        {
            mac.update(body.as_bytes());
            let signature = hex::encode(mac.finalize().into_bytes());
            post = post.header("x-deskhand-signature", format!("sha256={signature}"));
        }
        let response = post.send().await.map_err(|error| Failure { why: error.without_url().to_string(), lasting: false })?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let lasting = status.is_client_error() && status.as_u16() != 408 && status.as_u16() != 429;
        Err(Failure { why: format!("the webhook answered HTTP {status}"), lasting })
    }
}

struct Failure {
    why: String,
    /// Trying again would not help.
    lasting: bool,
}
