//! The row of a binding: written from checked values, and checked again when it is read.
//!
//! Input: a binding, or a row. Output: a row, or a [`Stored`] binding. Invariant: what is read was allowed to be written.
//! Never: gives an empty or partial binding for a row that is damaged.

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::json;
use agent_lifecycle_core::runtime::binding::{
    Binding, BindingCode, BindingFault, Content, Filter, ProductSessionId, may_begin, new_binding,
};
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde_json::{Map, Value};

/// A binding, and who claimed it.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) binding: Binding,
    /// The owner's record.
    pub(super) owner: Option<String>,
}

/// A row that is no binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Corrupt {
    /// Its id, where that can be read.
    pub(super) id: Option<ProductSessionId>,
    /// What is wrong.
    pub(super) what: &'static str,
}

impl From<Corrupt> for BindingFault {
    fn from(Corrupt { id, what }: Corrupt) -> Self {
        let name = id.as_ref().map_or("a row without a readable id", ProductSessionId::as_str);
        let message = format!(
            "the stored binding of {name} is damaged: {what}; `agent-lifecycle bindings repair` tells more"
        );
        let mut fault = Self::new(BindingCode::Corrupt, message);
        fault.details.product_session_id = id;
        fault
    }
}

/// Why no row was read.
pub(super) enum Unread {
    Sqlite(rusqlite::Error),
    Corrupt(Corrupt),
}

impl From<rusqlite::Error> for Unread {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// The row with the native id that its binding claims, by the table of native ids.
const SELECT: &str = "SELECT b.*, n.adapter_id AS claimed_adapter, n.native_session_id AS claimed_id FROM bindings b \
    LEFT JOIN native_ids n ON n.product_session_id = b.product_session_id AND n.kind = 'claim'";

/// The binding of `id`.
pub(super) fn find(connection: &Connection, id: &ProductSessionId) -> Result<Option<Stored>, Unread> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} WHERE b.product_session_id = ?1"))?;
    let found = statement.query_row([id.as_str()], |row| Ok(read(row))).optional()?;
    found.transpose().map_err(Unread::Corrupt)
}

/// Each binding that the filter lets through, in the order of the ids, to `take`.
pub(super) fn each(
    connection: &Connection,
    filter: &Filter,
    mut take: impl FnMut(Result<Stored, Corrupt>),
) -> Result<(), rusqlite::Error> {
    let sql = format!(
        "{SELECT} WHERE (?1 IS NULL OR b.adapter_id = ?1) AND (?2 IS NULL OR b.state = ?2) \
         AND (?3 IS NULL OR b.runtime_instance_id = ?3) ORDER BY b.product_session_id"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let state = filter.state.map(|state| state.as_str());
    let mut rows = statement.query((&filter.adapter_id, state, &filter.runtime_instance_id))?;
    while let Some(row) = rows.next()? {
        take(read(row));
    }
    Ok(())
}

/// Columns that hold one member each, as text.
const TEXTS: [(&str, &str); 8] = [
    ("product_session_id", "productSessionId"),
    ("runtime_instance_id", "runtimeInstanceId"),
    ("adapter_id", "adapterId"),
    ("native_session_id", "nativeSessionId"),
    ("state", "state"),
    ("protocol", "protocol"),
    ("protocol_version", "protocolVersion"),
    ("adapter_version", "adapterVersion"),
];
/// Columns that hold one member each, as JSON.
const JSONS: [&str; 3] = ["locator", "metadata", "diagnostic"];

fn read(row: &Row<'_>) -> Result<Stored, Corrupt> {
    let id = row.get::<_, String>("product_session_id").ok().and_then(|text| ProductSessionId::new(&text));
    let corrupt = |what| Corrupt { id: id.clone(), what };
    let mut members = Map::new();
    for (column, member) in TEXTS {
        match row.get::<_, Option<String>>(column) {
            Ok(Some(text)) => _ = members.insert(member.to_owned(), Value::String(text)),
            Ok(None) => {}
            Err(_) => return Err(corrupt("a column is no text")),
        }
    }
    for column in JSONS {
        match row.get::<_, Option<String>>(column) {
            Ok(Some(text)) => {
                let value = serde_json::from_str(&text).map_err(|_| corrupt("a column is no JSON"))?;
                members.insert(column.to_owned(), value);
            }
            Ok(None) => {}
            Err(_) => return Err(corrupt("a column is no text")),
        }
    }
    let has_id = members.contains_key("nativeSessionId");
    let content =
        new_binding(&Value::Object(members).to_string()).map_err(|_| corrupt("a member is no value"))?;
    if may_begin(&content).is_err() || has_id != content.native_session_id.is_some() {
        return Err(corrupt("its state and its native session do not fit"));
    }
    let number = |column| {
        let number = row.get::<_, i64>(column).ok().and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| corrupt("a column is no number"))
    };
    let time = |column| row.get::<_, i64>(column).map_err(|_| corrupt("a column is no time"));
    let text = |column| row.get::<_, Option<String>>(column).map_err(|_| corrupt("a column is no text"));
    let (adapter, native) = (text("claimed_adapter")?, text("claimed_id")?);
    let claims = native.as_deref().map(|native| (adapter.as_deref(), native));
    let own =
        content.native_session_id.as_ref().map(|native| (Some(content.adapter_id.as_str()), native.as_str()));
    if claims != own {
        return Err(corrupt("the table of native sessions says otherwise"));
    }
    let binding = Binding {
        revision: number("revision")?,
        generation: number("generation")?,
        created_at: Moment::from_unix_millis(time("created_at")?),
        updated_at: Moment::from_unix_millis(time("updated_at")?),
        content,
    };
    if binding.revision == 0 {
        return Err(corrupt("its revision is none"));
    }
    Ok(Stored { binding, owner: text("owner")? })
}

