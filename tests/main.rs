//! Place.
