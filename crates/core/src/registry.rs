//! The tools of a worker, in declaration order, with their types erased once.

use crate::{Caller, Context, GroupSet, Lane, Outcome, Tool, ToolError, ToolInfo, arguments};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

type Parsed = Box<dyn Any + Send + Sync>;

/// A call that has been parsed and not yet allowed.
pub struct Prepared {
    /// The groups it needs, all of them.
    pub groups: GroupSet,
    /// What it must not share with another call.
    pub lane: Lane,
    /// The time its caller asked for.
    pub timeout: Option<Duration>,
    /// The arguments as the audit log writes them: private text as its length.
    pub shown: Value,
    /// Digest of the arguments, private ones included; equal digests are equal calls.
    pub digest: [u8; 32],
    parsed: Parsed,
}

impl Prepared {
    /// A call of a tool that is not ours: its arguments are recorded by name only.
    pub(crate) fn foreign(arguments: Value) -> Self {
        let names: Vec<Value> = arguments.as_object().into_iter().flatten().map(|(name, _)| name.clone().into()).collect();
        let digest = digest(&arguments);
        Self {
            groups: crate::Group::Extra.into(),
            lane: Lane::None,
            timeout: None,
            shown: serde_json::json!({ "names": names }),
            digest,
            parsed: Box::new(arguments),
        }
    }

    /// The arguments of a foreign call.
    pub(crate) fn into_foreign(self) -> Value {
        self.parsed.downcast::<Value>().map_or(Value::Null, |v| *v)
    }
}

/// Digest over the arguments with their names in order, so that the order in which a client wrote them does not count.
fn digest(arguments: &Value) -> [u8; 32] {
    let sorted: std::collections::BTreeMap<_, _> = arguments.as_object().into_iter().flatten().collect();
    Sha256::digest(serde_json::to_vec(&sorted).unwrap_or_default()).into()
}

type Prepare = dyn Fn(&Caller, Map<String, Value>) -> Result<Prepared, ToolError> + Send + Sync;
type Run = dyn Fn(Context, Parsed) -> BoxFuture<'static, Outcome> + Send + Sync;

/// A tool bound to what it works on.
pub struct Handler {
    /// What is known of it.
    pub info: Arc<ToolInfo>,
    prepare: Box<Prepare>,
    run: Box<Run>,
}

impl Handler {
    /// Binds the tool `T` to its engines.
    #[must_use]
    pub fn new<T: Tool>(host: &Arc<T::Host>) -> Self {
        let info = Arc::new(describe::<T>());
        let for_prepare = Arc::clone(host);
        let for_run = Arc::clone(host);
        let prepare = move |caller: &Caller, given: Map<String, Value>| {
            let given = Value::Object(given);
            let digest = digest(&given);
            let args: T::Args =
                serde_json::from_value(given).map_err(|e| ToolError::invalid(format!("the arguments of {} do not fit: {e}", T::NAME)))?;
            let shown = serde_json::to_value(&args).unwrap_or(Value::Null);
            Ok(Prepared {
                groups: T::groups(&args),
                lane: T::lane(&for_prepare, caller, &args),
                timeout: T::timeout(&args),
                shown,
                digest,
                parsed: Box::new(args),
            })
        };
        let run = move |cx: Context, parsed: Parsed| {
            let host = Arc::clone(&for_run);
            async move {
                let args = parsed.downcast::<T::Args>().map_err(|_| ToolError::failed("arguments of another tool"))?;
                T::run(&host, &cx, *args).await?.erase()
            }
            .boxed()
        };
        Self { info, prepare: Box::new(prepare), run: Box::new(run) }
    }

    /// Parses the arguments.
    ///
    /// # Errors
    /// `invalid_arguments` naming what is wrong.
    pub fn prepare(&self, caller: &Caller, given: Value) -> Result<Prepared, ToolError> {
        let fitted = arguments::fit(&self.info.name, &self.info.input_schema, given)?;
        (self.prepare)(caller, fitted)
    }

    /// Runs a prepared call.
    pub(crate) fn run(&self, cx: Context, prepared: Prepared) -> BoxFuture<'static, Outcome> {
        (self.run)(cx, prepared.parsed)
    }
}

/// The JSON Schema of `T`, without references, since many clients resolve none.
/// Arguments are described as they are read, results as they are written: a key that is left out when empty is not required.
fn schema_of<T: schemars::JsonSchema>(contract: Contract) -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
        s.contract = contract;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut map = match Value::from(schema) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    map.remove("title");
    map.entry("type").or_insert_with(|| "object".into());
    if map["type"] == "object" {
        map.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    map
}

fn describe<T: Tool>() -> ToolInfo {
    let mut input_schema = schema_of::<T::Args>(Contract::Deserialize);
    input_schema.insert("additionalProperties".into(), false.into());
    input_schema.remove("description");
    let mut output_schema = schema_of::<T::Output>(Contract::Serialize);
    output_schema.remove("description");
    ToolInfo {
        name: T::NAME.into(),
        title: T::TITLE.into(),
        description: T::SUMMARY.into(),
        groups: T::GROUPS.iter().copied().collect(),
        listing: T::LISTING,
        effect: T::EFFECT,
        idempotent: T::IDEMPOTENT,
        destructive: T::DESTRUCTIVE,
        open_world: T::NAME.starts_with("browser_") && !T::NAME.starts_with("browser_gui_"),
        looks: T::LOOKS,
        input_schema: Arc::new(input_schema),
        output_schema: Some(Arc::new(output_schema)),
    }
}

/// The tools, in the order in which they are listed.
#[derive(Default)]
pub struct Registry {
    handlers: Vec<Handler>,
    by_name: HashMap<String, usize>,
}

impl Registry {
    /// Adds a tool at the end of the list. A name that is already there keeps its first tool.
    pub fn add(&mut self, handler: Handler) {
        let index = self.handlers.len();
        if self.by_name.contains_key(&handler.info.name) {
            return;
        }
        self.by_name.insert(handler.info.name.clone(), index);
        self.handlers.push(handler);
    }

    /// The tool of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Handler> {
        self.by_name.get(name).map(|i| &self.handlers[*i])
    }

    /// Every tool.
    pub fn iter(&self) -> impl Iterator<Item = &Handler> {
        self.handlers.iter()
    }
}
