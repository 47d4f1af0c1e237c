//! `folioscope serve`: the page that is inside this program, on loopback and nowhere else.

use crate::error::{Failure, Outcome, reason};
use clap::Args;
use rust_embed::RustEmbed;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use tiny_http::{Method, Request, Server, StatusCode};

/// The page as built; nothing in a clean checkout.
#[derive(RustEmbed)]
#[folder = "../web/dist"]
#[allow_missing = true]
struct Site;

/// What `serve` can be told.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

/// The page needs its own files and WebAssembly, and nothing from anywhere else.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; worker-src 'self'; frame-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// Serves until the program is ended.
pub(crate) fn serve(args: &ServeArgs) -> Outcome<()> {
    if Site::get("index.html").is_none() {
        return Err(Failure::environment(
            "the page is not inside this program: build it first with `cargo xtask web`, then build the program again",
        ));
    }
    let server = Server::http((Ipv4Addr::LOCALHOST, args.port)).map_err(|error| {
        let why = error.downcast_ref().map_or_else(|| error.to_string(), reason);
        Failure::environment(format!(
            "cannot listen on 127.0.0.1:{}: {why}; choose another --port",
            args.port
        ))
    })?;
    let port = server.server_addr().to_ip().map_or(args.port, |addr| addr.port());
    let url = format!("http://127.0.0.1:{port}/");
    println!("{url}");
    // Whoever reads the address through a pipe waits for it.
    let _ = std::io::stdout().flush();
    eprintln!("Serving {} files; end with Ctrl-C.", Site::iter().count());
    if args.open {
        open_browser(&url);
    }
    for request in server.incoming_requests() {
        answer(request, port);
    }
    Ok(())
}

fn open_browser(url: &str) {
    let mut command = Command::new("xdg-open");
    let quiet = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = quiet.spawn() {
        eprintln!("note: cannot open the browser ({}): open {url} yourself", reason(&error));
    }
}

fn answer(request: Request, port: u16) {
    let path = request.url().split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let plain = |code: u16, text: &str| (code, text.as_bytes().to_vec(), "text/plain".to_owned());
    let mut coding = "";
    let (code, body, kind) = if !host_is_ours(&request, port) {
        plain(403, "This address is not ours.\n")
    } else if !matches!(request.method(), Method::Get | Method::Head) {
        plain(405, "Only GET and HEAD are answered.\n")
    } else if let Some(file) = Site::get(path) {
        let kind = mime_guess::from_path(path).first_or_octet_stream();
        let packed = Site::get(&format!("{path}.br")).filter(|_| takes_brotli(&request));
        if packed.is_some() {
            coding = "Content-Encoding: br\r\n";
        }
        (200, packed.unwrap_or(file).data.into_owned(), kind.to_string())
    } else {
        plain(404, "There is no such file.\n")
    };
    let text = kind.starts_with("text/");
    let kind = if text { format!("{kind}; charset=utf-8") } else { kind };
    let reason = StatusCode(code).default_reason_phrase();
    let head = format!(
        "HTTP/1.1 {code} {reason}\r\n\
         Content-Type: {kind}\r\n\
         {coding}Vary: Accept-Encoding\r\n\
         Content-Length: {}\r\n\
         Content-Security-Policy: {POLICY}\r\n\
         Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let body = if *request.method() == Method::Head { Vec::new() } else { body };
    // By hand, since tiny_http sends no `Connection: close`: it keeps a thread for each connection
    // that stays open, and may leave a browser's fifth one waiting for ever.
    let mut out = request.into_writer();
    let sent = out.write_all(head.as_bytes()).and_then(|()| out.write_all(&body));
    // A browser that went away is no concern of ours.
    let _ = sent.and_then(|()| out.flush());
}

/// Whether the browser takes a file packed with brotli.
fn takes_brotli(request: &Request) -> bool {
    let header = request.headers().iter().find(|header| header.field.equiv("Accept-Encoding"));
    header.is_some_and(|header| names_brotli(header.value.as_str()))
}

fn names_brotli(codings: &str) -> bool {
    codings.split(',').any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let refused = weight.trim().trim_start_matches("q=").trim_matches(['0', '.']).is_empty();
        name.trim() == "br" && !refused
    })
}

/// Whether the request names this server: a page elsewhere that points its own name at 127.0.0.1
/// does not.
fn host_is_ours(request: &Request, port: u16) -> bool {
    let host = request.headers().iter().find(|header| header.field.equiv("Host"));
    host.is_some_and(|host| {
        let host = host.value.as_str();
        [format!("127.0.0.1:{port}"), format!("localhost:{port}")].iter().any(|ours| ours == host)
    })
}

#[cfg(test)]
mod tests {
    use super::{POLICY, names_brotli};

    #[test]
    fn the_page_says_the_same_policy_but_for_what_only_a_server_can() {
        let page = include_str!("../../assets/page/index.html");
        let (of_page, _) = POLICY.rsplit_once("; frame-ancestors").expect("it is the last");
        assert!(
            page.contains(&format!("http-equiv=\"Content-Security-Policy\" content=\"{of_page}\""))
        );
    }

    #[test]
    fn a_packed_file_goes_to_those_who_take_it() {
        for yes in ["br", "gzip, deflate, br, zstd", "gzip;q=1.0, br;q=0.5", "br; q=1"] {
            assert!(names_brotli(yes), "{yes}");
        }
        for no in ["", "gzip, deflate", "br;q=0", "br; q=0.0, gzip", "brotli"] {
            assert!(!names_brotli(no), "{no}");
        }
    }
}
