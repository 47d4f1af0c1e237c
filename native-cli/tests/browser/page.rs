//! The page in a headless Chromium: open it, wait for it, ask it, picture it.
//!
//! Nothing here sleeps for a guessed time: what is waited for is polled.

use crate::background::Background;
use crate::chrome::Chrome;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use std::os::unix::fs::MetadataExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use url::Url;

/// How long something may take to appear.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two looks.
const POLL: Duration = Duration::from_millis(20);

pub(crate) struct Page {
    /// For clicks and keys.
    pub(crate) client: Client,
    address: String,
}

/// Starts the program and a browser, gives the page to the test and ends both whatever happens.
/// Without a browser it says so and does nothing.
pub(crate) fn visit(test: impl AsyncFnOnce(&Page)) {
    let Some(driver) = chromedriver() else {
        println!("SKIPPED: chromedriver is missing: `cargo xtask test` says how to install it");
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_program, address) = serve();
    let (_driver, port) = Background::start(Command::new(driver).arg("--port=0"), |line| {
        let port = line.rsplit_once("successfully on port ")?.1;
        Some(port.trim_end_matches('.').to_owned())
    });
    let client = runtime.block_on(connect(&format!("http://127.0.0.1:{port}")));
    let page = Page { client: client.clone(), address };
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(test(&page))));
    runtime.block_on(client.close()).expect("the browser closes");
    outcome.unwrap_or_else(|panic| resume_unwind(panic));
}

fn serve() -> (Background, String) {
    Background::start(crate::folioscope().args(["serve", "--port", "0"]), |line| {
        line.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned)
    })
}

fn chromedriver() -> Option<PathBuf> {
    let given = std::env::var_os("CHROMEDRIVER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("chromedriver"));
    given.into_iter().chain(on_path).find(|path| path.is_file())
}

async fn connect(driver: &str) -> Client {
    let mut arguments = vec!["--headless=new", "--disable-dev-shm-usage"];
    if std::fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0) {
        arguments.push("--no-sandbox"); // Chromium refuses to start as root otherwise
    }
    let mut wishes = Map::new();
    wishes.insert("goog:chromeOptions".into(), json!({ "args": arguments }));
    wishes.insert("goog:loggingPrefs".into(), json!({ "browser": "ALL" }));
    let mut builder = ClientBuilder::new(HttpConnector::new());
    builder.capabilities(wishes).connect(driver).await.expect("a browser starts")
}

