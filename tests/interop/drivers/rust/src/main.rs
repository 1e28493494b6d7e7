//! The driver's end of the line protocol, for rskafka.
//!
//! One line of JSON in, one line out. The verbs are in `verbs.rs`; groups are not among them, for
//! the client has none.

mod rows;
mod verbs;

use std::io::{BufRead, Write};

use serde_json::{Value, json};

use crate::verbs::Verbs;

/// An error, with the protocol's word for it.
pub(crate) struct Refusal {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

impl Refusal {
    /// The operations that the client does not support.
    pub(crate) fn unsupported(what: &str) -> Self {
        Self { kind: "unsupported", text: format!("the client has no {what}") }
    }

    /// A line that does not follow the protocol.
    pub(crate) fn malformed(error: &dyn std::fmt::Display) -> Self {
        Self { kind: "other", text: error.to_string() }
    }
}

#[tokio::main]
async fn main() {
    let address = std::env::args().nth(1).expect("the address of the broker");
    let mut verbs = Verbs::new(address);
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input can be read");
        let answer = match answer(&mut verbs, &line).await {
            Ok(answer) => json!({ "ok": answer }),
            Err(refusal) => json!({ "error": refusal.kind, "text": refusal.text }),
        };
        writeln!(out, "{answer}").expect("standard output can be written");
    }
}

async fn answer(verbs: &mut Verbs, line: &str) -> Result<Value, Refusal> {
    let request: Value = serde_json::from_str(line).map_err(|e| Refusal::malformed(&e))?;
    let verb = request["verb"].as_str().unwrap_or_default().to_owned();
    verbs.execute(&verb, request).await
}
