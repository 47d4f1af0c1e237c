//! The page on a static host, below a path of its own: it opens again without a network, and never
//! with files of two builds.

use crate::READY;
use crate::page::{Page, visit};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tiny_http::Server;

/// Where the page lies on the host.
const BELOW: &str = "/some/where/";

type Files = BTreeMap<String, Vec<u8>>;

/// A host that knows no more than files and types; it ends with the test.
struct Host {
    server: Arc<Server>,
    files: Arc<Mutex<Files>>,
    asked: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
    port: u16,
}

impl Host {
    fn start(files: Files) -> Self {
        let server = Arc::new(Server::http((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
        let port = server.server_addr().to_ip().expect("an address").port();
        let files = Arc::new(Mutex::new(files));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (from, has, log) = (server.clone(), files.clone(), asked.clone());
        let thread = std::thread::spawn(move || {
            for request in from.incoming_requests() {
                let path = request.url().split(['?', '#']).next().unwrap_or_default().to_owned();
                let name = match path.strip_prefix(BELOW) {
                    Some("") => Some("index.html"),
                    name => name,
                };
                let found = name.and_then(|name| {
                    let files = has.lock().expect("no test panics with it");
                    files.get(name).map(|bytes| (bytes.clone(), mime_guess::from_path(name)))
                });
                log.lock().expect("no test panics with it").push(path);
                let (code, bytes, kind) = match found {
                    Some((bytes, kind)) => {
                        ("200 OK", bytes, kind.first_or_octet_stream().to_string())
                    }
                    None => ("404 Not Found", Vec::new(), "text/plain".to_owned()),
                };
                let head = format!(
                    "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    bytes.len()
                );
                // By hand: tiny_http keeps connections, and lets the fifth one wait.
                let mut out = request.into_writer();
                let sent = out.write_all(head.as_bytes()).and_then(|()| out.write_all(&bytes));
                let _ = sent.and_then(|()| out.flush());
            }
        });
        Self { server, files, asked, thread: Some(thread), port }
    }
    /// Browsers take every name below `localhost` for this machine, and for a secure place.
    fn address(&self) -> String {
        format!("http://page.localhost:{}{BELOW}", self.port)
    }
    fn deploy(&self, files: Files) {
        *self.files.lock().expect("no test panics with it") = files;
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn collect(folder: &Path, under: &str, files: &mut Files) {
    for entry in std::fs::read_dir(folder).expect("the page is built: `cargo xtask web`") {
        let entry = entry.expect("an entry");
        let (path, name) = (entry.path(), format!("{under}{}", entry.file_name().display()));
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files);
        } else {
            files.insert(name, std::fs::read(&path).expect("it can be read"));
        }
    }
}

fn page() -> Files {
    let mut files = Files::new();
    let dist = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../web/dist");
    collect(&dist, "", &mut files);
    files
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |all, byte| all + &format!("{byte:02x}"))
}

/// Another build: its title and its style sheet differ.
fn newer() -> Files {
    let mut files = page();
    let mut worker = String::from_utf8(files["sw.js"].clone()).expect("text");
    for (name, from, to) in
        [("index.html", "<title>Folioscope", "<title>Newer"), ("page.css", "/* ", "/* newer ")]
    {
        let old = files[name].clone();
        let new = String::from_utf8(old.clone()).expect("text").replacen(from, to, 1).into_bytes();
        assert_ne!(old, new);
        worker = worker.replace(&sum(&old), &sum(&new));
        files.insert(name.to_owned(), new);
    }
    let build = worker.find("const BUILD = \"").expect("it has one") + 15;
    worker.replace_range(build..build + 4, "beef");
    files.insert("sw.js".to_owned(), worker.into_bytes());
    files
}

const READY_TO_SERVE: &str =
    "navigator.serviceWorker.ready.then((registration) => registration.active.state)";

async fn open(page: &Page, address: &str) {
    page.client.goto(address).await.expect("it opens");
    page.wait_for(READY).await;
}

async fn installed(page: &Page) {
    page.ask_later(READY_TO_SERVE).await;
    let waiting =
        "navigator.serviceWorker.getRegistration().then((found) => Boolean(found.active))";
    assert_eq!(page.ask_later(waiting).await, true);
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_page_opens_without_a_network_after_the_first_visit() {
    visit(async |page: &Page| {
        let host = Host::start(self::page());
        let address = host.address();
        open(page, &address).await;
        installed(page).await;
        let asked = host.asked.lock().expect("it is free").clone();
        assert!(asked.iter().all(|path| path.starts_with(BELOW)), "{asked:?}");
        drop(host);
        open(page, &address).await;
        // Lessons, the engine and its worker are there, too.
        page.client.goto(&format!("{address}#1/L8/2")).await.expect("it opens");
        page.until("document.querySelector('.lesson-name')?.textContent.includes('Lesson 8')")
            .await;
        page.client.goto(&format!("{address}#1/E/append-race")).await.expect("it opens");
        page.wait_for("append-race").await;
        page.until("document.querySelector('#stage svg')").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
        let entries = "performance.getEntriesByType('resource').map((entry) => entry.name)";
        let foreign = format!(
            "{entries}.filter((name) => !name.startsWith('{address}') && !name.startsWith('data:'))"
        );
        assert_eq!(page.ask(&foreign).await, serde_json::json!([]), "nothing else is asked");
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_build_is_taken_as_a_whole_or_not_at_all() {
    visit(async |page: &Page| {
        let host = Host::start(self::page());
        open(page, &host.address()).await;
        installed(page).await;
        // Half of a new build is on the host: everybody stays with the old one.
        let mut half = newer();
        half.insert("page.css".to_owned(), self::page()["page.css"].clone());
        host.deploy(half);
        let css = "fetch('page.css').then((response) => response.text()).then((text) => text.includes('/* newer '))";
        let update = "navigator.serviceWorker.getRegistration().then((found) => found.update()).then(() => 'new', () => 'old')";
        open(page, &host.address()).await;
        page.ask_later(update).await;
        let none = "(!window.asking && (window.asking = true, navigator.serviceWorker.getRegistration()\
            .then((found) => { window.idle = !found.installing && !found.waiting; \
            window.asking = false; })), window.idle)";
        page.until(none).await;
        open(page, &host.address()).await;
        assert_eq!(page.ask("document.title").await, "Folioscope");
        assert_eq!(page.ask_later(css).await, false);
        // All of it is: whoever loads the page again has the new one, wholly.
        host.deploy(newer());
        page.ask_later(update).await;
        let waits = "(!window.asking && (window.asking = true, navigator.serviceWorker.getRegistration()\
            .then((found) => { window.waits = Boolean(found.waiting); \
            window.asking = false; })), window.waits)";
        page.until(waits).await;
        assert_eq!(page.ask_later(css).await, false, "an open page stays with its build");
        open(page, &host.address()).await;
        page.until("document.title == 'Newer'").await;
        page.wait_for(READY).await;
        assert_eq!(page.ask_later(css).await, true);
        let caches = page.ask_later("caches.keys().then((names) => names.length)").await;
        assert_eq!(caches, 1, "the old build is gone");
    });
}
