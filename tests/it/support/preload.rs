//! Disk faults for a broker process: `tests/preload/faults.c`, compiled and controlled.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// The rules for the processes that were started with them. `faults.c` describes the syntax of a
/// rule.
pub(crate) struct Faults {
    dir: TempDir,
}

impl Faults {
    /// No rules yet.
    pub(crate) fn new() -> Self {
        let faults = Self { dir: TempDir::new().unwrap() };
        faults.set(&[]);
        faults
    }

    /// Applies these rules to a command that is not started yet.
    pub(crate) fn rule(&self, command: &mut Command) {
        command.env("LD_PRELOAD", library()).env("STREAMLOG_FAULTS", self.control());
    }

    /// Makes these the only rules, counted from the start, for the next call on.
    pub(crate) fn set(&self, rules: &[&str]) {
        let new = self.dir.path().join("new");
        fs::write(&new, rules.join("\n")).unwrap();
        fs::rename(new, self.control()).unwrap();
    }

    /// The faults injected so far, in order, each as "OPERATION PATH EFFECT".
    pub(crate) fn struck(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join("control.struck")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn control(&self) -> PathBuf {
        self.dir.path().join("control")
    }
}

/// The compiled library.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let name = format!("faults-{}.so", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O2", "-std=gnu11", "-Wall", "-Werror", "-o"]);
        compiler.args([&path, &root.join("tests/preload/faults.c")]).args(["-ldl", "-lpthread"]);
        // The tests need a C compiler.
        let output = compiler.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        path
    })
}