impl Page {
    /// Opens the page and waits until it says `text`; answers how long that took.
    pub(crate) async fn open(&self, text: &str) -> Duration {
        let start = Instant::now();
        self.open_with("").await;
        self.wait_for(text).await;
        start.elapsed()
    }
    /// Opens another page beside it, and waits until it says `text`.
    pub(crate) async fn open_at(&self, path: &str, text: &str) {
        let address = Url::parse(&self.address).and_then(|address| address.join(path));
        let address = address.expect("an address");
        self.client.goto(address.as_str()).await.expect("the page opens");
        self.wait_for(text).await;
    }
    /// Opens the page with something behind its address.
    pub(crate) async fn open_with(&self, fragment: &str) {
        self.client.goto(&format!("{}{fragment}", self.address)).await.expect("the page opens");
    }
    /// Waits until the page says `text`.
    pub(crate) async fn wait_for(&self, text: &str) {
        let start = Instant::now();
        loop {
            let now = self.ask("document.body.innerText").await;
            let now = now.as_str().unwrap_or_default();
            if now.contains(text) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "\"{text}\" does not appear in:\n{now}");
            tokio::time::sleep(POLL).await;
        }
    }
    /// Waits until an expression is true.
    pub(crate) async fn until(&self, condition: &str) {
        let start = Instant::now();
        while self.ask(&format!("Boolean({condition})")).await != true {
            assert!(start.elapsed() < PATIENCE, "never true: {condition}");
            tokio::time::sleep(POLL).await;
        }
    }
    /// Clicks what a selector names.
    pub(crate) async fn click(&self, selector: &str) {
        let element = self.client.find(Locator::Css(selector)).await;
        let element = element.unwrap_or_else(|error| panic!("no {selector}: {error}"));
        // Below the bar at the bottom nothing can be clicked: bring it to the middle first.
        let words = format!(
            "document.querySelector({}).scrollIntoView({{ block: 'center' }})",
            json!(selector)
        );
        self.ask(&words).await;
        element.click().await.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }
    /// Types keys while nothing has the focus.
    pub(crate) async fn keys(&self, keys: &str) {
        self.ask("document.activeElement?.blur()").await;
        self.keys_to("body", keys).await;
    }
    /// Types keys into what a selector names.
    pub(crate) async fn keys_to(&self, selector: &str, keys: &str) {
        let element = self.client.find(Locator::Css(selector)).await.expect("it is there");
        element.send_keys(keys).await.expect("it takes keys");
    }
    /// Picks a file as the dialog of the browser would.
    pub(crate) async fn pick(&self, path: &Path) {
        let path = path.canonicalize().expect("the file is there");
        self.keys_to("#file", path.to_str().expect("a plain path")).await;
    }
    /// How many elements a selector names.
    pub(crate) async fn count(&self, selector: &str) -> u64 {
        let count = format!("document.querySelectorAll({}).length", json!(selector));
        self.ask(&count).await.as_u64().expect("a number")
    }
    /// What an element holds, as markup.
    pub(crate) async fn html(&self, id: &str) -> String {
        let html = self.ask(&format!("document.getElementById('{id}').innerHTML")).await;
        html.as_str().unwrap_or_default().to_owned()
    }
    /// The value of an expression.
    pub(crate) async fn ask(&self, expression: &str) -> Value {
        let script = format!("return {expression}");
        self.client.execute(&script, Vec::new()).await.expect("the expression has a value")
    }
    /// What a promise comes to.
    pub(crate) async fn ask_later(&self, promise: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1]; ({promise}).then(done, (error) => done(`${{error}}`))"
        );
        self.client.execute_async(&script, Vec::new()).await.expect("the promise ends")
    }
    /// The bytes of a file that the browser saves, once it is there.
    pub(crate) async fn file(&self, path: &Path) -> Vec<u8> {
        let start = Instant::now();
        loop {
            // The browser gives it its name when it is complete.
            if let Ok(bytes) = std::fs::read(path) {
                return bytes;
            }
            assert!(start.elapsed() < PATIENCE, "{} is not saved", path.display());
            tokio::time::sleep(POLL).await;
        }
    }
    /// Warnings and errors on the console since the last time.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let log = self.client.issue_cmd(Chrome::console()).await.expect("the log can be read");
        let entries = log.as_array().expect("the log is a list").iter();
        let bad = entries.filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        bad.map(|entry| entry["message"].to_string()).collect()
    }
    /// One command of the developer tools.
    pub(crate) async fn devtools(&self, command: &str, params: Value) -> Value {
        let command = Chrome::devtools(command, &params);
        self.client.issue_cmd(command).await.expect("the browser knows the command")
    }
    /// Shows the page at a width, in a colour scheme (`light` or `dark`).
    pub(crate) async fn show(&self, width: u32, scheme: &str) {
        self.emulate(width, &[("prefers-color-scheme", scheme)]).await;
    }
    /// The same for a viewer who wants less motion: everything is where it belongs at once.
    pub(crate) async fn show_quietly(&self, width: u32, scheme: &str) {
        let still = ("prefers-reduced-motion", "reduce");
        self.emulate(width, &[("prefers-color-scheme", scheme), still]).await;
    }
    /// Shows the page at a width, to a viewer with these wishes.
    pub(crate) async fn emulate(&self, width: u32, wishes: &[(&str, &str)]) {
        let size =
            json!({ "width": width, "height": 780, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
        let feature = |(name, value): &(&str, &str)| json!({ "name": name, "value": value });
        let features: Vec<Value> = wishes.iter().map(feature).collect();
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }
    /// Writes a picture of what is shown, for people to look at.
    pub(crate) async fn picture(&self, name: &str) {
        let shot = self.devtools("Page.captureScreenshot", json!({ "format": "png" })).await;
        let png = BASE64_STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png"));
        std::fs::write(&path, png).expect("the picture can be written");
        println!("picture: {}", path.display());
    }
}
