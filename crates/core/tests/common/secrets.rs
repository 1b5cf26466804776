//! The two corpora, and checks that a secret is gone.

use std::sync::Arc;

use agent_lifecycle_core::redact::{Redactor, StreamRedactor};

pub(crate) const HARMLESS: &str = include_str!("../corpus/harmless.txt");
pub(crate) const SECRETS: &str = include_str!("../corpus/secrets.txt");

pub(crate) fn harmless() -> impl Iterator<Item = &'static str> {
    HARMLESS.lines()
}

/// The texts of the corpus with the secrets in each.
pub(crate) fn secrets() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    SECRETS.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let parts = line.split('«').skip(1);
        let secrets = parts.map(|part| part.split_once('»').expect("a secret ends").0).collect();
        (line.replace(['«', '»'], ""), secrets)
    })
}

/// The first piece of four characters of a secret that is in `out`.
pub(crate) fn survivor<'s>(out: &str, secret: &'s str) -> Option<&'s str> {
    let starts: Vec<usize> = secret.char_indices().map(|(at, _)| at).chain([secret.len()]).collect();
    starts.windows(5).map(|w| &secret[w[0]..w[4]]).find(|piece| out.contains(piece))
}

pub(crate) fn check_gone(text: &str, out: &str, secrets: &[&str]) {
    for secret in secrets {
        assert!(!out.contains(secret), "{text:?} -> {out:?} shows {secret:?}");
        // The same letters can stand elsewhere in the text as part of no secret ("password", "fake").
        if let Some(piece) = survivor(out, secret) {
            let others = secrets.iter().fold(text.to_owned(), |rest, secret| rest.replace(secret, ""));
            assert!(others.contains(piece), "{text:?} -> {out:?} shows {piece:?} of {secret:?}");
        }
    }
}

pub(crate) fn stream(redactor: &Arc<Redactor>, pieces: &[&str]) -> String {
    let mut stream = StreamRedactor::new(Arc::clone(redactor));
    let mut out: String = pieces.iter().map(|piece| stream.push(piece)).collect();
    out.push_str(&stream.finish());
    out
}

pub(crate) fn plain() -> Arc<Redactor> {
    Arc::new(Redactor::default())
}

/// A piece of four or more UTF-16 units of `secret` in `out`.
pub(crate) fn shown_units(out: &str, secret: &str) -> Option<String> {
    let (out, secret): (Vec<u16>, Vec<u16>) = (out.encode_utf16().collect(), secret.encode_utf16().collect());
    let found = secret.windows(4).find(|piece| out.windows(4).any(|window| window == *piece));
    found.map(String::from_utf16_lossy)
}
