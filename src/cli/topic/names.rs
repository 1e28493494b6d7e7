//! Topics on the command line: names, or regular expressions.

use clap::Args;
use regex::Regex;

use crate::cli::CommandError;
use crate::cli::names::Names;
use crate::client::Admin;
use crate::config::ConfigError;
use crate::types::{InvalidTopicName, TopicName};

/// The topics of a command.
#[derive(Debug, Args)]
pub(crate) struct Topics {
    /// Names of the topics, or regular expressions with -r
    #[arg(required = true, value_name = "TOPIC", add = Names::Topics)]
    topics: Vec<String>,
    /// Treat TOPIC as a regular expression for the whole name; internal topics never match
    #[arg(short, long)]
    regex: bool,
}

impl Topics {
    /// Returns the names of the topics. Topics given by name may not exist; topics found by
    /// expression do.
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

/// Returns a valid name; the error mentions that a regular expression may have been meant.
fn checked(name: &str) -> Result<String, CommandError> {
    let refused = |error: InvalidTopicName| {
        let reason = format!("{error}; -r finds topics by regular expressions");
        ConfigError::single(&format!("topic '{name}'"), reason)
    };
    Ok(name.parse::<TopicName>().map_err(refused)?.to_string())
}

/// Regular expressions for whole names.
pub(super) struct Patterns(Vec<Regex>);

impl Patterns {
    /// Compiles the expressions.
    pub(super) fn new(texts: &[String]) -> Result<Self, ConfigError> {
        let compile = |text: &String| {
            Regex::new(&format!("^(?:{text})$")).map_err(|error| {
                // The last line of the regex crate's message has the reason; the lines before it
                // show the position.
                let lines = error.to_string();
                let reason = lines.lines().last().unwrap_or_default().trim();
                ConfigError::single(&format!("regular expression '{text}'"), reason.to_owned())
            })
        };
        texts.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// Returns true if the name matches any of them.
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
    fn an_invalid_expression_is_reported_in_one_line() {
        let error = Patterns::new(&["(".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("regular expression '('"), "{error}");
        assert_eq!(error.trim().lines().count(), 1, "{error}");
    }
}
