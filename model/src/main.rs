//! The command of the model: runs `scenarios`, `ablations` or `deep`, and prints tables and traces.

use std::process::ExitCode;

use streamlog_model::scenarios::{ABLATIONS, Ablation, DEEP, SCENARIOS, SILENT, Scenario, Silent};
use streamlog_model::verdict::Verdict;

const USAGE: &str = "usage: streamlog-model scenarios | ablations | deep";

fn main() -> ExitCode {
    let verb = std::env::args().nth(1).unwrap_or_default();
    let holds = match verb.as_str() {
        "scenarios" => explore(SCENARIOS),
        "deep" => explore(DEEP),
        "ablations" => ablate(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn explore(scenarios: &[Scenario]) -> bool {
    println!("| every rule in force | states | steps | reached | violation |");
    println!("| --- | --- | --- | --- | --- |");
    all(scenarios.iter().map(Scenario::verdict))
}

fn ablate() -> bool {
    println!("| switched off | part | states | steps | violation |");
    println!("| --- | --- | --- | --- | --- |");
    let found = all(ABLATIONS.iter().map(Ablation::verdict));
    println!("\n| switched off | part | states | steps | why nothing is found |");
    println!("| --- | --- | --- | --- | --- |");
    all(SILENT.iter().map(Silent::verdict)) && found
}

/// Prints each verdict as soon as it is known; returns whether all hold.
fn all(verdicts: impl Iterator<Item = Verdict>) -> bool {
    let mut holds = true;
    let mut traces = Vec::new();
    for verdict in verdicts {
        println!("{}{}", verdict.row, if verdict.holds { "" } else { " UNEXPECTED" });
        holds &= verdict.holds;
        if !verdict.steps.is_empty() {
            traces.push((verdict.row, verdict.steps));
        }
    }
    for (row, steps) in traces {
        println!("\n{row}\n");
        for (number, step) in steps.iter().enumerate() {
            println!("{}. {step}", number + 1);
        }
    }
    holds
}
