-- Version 1. What each column holds: docs/bindings.md.
CREATE TABLE bindings (
  product_session_id TEXT NOT NULL PRIMARY KEY CHECK (octet_length(product_session_id) BETWEEN 1 AND 512),
  runtime_instance_id TEXT NOT NULL CHECK (octet_length(runtime_instance_id) BETWEEN 1 AND 512),
  adapter_id TEXT NOT NULL CHECK (octet_length(adapter_id) BETWEEN 1 AND 512),
  native_session_id TEXT CHECK (octet_length(native_session_id) BETWEEN 1 AND 4096),
  state TEXT NOT NULL CHECK (state IN ('unbound', 'bound', 'missing', 'error')),
  protocol TEXT CHECK (octet_length(protocol) BETWEEN 1 AND 512),
  protocol_version TEXT CHECK (octet_length(protocol_version) BETWEEN 1 AND 512),
  adapter_version TEXT CHECK (octet_length(adapter_version) BETWEEN 1 AND 512),
  locator TEXT CHECK (locator IS NULL OR CASE WHEN json_valid(locator) THEN json_type(locator) = 'object' ELSE FALSE END),
  metadata TEXT CHECK (metadata IS NULL OR CASE WHEN json_valid(metadata) THEN json_type(metadata) = 'object' ELSE FALSE END)
    CHECK (octet_length(metadata) <= 65536),
  diagnostic TEXT CHECK (diagnostic IS NULL OR CASE WHEN json_valid(diagnostic) THEN json_type(diagnostic) = 'object' ELSE FALSE END),
  revision INTEGER NOT NULL CHECK (revision >= 1),
  generation INTEGER NOT NULL CHECK (generation BETWEEN 0 AND revision),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  owner TEXT CHECK (owner IS NULL OR CASE WHEN json_valid(owner) THEN json_type(owner) = 'object' ELSE FALSE END),
  owner_environment TEXT,
  CHECK (state NOT IN ('bound', 'missing') OR native_session_id IS NOT NULL),
  CHECK (state <> 'unbound' OR native_session_id IS NULL),
  CHECK ((owner IS NULL) = (owner_environment IS NULL)),
  CHECK (owner IS NULL OR generation >= 1)
) STRICT;

CREATE INDEX owned ON bindings (owner_environment) WHERE owner_environment IS NOT NULL;

-- Who has a native id. A claim belongs to a binding, a reservation to an owner.
CREATE TABLE native_ids (
  adapter_id TEXT NOT NULL CHECK (octet_length(adapter_id) BETWEEN 1 AND 512),
  native_session_id TEXT NOT NULL CHECK (octet_length(native_session_id) BETWEEN 1 AND 4096),
  product_session_id TEXT NOT NULL CHECK (octet_length(product_session_id) BETWEEN 1 AND 512),
  kind TEXT NOT NULL CHECK (kind IN ('claim', 'reservation')),
  reservation TEXT,
  owner TEXT CHECK (owner IS NULL OR CASE WHEN json_valid(owner) THEN json_type(owner) = 'object' ELSE FALSE END),
  owner_environment TEXT,
  PRIMARY KEY (adapter_id, native_session_id),
  CHECK ((kind = 'reservation') = (reservation IS NOT NULL)),
  CHECK ((kind = 'reservation') = (owner IS NOT NULL)),
  CHECK ((owner IS NULL) = (owner_environment IS NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX claims ON native_ids (product_session_id) WHERE kind = 'claim';
CREATE INDEX reserved ON native_ids (owner_environment) WHERE owner_environment IS NOT NULL;

CREATE TABLE history (
  entry INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  product_session_id TEXT NOT NULL,
  change TEXT NOT NULL CHECK (change IN ('created', 'updated', 'claimed', 'released', 'freed', 'orphaned')),
  revision INTEGER NOT NULL CHECK (revision >= 0),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  detail TEXT NOT NULL CHECK (CASE WHEN json_valid(detail) THEN json_type(detail) = 'object' ELSE FALSE END)
) STRICT;

CREATE INDEX history_of ON history (product_session_id, entry);
CREATE UNIQUE INDEX one_entry_a_revision ON history (product_session_id, revision)
  WHERE change IN ('created', 'updated', 'claimed');
