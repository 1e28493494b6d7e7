//! The build script: docstrings for the native classes, out of their stubs.
//!
//! Each docstring becomes a file named `Class` or `Class.method`, for the macro `stub!` to include.
//! The stubs are laid out by the formatter: a class stands at the margin, its methods at four
//! spaces, and a docstring behind the line that ends a signature. Of overloads the last counts.

#![expect(clippy::disallowed_methods, reason = "io::Disk belongs to what is built here")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

const STUBS: &str = "python/streamlog/_core";
const QUOTES: &str = "\"\"\"";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_PYTHON").is_none() {
        return Ok(());
    }
    let stubs = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join(STUBS);
    println!("cargo:rerun-if-changed={}", stubs.display());
    let mut docstrings = BTreeMap::new();
    for entry in fs::read_dir(&stubs)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "pyi") {
            read(&fs::read_to_string(&path)?, &mut docstrings);
        }
    }
    let folder = PathBuf::from(env::var("OUT_DIR")?).join("docstrings");
    fs::create_dir_all(&folder)?;
    for (name, text) in &docstrings {
        // What a class takes is told where it is made, which Python shows nowhere else.
        let made = docstrings.get(&format!("{name}.__new__")).filter(|_| !name.contains('.'));
        let made = made.map(|made| format!("\n\n{made}")).unwrap_or_default();
        fs::write(folder.join(name), format!("{text}{made}"))?;
    }
    Ok(())
}

/// Adds the docstrings of a stub by their names.
fn read(stub: &str, docstrings: &mut BTreeMap<String, String>) {
    let mut class = String::new();
    let mut name = String::new();
    let mut lines = stub.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let code = line.trim_start();
        if let Some(rest) = code.strip_prefix("class ") {
            class = word(rest);
            name.clone_from(&class);
        } else if let Some(rest) = code.strip_prefix("def ") {
            let own = word(rest);
            name = if indent == 0 { own } else { format!("{class}.{own}") };
        } else if let Some(first) = code.strip_prefix(QUOTES) {
            let text = docstring(first, indent, &mut lines);
            if !name.is_empty() {
                docstrings.insert(std::mem::take(&mut name), text);
            }
        }
    }
}

/// The text up to the closing quotes, without the indentation.
fn docstring<'a>(first: &str, indent: usize, lines: &mut impl Iterator<Item = &'a str>) -> String {
    if let Some(text) = first.strip_suffix(QUOTES) {
        return text.to_owned();
    }
    let mut text = first.to_owned();
    for line in lines {
        let line = line.get(indent..).unwrap_or_default();
        let (line, is_last) = match line.strip_suffix(QUOTES) {
            Some(line) => (line, true),
            None => (line, false),
        };
        text.push('\n');
        text.push_str(line);
        if is_last {
            break;
        }
    }
    text.trim_end().to_owned()
}

fn word(code: &str) -> String {
    code.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}
