//! Topics as people name them: one by one, or by regular expressions.

use clap::Args;
use regex::Regex;

use crate::cli::CommandError;
use crate::cli::names::Names;
use crate::client::Admin;
use crate::config::ConfigError;
use crate::types::{InvalidTopicName, TopicName};

/// The topics that a command is about.
#[derive(Debug, Args)]
pub(crate) struct Topics {
    /// Names of the topics, or with -r regular expressions
    #[arg(required = true, value_name = "TOPIC", add = Names::Topics)]
    topics: Vec<String>,
    /// TOPIC is a regular expression that a whole name matches; internal topics never do
    #[arg(short, long)]
    regex: bool,
}

impl Topics {
    /// Their names. Those that were named need not exist, those that were matched do.
    pub(crate) fn find(&self, admin: &Admin) -> Result<Vec<String>, CommandError> {
        if !self.regex {
            return self.topics.iter().map(|topic| checked(topic)).collect();
        }
        let patterns = Patterns::new(&self.topics)?;
        let topics = admin.topics()?.into_iter().filter(|topic| !topic.is_internal);
        let names = topics.map(|topic| topic.name.to_string());
        let found: Vec<String> = names.filter(|name| patterns.match_any(name)).collect();
        if found.is_empty() {
            let (kind, name) = ("topic that matches", self.topics.join("' or '"));
            return Err(CommandError::NotFound { kind, name, nearest: None });
        }
        Ok(found)
    }
}

/// The name, if a topic may have it; a regular expression may have been meant.
fn checked(name: &str) -> Result<String, CommandError> {
    let refused = |error: InvalidTopicName| {
        let reason = format!("{error}; -r finds topics by regular expressions");
        ConfigError::single(&format!("topic '{name}'"), reason)
    };
    Ok(name.parse::<TopicName>().map_err(refused)?.to_string())
}

/// Regular expressions of which one matches a whole name.
pub(super) struct Patterns(Vec<Regex>);

impl Patterns {
    /// The expressions as they were typed.
    pub(super) fn new(texts: &[String]) -> Result<Self, ConfigError> {
        let compile = |text: &String| {
            Regex::new(&format!("^(?:{text})$")).map_err(|error| {
                // The last line says what is wrong, those before it draw where.
                let lines = error.to_string();
                let reason = lines.lines().last().unwrap_or_default().trim();
                ConfigError::single(&format!("regular expression '{text}'"), reason.to_owned())
            })
        };
        texts.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the name matches one of them.
    pub(super) fn match_any(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.is_match(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_name_matches_one_of_the_expressions() {
        let patterns = Patterns::new(&["ord.*".to_owned(), "a|b".to_owned()]).unwrap();
        let matched = ["orders", "ord", "a", "b", "preorders", "ab"];
        assert_eq!(
            matched.map(|name| patterns.match_any(name)),
            [true, true, true, true, false, false]
        );
    }

    #[test]
    fn an_expression_that_is_none_is_said_in_a_line() {
        let error = Patterns::new(&["(".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("regular expression '('"), "{error}");
        assert_eq!(error.trim().lines().count(), 1, "{error}");
    }
}
