-- One schema for SQLite and PostgreSQL: TEXT and BIGINT only, times are Unix milliseconds, flags are 0 or 1.
CREATE TABLE users (
    name TEXT PRIMARY KEY,
    password TEXT NOT NULL,
    superadmin BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    created_ms BIGINT NOT NULL
);
CREATE TABLE sessions (
    digest TEXT PRIMARY KEY,
    user_name TEXT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_name);
CREATE TABLE servers (
    name TEXT PRIMARY KEY,
    spec TEXT NOT NULL,
    created_ms BIGINT NOT NULL
);
CREATE TABLE grants (
    server TEXT NOT NULL,
    user_name TEXT NOT NULL,
    PRIMARY KEY (server, user_name)
);
CREATE TABLE folders (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL,
    path TEXT NOT NULL,
    who TEXT NOT NULL
);
CREATE TABLE cron (
    id TEXT PRIMARY KEY,
    user_name TEXT NOT NULL,
    schedule TEXT NOT NULL,
    prompt TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    next_ms BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    last_result TEXT NOT NULL
);
CREATE INDEX cron_by_next ON cron (next_ms);
