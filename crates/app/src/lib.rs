//! Place of `deskhand-app`.
