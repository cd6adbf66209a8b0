//! The doors seen from outside: raw sockets against a fake service.

mod attacks;
mod bare;
mod legacy;
mod sessions;
mod stdio;
mod support;
