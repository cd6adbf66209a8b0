//! Reading a request's body: the right type, within the limit, in time.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::header::{ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt;

use crate::answer;

/// A body that is not there after this is given up, however it trickles.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(30);
/// Of a body over the limit so much is thrown away before it is refused, for at most so long.
const TOO_LARGE_BODY: u64 = 1 << 30;
const TOO_LARGE_TIME: Duration = Duration::from_secs(5);
const PAUSED: Duration = Duration::from_millis(300);

/// Reads a JSON body.
///
/// The type is checked before a byte is read: a web page can send a "simple" POST to loopback without asking anybody,
/// but not one of type `application/json`.
///
/// # Errors
/// The refusal to send: 415, 413, 408 or 400.
pub(crate) async fn read_json(request: Request<Body>, limit: usize) -> Result<(Parts, Bytes), Response<Body>> {
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        drain(body, limit as u64, TOO_LARGE_TIME).await;
        return Err(answer::refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json"));
    }
    let declared = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > limit as u64) {
        drain(body, TOO_LARGE_BODY, TOO_LARGE_TIME).await;
        return Err(too_large(limit));
    }
    match tokio::time::timeout(BODY_TIME, collect(body, limit)).await {
        Ok(Ok(bytes)) => Ok((parts, bytes)),
        Ok(Err(response)) => Err(response),
        Err(_) => Err(closing(answer::refuse(StatusCode::REQUEST_TIMEOUT, "The body did not arrive within 30 s"))),
    }
}

async fn collect(mut body: Body, limit: usize) -> Result<Bytes, Response<Body>> {
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| closing(answer::refuse(StatusCode::BAD_REQUEST, "The body is malformed")))?;
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit - all.len() {
            drop(all);
            drain(body, TOO_LARGE_BODY, TOO_LARGE_TIME).await;
            return Err(too_large(limit));
        }
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}

/// Reads and throws away, so that the sender gets to read the refusal instead of a broken connection.
pub(crate) async fn drain(mut body: Body, most: u64, time: Duration) {
    let read = async {
        let mut read = 0;
        // A sender that has paused is waiting for the answer already.
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(PAUSED, body.frame()).await {
            read += frame.data_ref().map_or(0, Bytes::len) as u64;
            if read > most {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(time, read).await;
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (types.next(), types.next()) else { return false };
    let essence = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

fn too_large(limit: usize) -> Response<Body> {
    closing(answer::refuse(StatusCode::PAYLOAD_TOO_LARGE, &format!("The body is larger than {limit} bytes")))
}

/// The rest of the request is not read: the connection cannot be used again.
pub(crate) fn closing(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// 405 with what would be allowed.
pub(crate) fn method_not_allowed(allow: &'static str) -> Response<Body> {
    let mut response = answer::refuse(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    response
}
