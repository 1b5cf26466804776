//! `BindingStore`: the store of bindings for JavaScript.
//!
//! Every operation is a promise that the store's own thread settles with JSON text: `{ok}` or `{fault}`. A pending one keeps the
//! process alive, an open store alone does not. At the end of the environment what it owns is released.

use std::sync::Arc;
use std::time::Duration;

use agent_lifecycle_core::runtime::binding::{
    BindingFault, Details, binding_update, expected, filter, native_session, new_binding, product_session,
};
use agent_lifecycle_io::binding_store::{Answer, BindingStore, Options, Repair};
use napi::bindgen_prelude::Object;
use napi::{Env, JsDeferred, Result};
use napi_derive::napi;
use serde::Serialize;

use crate::at_end::AtEnd;
use crate::convert::{integer, text};
use crate::error::Refusal;

type Resolver = Box<dyn FnOnce(Env) -> Result<String> + Send>;
type Deferred = JsDeferred<String, Resolver>;

/// How a store is opened; numbers are checked here.
#[napi(object)]
#[derive(Default)]
pub struct NativeBindingStoreOptions {
    /// Milliseconds that an operation waits for other writers; 5,000 by default.
    pub busy_timeout_ms: Option<f64>,
    /// Whether the file must be a store already.
    pub must_exist: Option<bool>,
}

#[derive(Serialize)]
struct FaultView<'a> {
    code: &'a str,
    message: &'a str,
    details: &'a Details,
}