/// Writes the whole row of a binding; its owner stays.
pub(super) fn write(connection: &Connection, binding: &Binding) -> Result<(), rusqlite::Error> {
    let Binding { content, revision, generation, created_at, updated_at } = binding;
    let Content {
        product_session_id,
        runtime_instance_id,
        adapter_id,
        native_session_id,
        state,
        protocol,
        protocol_version,
        adapter_version,
        locator,
        metadata,
        diagnostic,
    } = content;
    let sql = "INSERT INTO bindings (product_session_id, runtime_instance_id, adapter_id, native_session_id, state, protocol, \
        protocol_version, adapter_version, locator, metadata, diagnostic, revision, generation, created_at, updated_at) \
        VALUES (:id, :instance, :adapter, :native, :state, :protocol, :protocol_version, :adapter_version, :locator, :metadata, \
        :diagnostic, :revision, :generation, :created, :updated) \
        ON CONFLICT (product_session_id) DO UPDATE SET runtime_instance_id = excluded.runtime_instance_id, \
        adapter_id = excluded.adapter_id, native_session_id = excluded.native_session_id, state = excluded.state, \
        protocol = excluded.protocol, protocol_version = excluded.protocol_version, \
        adapter_version = excluded.adapter_version, locator = excluded.locator, metadata = excluded.metadata, \
        diagnostic = excluded.diagnostic, revision = excluded.revision, generation = excluded.generation, \
        updated_at = excluded.updated_at";
    connection.prepare_cached(sql)?.execute(named_params! {
        ":id": product_session_id.as_str(),
        ":instance": runtime_instance_id,
        ":adapter": adapter_id,
        ":native": native_session_id.as_ref().map(|id| id.as_str()),
        ":state": state.as_str(),
        ":protocol": protocol,
        ":protocol_version": protocol_version,
        ":adapter_version": adapter_version,
        ":locator": locator.as_ref().map(json::write),
        ":metadata": metadata.as_ref().map(json::write),
        ":diagnostic": diagnostic.as_ref().map(json::write),
        ":revision": integer(*revision),
        ":generation": integer(*generation),
        ":created": millis(*created_at),
        ":updated": millis(*updated_at),
    })?;
    Ok(())
}

/// A number as `SQLite` has it. One more each time from 0 does not get beyond.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn millis(moment: Moment) -> i64 {
    moment.millis_since(Moment::from_unix_millis(0))
}
