//! The doors seen from outside: raw sockets against a fake service.

mod bare;
mod support;
mod sessions;