#[derive(Serialize)]
enum AnswerView<'a, T> {
    #[serde(rename = "ok")]
    Ok(&'a T),
    #[serde(rename = "fault")]
    Fault(FaultView<'a>),
}

fn answer_text<T: Serialize>(answer: &Answer<T>) -> String {
    match answer {
        Ok(value) => text(&AnswerView::Ok(value)),
        Err(fault) => fault_text(fault),
    }
}

fn fault_text(fault: &BindingFault) -> String {
    let BindingFault { code, message, details } = fault;
    text(&AnswerView::<()>::Fault(FaultView { code: code.as_str(), message, details }))
}

fn settle(deferred: Deferred, answer: String) {
    deferred.resolve(Box::new(move |_| Ok(answer)));
}

/// A store that is open, or is being opened.
#[napi]
pub struct NativeBindingStore {
    store: Arc<BindingStore>,
    at_end: AtEnd<BindingStore>,
}

#[napi]
impl NativeBindingStore {
    /// Begins to open the store at `path`. `ready` says what came of it.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, path: String, options: Option<NativeBindingStoreOptions>) -> Result<Self> {
        let NativeBindingStoreOptions { busy_timeout_ms, must_exist } = options.unwrap_or_default();
        let default = Options::new(path);
        let millis = i64::try_from(default.busy_timeout.as_millis()).unwrap_or(i64::MAX);
        let millis = integer(env, busy_timeout_ms, 0, millis, "busyTimeoutMs")?;
        let options = Options {
            busy_timeout: Duration::from_millis(u64::try_from(millis).unwrap_or(0)),
            must_exist: must_exist.unwrap_or(false),
            ..default
        };
        let store = BindingStore::open(options).map_err(|fault| {
            Refusal { code: fault.code.as_str(), path: None, message: &fault.message }.into_error(env)
        })?;
        let store = Arc::new(store);
        let at_end = AtEnd::new(env, &store, BindingStore::end)?;
        Ok(Self { store, at_end })
    }

    /// Whether it could be opened.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn ready<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        self.store.ready(move |answer| settle(deferred, answer_text(&answer)));
        Ok(promise)
    }

    /// Records the binding in a JSON text.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn create<'env>(&self, env: &'env Env, binding: String) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match new_binding(&binding) {
            Ok(given) => self.store.create(given, move |answer| settle(deferred, answer_text(&answer))),
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// The binding of a session, or `null`.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn get<'env>(&self, env: &'env Env, id: String) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match product_session(&id) {
            Ok(given) => self.store.get(given, move |answer| settle(deferred, answer_text(&answer))),
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// The bindings that the filter in a JSON text lets through.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn list<'env>(&self, env: &'env Env, only: String) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match filter(&only) {
            Ok(given) => self.store.list(given, move |answer| settle(deferred, answer_text(&answer))),
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// Replaces a binding by that in a JSON text, with options in another.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn update<'env>(&self, env: &'env Env, next: String, options: String) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match binding_update(&next).and_then(|next| Ok((next, expected(&options)?))) {
            Ok((given, expected)) => {
                self.store.update(given, expected, move |answer| settle(deferred, answer_text(&answer)));
            }
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// Takes a session over: `{binding, generation}`.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn claim<'env>(&self, env: &'env Env, id: String, repairs: bool) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match product_session(&id) {
            Ok(given) => {
                self.store.claim(given, repairs, move |answer| settle(deferred, answer_text(&answer)));
            }
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// Gives up a generation: whether it was current and claimed.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn release<'env>(&self, env: &'env Env, id: String, generation: f64) -> Result<Object<'env>> {
        let generation = u64::try_from(integer(*env, Some(generation), 0, 0, "generation")?).unwrap_or(0);
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match product_session(&id) {
            Ok(id) => {
                self.store.release(id, generation, move |answer| settle(deferred, answer_text(&answer)));
            }
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// What may be shown of a binding, or `null`.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn inspect<'env>(&self, env: &'env Env, id: String) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match product_session(&id) {
            Ok(given) => self.store.inspect(given, move |answer| settle(deferred, answer_text(&answer))),
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// The entries of a session's history.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn history<'env>(&self, env: &'env Env, id: String) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match product_session(&id) {
            Ok(id) => self.store.history(id, move |answer| {
                settle(
                    deferred,
                    match answer {
                        // Each entry is JSON text already.
                        Ok(entries) => format!("{{\"ok\":[{}]}}", entries.join(",")),
                        Err(fault) => fault_text(&fault),
                    },
                );
            }),
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// Keeps the native id in a JSON text: what is kept, and the reservation's name.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn reserve<'env>(&self, env: &'env Env, native: String) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match native_session(&native) {
            Ok(given) => self.store.reserve(given, move |answer| settle(deferred, answer_text(&answer))),
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// Gives up a reservation: whether there was one.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn unreserve<'env>(&self, env: &'env Env, reservation: String) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        self.store.unreserve(reservation, move |answer| settle(deferred, answer_text(&answer)));
        Ok(promise)
    }

    /// Notes the native id in a JSON text as one that nobody is bound to.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn orphan<'env>(&self, env: &'env Env, native: String) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match native_session(&native) {
            Ok(given) => self.store.orphan(given, move |answer| settle(deferred, answer_text(&answer))),
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// What may be shown of every binding, and the damaged rows.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn overview<'env>(&self, env: &'env Env, only: String) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match filter(&only) {
            Ok(given) => self.store.overview(given, move |answer| settle(deferred, answer_text(&answer))),
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// Checks the file and frees what the dead own.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn repair<'env>(
        &self,
        env: &'env Env,
        dry_run: bool,
        release: Option<String>,
    ) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        match release.as_deref().map(product_session).transpose() {
            Ok(given) => self.store.repair(Repair { dry_run, release: given }, move |answer| {
                settle(deferred, answer_text(&answer));
            }),
            Err(fault) => settle(deferred, fault_text(&fault)),
        }
        Ok(promise)
    }

    /// Releases what it owns, with short waits only, and ends: for the end of the process.
    #[napi(catch_unwind)]
    pub fn end(&self) {
        self.store.end();
    }

    /// Takes no more requests; settled when what waited is done and what it owned is released.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        let at_end = self.at_end.clone();
        self.store.close(move || {
            at_end.take();
            settle(deferred, "{\"ok\":null}".to_owned());
        });
        Ok(promise)
    }
}
