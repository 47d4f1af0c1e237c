//! A program that runs beside the test and ends with it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long a program may take until it says where it listens.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Background(Child);

impl Background {
    /// Starts a program and waits for the first line from which `find` takes something.
    pub(crate) fn start(
        command: &mut Command,
        find: impl Fn(&str) -> Option<String> + Send + 'static,
    ) -> (Self, String) {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let out = child.stdout.take().expect("standard output is piped");
        let background = Self(child);
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            // Reads to the end, so that the program never waits for a reader.
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if let Some(found) = find(&line) {
                    let _ = sender.send(found);
                }
            }
        });
        let found = receiver.recv_timeout(PATIENCE);
        let found = found.unwrap_or_else(|_| panic!("{command:?} does not say where it listens"));
        (background, found)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
