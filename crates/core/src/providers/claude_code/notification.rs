//! What background tasks report.
//!
//! Input: the texts of a record. Output: a [`Notification`] and its reports. Invariant: the texts are notifications as the program
//! writes them and nothing else. Never: takes a person's text that begins with one, or what a report quotes, for a report.

const OPENING: &str = "<task-notification>";
const CLOSING: &str = "</task-notification>";
/// Lines that some versions write after the closing tag.
const POINTERS: [&str; 2] =
    ["Read the output file to retrieve the result: ", "Full transcript available at: "];

/// One or more task notifications.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Notification<'a>(Vec<&'a str>);

/// One background task's report.
#[derive(Debug, PartialEq)]
pub(super) struct TaskReport<'a> {
    pub(super) task_id: Option<&'a str>,
    pub(super) tool_use_id: Option<&'a str>,
    pub(super) status: Option<&'a str>,
    pub(super) summary: Option<&'a str>,
}

impl<'a> Notification<'a> {
    /// The notification that `texts` are.
    pub(super) fn of(texts: &[&'a str]) -> Option<Self> {
        let mut bodies = Vec::new();
        for text in texts {
            let mut rest = text.trim();
            while !rest.is_empty() {
                let (body, after) = body(rest)?;
                bodies.push(body);
                rest = after;
            }
        }
        (!bodies.is_empty()).then_some(Self(bodies))
    }

    pub(super) fn reports(&self) -> impl Iterator<Item = TaskReport<'a>> {
        self.0.iter().map(|body| {
            let first = |name| elements(body).find(|element| element.0 == name).map(|element| element.1);
            TaskReport {
                task_id: first("task-id"),
                tool_use_id: first("tool-use-id"),
                status: first("status"),
                summary: first("summary"),
            }
        })
    }
}

/// What the notification at the start of `text` holds, and what follows it: nothing, or a further one. A closing tag that anything
/// else follows is quoted.
fn body(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix(OPENING)?;
    text.match_indices(CLOSING).find_map(|(at, _)| {
        let after = without_pointer(text[at + CLOSING.len()..].trim_start());
        (after.is_empty() || after.starts_with(OPENING)).then_some((&text[..at], after))
    })
}

fn without_pointer(text: &str) -> &str {
    let Some(path) = POINTERS.iter().find_map(|pointer| text.strip_prefix(pointer)) else { return text };
    match path.find(['\n', '<']).map(|end| &path[end..]) {
        None => "",
        Some(after) if after.starts_with('<') => text,
        Some(after) => after.trim_start(),
    }
}

/// The elements of `body` that are in no other, in order, with what they hold. Only the first of a name counts, and the result of a
/// task, which may quote anything, reaches to its last closing tag.
fn elements(body: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let (name, inside) = rest.split_once('<')?.1.split_once('>')?;
        let closing = format!("</{name}>");
        let (inside, after) = match name {
            "result" => inside.rsplit_once(&closing),
            _ => inside.split_once(&closing),
        }?;
        rest = after;
        Some((name, inside.trim()))
    })
    .filter(|element| !element.1.is_empty())
}
