//! The doors seen from outside: raw sockets against a fake service.

mod attacks;
mod bare;
mod legacy;
mod support;
mod sessions;
mod stdio;
