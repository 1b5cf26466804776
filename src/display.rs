//! `statusReport` and `fallbackTodos`: rows from any hand as text.

use agent_lifecycle_core::display::{self, RowsFault, Shown};
use agent_lifecycle_core::json::JsonFault;
use napi::{Env, Result};
use napi_derive::napi;

use crate::convert::{moment, text};
use crate::error::Refusal;

/// The rows in the JSON text of an array as a report.
#[napi(catch_unwind)]
pub fn status_report(env: Env, rows: String, now: String, evidence: bool) -> Result<String> {
    let now = moment(env, &now, "now")?;
    Ok(display::status_report(&shown(env, &rows)?, now, evidence))
}

/// The rows in the JSON text of an array as the JSON text of a list of to-dos.
#[napi(catch_unwind)]
pub fn fallback_todos(env: Env, rows: String, now: String, evidence: bool) -> Result<String> {
    let now = moment(env, &now, "now")?;
    Ok(text(&display::fallback_todos(&shown(env, &rows)?, now, evidence)))
}

fn shown(env: Env, rows: &str) -> Result<Vec<Shown>> {
    display::read_rows(rows).map_err(|fault| {
        let (code, path, message) = match fault {
            RowsFault::Json(JsonFault::TooDeep) => {
                ("too_deep", "rows".to_owned(), "the rows are nested too deep".to_owned())
            }
            RowsFault::Json(JsonFault::InvalidUtf8 | JsonFault::Malformed) => {
                ("invalid_value", "rows".to_owned(), "the rows are not JSON".to_owned())
            }
            RowsFault::Row { path, must } => {
                ("invalid_argument", path.clone(), format!("{path} must be {must}"))
            }
        };
        Refusal { code, path: Some(&path), message: &message }.into_error(env)
    })
}
