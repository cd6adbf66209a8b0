//! The end-to-end tests: the real binary against real windows, real pages and real clients, each as a process of its own.
//!
//! Each module covers one area; `support` has displays, workers and witnesses. A witness decides, never the worker's word.
#![cfg(target_os = "linux")]
#![allow(dead_code, missing_docs, reason = "each module uses a part of the support")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the support is test code too: a failure is the answer")]

mod support;

mod browser_attach;
mod browser_click;
mod browser_dialogs;
mod browser_input;
mod browser_managed;
mod browser_nav;
mod browser_read;
mod browser_rules;
mod browser_script;
mod browser_tabs;
mod clipboard;
mod connect;
mod coords;
mod extension;
mod extension_attacks;
mod files;
mod gateway_clients;
mod gateway_faults;
mod gateway_network;
mod gateway_page;
mod gateway_relay;
mod gateway_stand;
mod held;
mod keys;
mod laws;
mod lifecycle;
mod mcp_clients;
mod mcp_doors;
mod mcp_wire;
mod mouse;
mod ocr;
mod screenshot;
mod session;
mod takeover;
mod tray_consent;
mod tray_icon;
mod tray_links;
mod tray_pages;
mod tray_stop;
mod typing;
mod virtual_display;
