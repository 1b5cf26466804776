//! The text rules: a text in, the spans of the secrets in it out, in any order and possibly overlapping.
//! One automaton looks for the triggers of all rules first; a rule runs only when one of its triggers is there.
//! Invariant: what a rule names depends on the text alone, never on what another rule named.
//! It must never read the text once per match: no pattern looks further than it takes.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memchr;
use regex::{Captures, Regex};

use super::filter::Filter;
use super::{Span, assign, value};

/// A token can begin here: not after a letter or digit, save those that end a JSON, URL or terminal escape.
pub(super) const BEFORE: &str = r"(?:^|[^A-Za-z0-9]|\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\[[0-9;]*m)";

struct Rule {
    /// Lower-case literals, one of which is in every match.
    triggers: &'static [&'static str],
    find: Find,
}

enum Find {
    /// The pattern behind [`BEFORE`]; group 1 is the candidate.
    Token(&'static str, fn(&str) -> bool),
    /// A pattern with the candidate as group 1, and the part of its match to hide. No candidate holds a whole match.
    Part(&'static str, fn(&Captures<'_>) -> Option<Range<usize>>),
    /// What a pattern cannot say.
    Scan(fn(&str, &mut Vec<Span>)),
}

const RULES: &[Rule] = &[
    Rule {
        triggers: &["sk-", "pk-"],
        find: Find::Token(r"((?:sk|pk)-[[:word:]\-\x{FFFD}]{8,})", is_dashed_key),
    },
    Rule {
        triggers: &["k_live_", "k_test_", "whsec_"],
        find: Find::Token(r"((?:[spr]k_(?:live|test)|whsec)_[[:word:]\x{FFFD}]{6,})", always),
    },
    Rule {
        triggers: &["ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_"],
        find: Find::Token(r"((?:gh[posur]|github_pat)_[[:word:]\x{FFFD}]{10,})", always),
    },
    Rule {
        triggers: &["glpat-", "gldt-", "glrt-", "glsa_", "glcbt-"],
        find: Find::Token(r"((?:glpat-|gldt-|glrt-|glcbt-|glsa_)[[:word:]\-\x{FFFD}]{8,})", always),
    },
    Rule {
        triggers: &["xox", "xapp-"],
        find: Find::Token(r"((?:xox[a-z]|xapp)-[[:word:]\-\x{FFFD}]{8,})", always),
    },
    Rule { triggers: &["akia", "asia"], find: Find::Token(r"((?:AKIA|ASIA)[A-Z0-9]{16,})", always) },
    Rule { triggers: &["aiza"], find: Find::Token(r"(AIza[[:word:]\-\x{FFFD}]{20,})", always) },
    Rule {
        triggers: &["npm_", "hf_", "gsk_", "r8_", "figd_", "ntn_"],
        find: Find::Token(r"((?:npm|hf|gsk|r8|figd|ntn)_[A-Za-z0-9]{16,}[[:word:]\x{FFFD}]*)", always),
    },
    Rule {
        triggers: &["dop_v1_", "shp", "dckr_pat_", "lin_api_", "sntry"],
        find: Find::Token(
            r"((?:dop_v1|shp(?:at|ss)|dckr_pat|lin_api|sntry[su])_[[:word:]\-=+/\x{FFFD}]{12,})",
            always,
        ),
    },
    Rule {
        triggers: &["nvapi-", "xai-", "pplx-", "tvly-", "gocspx-", "pypi-", "age-secret-key-", "tskey-"],
        find: Find::Token(
            r"((?:nvapi|xai|pplx|tvly|GOCSPX|pypi|AGE-SECRET-KEY|tskey)-[[:word:]\-\x{FFFD}]{20,})",
            always,
        ),
    },
    Rule {
        triggers: &["sg.", "ya29.", "hvs."],
        find: Find::Token(
            r"((?:SG|ya29|hvs)\.[[:word:]\-\x{FFFD}]{16,}(?:\.[[:word:]\-\x{FFFD}]+)*)",
            always,
        ),
    },
    Rule {
        triggers: &["eyj"],
        find: Find::Part(
            r"(eyJ[[:word:]\-\x{FFFD}]{6,}\.[[:word:]\-\x{FFFD}]{4,}(?:\.[[:word:]\-\x{FFFD}]+)*)",
            first_group,
        ),
    },
    Rule {
        triggers: &["bearer"],
        find: Find::Part(r#"(?i:bearer)(?:\s|%20)+([^\s"'`\\,;<>(){}\[\]$]{8,})"#, bearer_token),
    },
    Rule {
        triggers: &["basic"],
        find: Find::Part(r"(?i:basic)(?:\s|%20)+([A-Za-z0-9+/_\-]{8,}=*)", basic_pair),
    },
    Rule { triggers: &["digest"], find: Find::Scan(digest_parameters) },
    Rule { triggers: &["-----begin"], find: Find::Scan(pem_blocks) },
    Rule { triggers: &["://"], find: Find::Part(r#"://([^\s/"\\<>`]+)@"#, url_password) },
    Rule { triggers: &["@"], find: Find::Scan(login_passwords) },
    Rule { triggers: assign::TRIGGERS, find: Find::Scan(assign::find) },
];

struct Compiled {
    /// Knows all triggers but `@`.
    filter: Option<Filter>,
    triggers: AhoCorasick,
    /// The rule of each trigger.
    owners: Vec<usize>,
    rules: Vec<Option<Regex>>,
}

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| {
    let all = RULES.iter().enumerate().flat_map(|(at, rule)| rule.triggers.iter().map(move |t| (at, *t)));
    let (owners, literals): (Vec<usize>, Vec<&str>) = all.unzip();
    let filter = Filter::new(literals.iter().copied().filter(|&literal| literal != "@"));
    let triggers = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(literals)
        .expect("the triggers are few");
    let rules = RULES
        .iter()
        .map(|rule| match rule.find {
            Find::Token(pattern, _) => Some(compile(&format!("{BEFORE}{pattern}"))),
            Find::Part(pattern, _) => Some(compile(pattern)),
            Find::Scan(_) => None,
        })
        .collect();
    Compiled { filter, triggers, owners, rules }
});

impl Compiled {
    /// Whether a trigger can be in the text. Nearly all texts are short and hold none, so this is what they cost.
    fn may_match(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        self.filter.as_ref().is_none_or(|filter| filter.may_hold(bytes) || memchr(b'@', bytes).is_some())
            && self.triggers.is_match(bytes)
    }
}

/// Compiles a pattern of this module and its neighbours.
pub(super) fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this crate is valid")
}

/// Names the secrets that the built-in rules find.
pub(super) fn find(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let compiled = &*COMPILED;
    if !compiled.may_match(text) {
        return spans;
    }
    let mut due = [false; RULES.len()];
    for hit in compiled.triggers.find_overlapping_iter(text) {
        due[compiled.owners[hit.pattern().as_usize()]] = true;
    }
    for (at, rule) in RULES.iter().enumerate().filter(|&(at, _)| due[at]) {
        match (&rule.find, &compiled.rules[at]) {
            (Find::Token(_, accept), Some(regex)) => {
                spans.extend(regex.captures_iter(text).filter_map(|found| {
                    let token = found.get(1)?;
                    accept(token.as_str()).then(|| Span::new(token.start(), token.start(), token.end()))
                }));
            }
            (Find::Part(_, part), Some(regex)) => {
                let mut from = 0;
                while let Some(found) = regex.captures_at(text, from) {
                    let whole = found.get_match();
                    let secret = part(&found);
                    spans.extend(secret.iter().map(|range| Span::new(whole.start(), range.start, range.end)));
                    // What was no secret can begin the next match ("basic x-basic ...").
                    let candidate = found.get(1).map_or(whole.end(), |group| group.start());
                    from = if secret.is_some() { whole.end() } else { candidate };
                }
            }
            (Find::Scan(scan), _) => scan(text, &mut spans),
            (Find::Token(..) | Find::Part(..), None) => {}
        }
    }
    spans
}

fn always(_: &str) -> bool {
    true
}

/// `sk-` also begins class names and words: a key has a digit, a capital or a long part, or a vendor's second prefix.
fn is_dashed_key(token: &str) -> bool {
    let rest = &token[3..];
    ["proj-", "ant-", "live-", "test-", "or-", "svcacct-", "lf-"]
        .iter()
        .any(|vendor| rest.starts_with(vendor))
        || rest.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
        || rest.split(['-', '_']).any(|part| part.len() >= 12)
}

fn first_group(found: &Captures<'_>) -> Option<Range<usize>> {
    found.get(1).map(|group| group.range())
}

/// After `Bearer` prose goes on with a word ("bearer authentication"); a token is longer or not made of small letters.
fn bearer_token(found: &Captures<'_>) -> Option<Range<usize>> {
    let group = found.get(1)?;
    let token = group.as_str().trim_end_matches(['.', ':', '!', '?']);
    let odd = token.bytes().skip(1).any(|b| !b.is_ascii_lowercase() && b != b'-');
    let dashes = token.bytes().filter(|&b| b == b'-').count();
    (token.len() >= 20 || (token.len() >= 8 && (odd || dashes > 1)))
        .then(|| group.start()..group.start() + token.len())
}

/// After `Basic` only base64 of a name, a colon and a password is a secret; prose and code go on with a word.
fn basic_pair(found: &Captures<'_>) -> Option<Range<usize>> {
    let group = found.get(1)?;
    let (mut bits, mut held, mut colon) = (0_u32, 0, false);
    for b in group.as_str().trim_end_matches('=').bytes() {
        let value = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = (bits << 6 | u32::from(value)) & 0xFFFF;
        held += 6;
        if held >= 8 {
            held -= 8;
            let byte = (bits >> held) & 0xFF;
            if byte < 0x20 {
                return None;
            }
            colon |= byte == u32::from(b':');
        }
    }
    colon.then(|| group.range())
}

/// Of the part before `@` in an URL: the password; without one, a name that is long enough to be a token.
fn url_password(found: &Captures<'_>) -> Option<Range<usize>> {
    let group = found.get(1)?;
    match group.as_str().split_once(':') {
        None => (group.len() >= 20).then(|| group.range()),
        Some((_, "")) => Some(group.start()..group.end() - 1),
        Some((user, password)) => {
            let port = password.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_port = port.len() < password.len() && port.starts_with(['?', '#']);
            (!is_port).then(|| group.start() + user.len() + 1..group.end())
        }
    }
}

/// What stands before `:` in `x:y@z` without being a login.
const NOT_A_LOGIN: &[&str] = &[
    "acct",
    "author",
    "bcc",
    "by",
    "cc",
    "co-authored-by",
    "contact",
    "crate",
    "docker",
    "email",
    "file",
    "from",
    "gem",
    "git",
    "github",
    "gitlab",
    "http",
    "https",
    "image",
    "jsr",
    "link",
    "mail",
    "mailto",
    "maven",
    "node",
    "npm",
    "patch",
    "pkg",
    "portal",
    "pypi",
    "reply-to",
    "signed-off-by",
    "sip",
    "sips",
    "ssh",
    "tag",
    "to",
    "urn",
    "workspace",
    "xmpp",
];

/// The passwords of `user:password@host` without a scheme before it.
fn login_passwords(text: &str, spans: &mut Vec<Span>) {
    static LOGIN: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r#"(?:^|[^[:word:].@/:\-])([A-Za-z_][[:word:].\-]*):([^\s"'`/\\<>,;(){}\[\]]+)@([A-Za-z0-9][A-Za-z0-9.\-]*)"#,
        )
    });
    spans.extend(LOGIN.captures_iter(text).filter_map(|found| {
        let (user, password, host) = (found.get(1)?, found.get(2)?, found.get(3)?.as_str());
        is_login(user.as_str(), password.as_str(), host)
            .then(|| Span::new(user.start(), password.start(), password.end()))
    }));
}

