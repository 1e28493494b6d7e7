//! `docs/configuration.md` is generated from the declarations of all settings.

use std::fmt::Write;
use std::path::Path;

use crate::broker::BrokerConfig;
use crate::broker::settings::without_effect::WITHOUT_EFFECT;
use crate::broker::unserved::{Family, IGNORED, REFUSED, SETTLED};
use crate::config::{Definition, Kind, Settings, UpdateMode};

const PAGE: &str = "docs/configuration.md";

const HEAD: &str = "\
# Configuration

This page lists every setting of brokers and topics. Names and units are Kafka's if Kafka has the
setting. Sizes may have a unit, as `64 MiB`. An unknown name is refused with the nearest known one.

The first value found applies: for a topic's setting, the topic's own; then the value set for the
running broker, then for all running brokers; then the command line (`--set KEY=VALUE`), the file of
`--config FILE` (TOML, or Kafka's `server.properties`), and the default. If one source sets the same
setting under several names, Kafka's precedence applies: `.ms` beats `.minutes`, which beats
`.hours`.
";

const READ_AT_START: &str = "
## Broker settings

These settings are read at startup. Some can also be changed while the broker runs:
";

const BROKER: &str = "
| name | type | default | unit | meaning |
|---|---|---|---|---|
";

const TOPIC: &str = "
## Topic settings

These settings can be given when a topic is created, or changed at any time. Set for a broker, under
this name or one of the others, a value is the default of all topics, and can be changed while the
broker runs.

| name | on a broker also | type | default | unit | meaning |
|---|---|---|---|---|---|
";

const UNSERVED: &str = "
## Kafka settings without effect

A `server.properties` may contain settings that have no meaning here. `streamlog config check FILE`
says for each line whether it is honoured, ignored or refused, and why. Settings that only tune
performance are ignored:

| names | why |
|---|---|
";

const TAKEN: &str = "
Apache Kafka can change some settings while a broker runs that have no effect here, or that are read
at startup only. Such a change is accepted and stored, so that tools continue, and `DescribeConfigs`
describes it as without effect, with the reason:
";

const UNSAFE: &str = "
A broker does not start with these settings, because it would be less safe, or store other data,
than its file says:

| names | why |
|---|---|
";

#[test]
fn the_page_of_settings_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = page();
    if std::env::var_os("STREAMLOG_WRITE_PAGES").is_some() {
        write(&path, &page);
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "{PAGE} is old: run `make settings-page`");
}

#[expect(clippy::disallowed_methods, reason = "a page of the repository is no data")]
fn write(path: &Path, page: &str) {
    std::fs::write(path, page).unwrap();
}

fn page() -> String {
    let config = BrokerConfig::default();
    let mut rows = rows(&config);
    rows.sort_by_key(|row| row.definition.name);
    let live = rows.iter().map(|row| row.definition);
    let live = live.filter(|setting| setting.update != UpdateMode::ReadOnly);
    let live: Vec<_> = live.map(|setting| format!("`{}`", setting.name)).collect();
    let [first @ .., last] = &live[..] else { panic!("no setting of a broker can be changed") };
    let live = format!("{} and {last}", first.join(", "));
    let mut page = format!("{HEAD}{READ_AT_START}{live}.\n{BROKER}");
    for Row { definition, default } in rows {
        let Definition { name, about, .. } = definition;
        let (kind, unit) = (kind(definition.kind), unit(name));
        writeln!(page, "| `{name}` | {kind} | {default} | {unit} | {about} |").unwrap();
    }
    page.push_str(TOPIC);
    for Row { definition, default } in self::rows(&config.engine.log) {
        let Definition { name, about, synonyms, .. } = definition;
        let (kind, unit) = (kind(definition.kind), unit(name));
        let others: Vec<_> = synonyms.iter().map(|name| format!("`{name}`")).collect();
        let others = others.join(", ");
        writeln!(page, "| `{name}` | {others} | {kind} | {default} | {unit} | {about} |").unwrap();
    }
    page.push_str(UNSERVED);
    page.extend(IGNORED.iter().map(family));
    for row in SETTLED {
        writeln!(page, "| `{}` | {} |", row.name, row.about).unwrap();
    }
    let taken: Vec<_> = WITHOUT_EFFECT.iter().map(|(name, _)| format!("`{name}`")).collect();
    writeln!(page, "{TAKEN}{}.", taken.join(", ")).unwrap();
    page.push_str(UNSAFE);
    page.extend(REFUSED.iter().map(family));
    page
}

fn family(family: &Family) -> String {
    let names: Vec<_> = family.names.iter().map(|name| format!("`{name}`")).collect();
    format!("| {} | {} |\n", names.join(", "), family.about)
}

struct Row {
    definition: &'static Definition,
    default: String,
}

fn rows<C: Settings>(config: &C) -> Vec<Row> {
    let row = |(definition, value): (_, String)| {
        let default = match value.as_str() {
            "" => "none".to_owned(),
            // Kafka's largest number of milliseconds or records.
            "9223372036854775807" => "no limit".to_owned(),
            text => format!("`{text}`"),
        };
        Row { definition, default }
    };
    C::definitions().into_iter().zip(config.values()).map(row).collect()
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Boolean => "boolean",
        Kind::String => "text",
        Kind::Int => "32-bit number",
        Kind::Long => "64-bit number",
        Kind::Double => "fraction",
        Kind::List => "list",
    }
}

/// The unit of a setting, derived from the end of its name.
fn unit(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("ms") => "ms",
        Some("minutes") => "min",
        Some("hours") => "h",
        Some("bytes") => "bytes",
        _ => "",
    }
}
