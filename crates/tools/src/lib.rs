//! Place of `deskhand-tools`.