fn is_login(user: &str, password: &str, host: &str) -> bool {
    if NOT_A_LOGIN.iter().any(|known| user.eq_ignore_ascii_case(known)) {
        return false;
    }
    let host = host.trim_end_matches(['.', '-']);
    match host.rsplit_once('.') {
        Some((_, last)) if last.bytes().all(|b| b.is_ascii_digit()) => host.split('.').count() == 4,
        Some((_, last)) => last.len() > 1 && last.bytes().all(|b| b.is_ascii_alphabetic()),
        None => {
            password.len() >= 6
                && host.starts_with(|c: char| c.is_ascii_alphabetic())
                && !["sha256", "sha384", "sha512", "npm"].contains(&host)
        }
    }
}

/// The parameters of a `Digest` that stands without its header's name.
fn digest_parameters(text: &str, spans: &mut Vec<Span>) {
    static DIGEST: LazyLock<Regex> = LazyLock::new(|| compile(r"(?i:digest)\s+[A-Za-z]+ ?= ?"));
    let mut from = 0;
    while let Some(found) = DIGEST.find_at(text, from) {
        let start = found.start() + "digest".len();
        let start = start + (text[start..].len() - text[start..].trim_start().len());
        from = value::header_end(text, start).max(found.end());
        spans.push(Span::new(found.start(), start, from));
    }
}

/// PEM blocks with their borders; one without its end goes on to the end of the text. A first line that a quote
/// closes is a border that a program names, unless the next string goes on with the body.
fn pem_blocks(text: &str, spans: &mut Vec<Span>) {
    static BEGIN: LazyLock<Regex> = LazyLock::new(|| compile("-----BEGIN [A-Z0-9 ]{1,64}-----"));
    static END: LazyLock<Regex> = LazyLock::new(|| compile("-----END [A-Z0-9 ]{1,64}-----"));
    static BODY: LazyLock<Regex> =
        LazyLock::new(|| compile(r#"^["'`][ \t\r\n+,.]{0,24}["'`][A-Za-z0-9+/=]{8}"#));
    let mut from = 0;
    while let Some(begin) = BEGIN.find_at(text, from) {
        let rest = &text[begin.end()..];
        from = begin.end();
        if !rest.starts_with(['"', '\'', '`']) || BODY.is_match(rest) {
            from = END.find_at(text, from).map_or(text.len(), |end| end.end());
            spans.push(Span::new(begin.start(), begin.start(), from));
        }
    }
}
