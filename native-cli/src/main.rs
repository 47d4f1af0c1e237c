//! The terminal.
mod conform;
mod error;
use clap::Parser;
#[derive(Parser)]
enum Cli {
    Conform(conform::ConformArgs),
}
fn main() -> std::process::ExitCode {
    let Cli::Conform(args) = Cli::parse();
    match conform::conform(&args) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(f) => {
            eprintln!("folioscope: {f}");
            f.code()
        }
    }
}
