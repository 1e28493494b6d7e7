//! Named clusters: the contexts file, changed by commands.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Output;

use super::on_a_cluster::CommandLine;

/// A home directory without a contexts file, and an empty environment.
struct Home {
    command_line: CommandLine,
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { command_line: CommandLine::new(), dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(".config/streamlog/config.toml")
    }

    fn file(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = self.command_line.command(arguments);
        for variable in ["STREAMLOG_BOOTSTRAP", "STREAMLOG_CONFIG", "XDG_CONFIG_HOME"] {
            command.env_remove(variable);
        }
        command.env("HOME", self.dir.path()).envs(variables.iter().copied());
        command.output().unwrap()
    }

    /// The output of a successful command.
    fn text(&self, arguments: &[&str]) -> String {
        let output = self.run_with(arguments, &[]);
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), words.as_str()), (Some(0), ""), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn failure(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run_with(arguments, &[]);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn a_context_is_added_selected_listed_and_removed() {
    let home = Home::new();
    home.command_line.text(&["topic", "create", "orders"]);
    assert_eq!(home.text(&["context", "list"]), "");
    home.text(&["context", "add", "near", &home.command_line.address(), "-X", "linger.ms=20ms"]);
    home.text(&["context", "add", "far", "127.0.0.1:1", "--use"]);
    let mode = fs::metadata(home.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(home.failure(&["topic", "list"]).0, 3, "its cluster is unreachable");

    home.text(&["context", "use", "near"]);
    assert!(home.text(&["topic", "list"]).contains("orders"));
    let rows: Vec<serde_json::Value> = home
        .text(&["context", "list", "-o", "json"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((&rows[0]["context"], &rows[0]["is_current"]), (&"near".into(), &true.into()));
    assert_eq!(rows[0]["servers"], home.command_line.address());
    assert_eq!(rows[0]["settings"]["linger.ms"], "20");
    assert_eq!((&rows[1]["context"], &rows[1]["is_current"]), (&"far".into(), &false.into()));

    home.text(&["context", "remove", "near"]);
    assert_eq!(home.file(), "[context.far]\nbootstrap.servers = \"127.0.0.1:1\"\n");
    home.text(&["context", "use", "far"]);
    home.text(&["context", "use", "--none"]);
    assert!(!home.file().contains("current"), "{}", home.file());
}

#[test]
fn a_hand_written_file_keeps_its_comments_and_its_location() {
    let home = Home::new();
    let file =
        "# mine\ncurrent = \"a\" # for now\n\n# near\n[context.a]\nbootstrap.servers = 'a:1'\n";
    let dotfiles = home.dir.path().join("dotfiles.toml");
    fs::write(&dotfiles, file).unwrap();
    fs::set_permissions(&dotfiles, fs::Permissions::from_mode(0o644)).unwrap();
    fs::create_dir_all(home.path().parent().unwrap()).unwrap();
    symlink(&dotfiles, home.path()).unwrap();

    home.text(&["context", "add", "b", "b"]);
    assert_eq!(home.file(), format!("{file}\n[context.b]\nbootstrap.servers = \"b\"\n"));
    home.text(&["context", "use", "b"]);
    assert!(home.file().starts_with("# mine\ncurrent = \"b\" # for now\n\n# near\n"));
    let (code, words) = home.failure(&["context", "add", "a", "c:1"]);
    assert!(
        code == 2 && words.contains("replaces context 'a'") && words.contains("--yes"),
        "{words}"
    );
    home.text(&["context", "add", "a", "c:1", "--yes"]);
    assert!(home.file().contains("bootstrap.servers = \"c:1\"") && !home.file().contains("a:1"));
    assert!(fs::symlink_metadata(home.path()).unwrap().is_symlink());
    assert_eq!(fs::metadata(&dotfiles).unwrap().permissions().mode() & 0o777, 0o644);
    let beside = fs::read_dir(home.path().parent().unwrap()).unwrap().count();
    assert_eq!((beside, fs::read_dir(home.dir.path()).unwrap().count()), (1, 2));
}

#[test]
fn an_unusable_context_is_not_added() {
    let home = Home::new();
    let refused: [(&[&str], &str); 5] = [
        (&["a b", "h:1"], "letters, digits, - and _"),
        (&["a", "h:port"], "h:port"),
        (&["a", "h:1", "-X", "lingr.ms=1"], "did you mean 'linger.ms'"),
        (&["a", "h:1", "-X", "retention.ms=1"], "-c retention.ms=VALUE"),
        (&["a"], "HOST:PORT"),
    ];
    for (arguments, expected) in refused {
        let (code, words) = home.failure(&[&["context", "add"], arguments].concat());
        assert!(code == 2 && words.contains(expected), "{arguments:?}: {words}");
    }
    assert!(!home.path().exists());
    home.text(&["context", "add", "staging", "h:1"]);
    for verb in ["use", "remove"] {
        let (code, words) = home.failure(&["context", verb, "stagng"]);
        assert!(code == 5 && words.contains("did you mean 'staging'?"), "{words}");
    }
    let (code, words) = home.failure(&["topic", "list", "--context", "stagng"]);
    assert!(code == 2 && words.contains("did you mean 'staging'?"), "{words}");
    fs::write(home.path(), "[context.a").unwrap();
    let (code, words) = home.failure(&["context", "use", "a"]);
    assert!(code == 2 && words.contains("config.toml: no TOML: line 1"), "{words}");
    assert_eq!(home.file(), "[context.a");
}

#[test]
fn a_variable_that_overrides_the_current_context_is_reported() {
    let home = Home::new();
    home.text(&["context", "add", "a", "h:1"]);
    let chosen = home.run_with(&["context", "use", "a"], &[("STREAMLOG_BOOTSTRAP", "g:1")]);
    let words = String::from_utf8(chosen.stderr).unwrap();
    assert!(chosen.status.success() && words.contains("STREAMLOG_BOOTSTRAP is set"), "{words}");
    let listed = home.run_with(&["context", "list"], &[("STREAMLOG_CONTEXT", "b")]);
    assert!(String::from_utf8(listed.stdout).unwrap().contains("false"));
}
