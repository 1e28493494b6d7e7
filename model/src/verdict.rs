//! The results of searches: compared with the expected ones, and formatted as rows and traces.

use crate::rule::{Rule, Rules};
use crate::scenarios::{Ablation, Part, Scenario, Silent};
use crate::search::{Outcome, Report};

/// The result of a search, compared with the expected one.
#[derive(Debug)]
pub struct Verdict {
    /// True if the result is the expected one.
    pub holds: bool,
    /// A row of a table: the search, the number of states, and the finding.
    pub row: String,
    /// The steps to a violation, if there was one.
    pub steps: Vec<String>,
}

impl Scenario {
    /// Searches with every rule in force. Expected are enough states, and no violation.
    pub fn verdict(&self) -> Verdict {
        let report = self.part.search(Rules::ALL, self.states_max);
        let complete = match report.outcome {
            Outcome::Exhausted => "all",
            Outcome::Bounded => "the bound",
            Outcome::Violated(..) => "a violation",
        };
        let found = violated(&report).unwrap_or("nothing");
        let (states, depth) = (report.states, report.depth);
        Verdict {
            holds: states >= self.states_min && found == "nothing",
            row: format!("| {} | {states} | {depth} | {complete} | {found} |", self.name),
            steps: steps(report),
        }
    }
}

impl Ablation {
    /// Searches with rules switched off. Expected is the violation that they prevent.
    pub fn verdict(&self) -> Verdict {
        let rules = self.off.iter().fold(Rules::ALL, |rules, rule| rules.without(*rule));
        let report = self.part.search(rules, u32::MAX);
        let found = violated(&report).unwrap_or("nothing");
        let row = row(&named(self.off), self.part, &report, found);
        Verdict { holds: found == self.breaks, row, steps: steps(report) }
    }
}

impl Silent {
    /// Searches with the rule switched off. Expected is no violation in any state.
    pub fn verdict(&self) -> Verdict {
        let report = self.part.search(Rules::ALL.without(self.rule), u32::MAX);
        let found = violated(&report);
        let row = row(&named(&[self.rule]), self.part, &report, found.unwrap_or(self.reason));
        Verdict { holds: found.is_none(), row, steps: steps(report) }
    }
}

fn row(rules: &str, part: Part, report: &Report, found: &str) -> String {
    let part = match part {
        Part::Replication(..) => "replication",
        Part::Leadership(_) => "leadership",
    };
    format!("| {rules} | {part} | {} | {} | {found} |", report.states, report.depth)
}

fn named(rules: &[Rule]) -> String {
    let names: Vec<String> = rules.iter().map(ToString::to_string).collect();
    names.join(" and ")
}

fn violated(report: &Report) -> Option<&'static str> {
    match &report.outcome {
        Outcome::Violated(invariant, _) => Some(invariant.code),
        Outcome::Exhausted | Outcome::Bounded => None,
    }
}

fn steps(report: Report) -> Vec<String> {
    match report.outcome {
        Outcome::Violated(_, steps) => steps,
        Outcome::Exhausted | Outcome::Bounded => Vec::new(),
    }
}
