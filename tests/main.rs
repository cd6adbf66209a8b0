//! The end-to-end tests: the real binary against real windows, real pages and real clients, each as a process of its own.
//!
//! Each module covers one area; `support` has displays, workers and witnesses. A witness decides, never the worker's word.
#![cfg(target_os = "linux")]
#![allow(dead_code, missing_docs, reason = "each module uses a part of the support")]

mod support;

mod clipboard;
mod connect;
mod coords;
mod extension;
mod extension_attacks;
mod files;
mod held;
mod keys;
mod mcp_clients;
mod mcp_doors;
mod mcp_wire;
mod mouse;
mod screenshot;
mod session;
mod takeover;
mod typing;
mod virtual_display;
