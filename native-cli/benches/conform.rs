//! How long the program takes to compare the engine with every golden, by case.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::process::{Command, Stdio};

fn run(folder: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_folioscope"));
    command.arg("conform").arg(folder).stderr(Stdio::null());
    let output = command.output().expect("the program is built");
    String::from_utf8(output.stdout).expect("text")
}

/// Cases that a report counts: `493 cases: ...`.
fn cases(report: &str) -> u64 {
    let total = report.lines().find(|line| line.contains(" cases: "));
    let number = total.and_then(|line| line.split(' ').next()).and_then(|n| n.parse().ok());
    number.expect("the report ends with a total")
}

fn conform(c: &mut Criterion) {
    let mut group = c.benchmark_group("conform");
    group.sample_size(10);
    for folder in ["goldens", "cases"] {
        let path = format!("{}/../assets/{folder}", env!("CARGO_MANIFEST_DIR"));
        group.throughput(Throughput::Elements(cases(&run(&path))));
        group.bench_function(folder, |b| b.iter(|| run(&path)));
    }
    group.finish();
}

criterion_group!(benches, conform);
criterion_main!(benches);
